"""Runs, scores, rewards, reviews, and what is erased or held.

Rows are written by COPY and by single guarded statements (intake, claims, recording), so columns carry no defaults that
those would miss. Columns that repeat a parent's (organization, task, grader) have no foreign key in the database: the
parent's keeps them true, and each check would cost the hot path a lookup for every row.
"""

from scores.models.callbacks import Callback, CallbackItem
from scores.models.counters import ScoreCount, ScoreTally, TaskCount, TaskTally, UncountedTask
from scores.models.erasures import Erasure, LegalHold
from scores.models.live import LiveAnswer, RewardEndpoint
from scores.models.reviews import Review
from scores.models.runs import Pulse, WorkflowRun
from scores.models.scores import Reward, Score

__all__ = [
    "Callback", "CallbackItem", "Erasure", "LegalHold", "LiveAnswer", "Pulse", "Review", "Reward", "RewardEndpoint",
    "Score", "ScoreCount", "ScoreTally", "TaskCount", "TaskTally", "UncountedTask", "WorkflowRun",
]  # fmt: skip
