"""Models of runs, scores, rewards, reviews, erasures and legal holds.

Rows are written by COPY and by single conditional statements (intake, claims, recording). These do not apply a model's
defaults, so columns have no defaults that such a row would need. Columns that repeat a parent's (organization, task,
grader) have no foreign key in the database: the parent's key ensures that they are valid, and a check would cost a
lookup for every row.
"""

from scores.models.callbacks import Callback, CallbackItem
from scores.models.counters import ScoreCount, ScoreTally, TaskCount, TaskTally, UncountedTask
from scores.models.erasures import Erasure, LegalHold
from scores.models.evidence import AttemptEvidence
from scores.models.live import LiveAnswer, RewardEndpoint
from scores.models.reviews import Review
from scores.models.runs import Pulse, WorkflowRun
from scores.models.scores import Reward, Score

__all__ = [
    "AttemptEvidence", "Callback", "CallbackItem", "Erasure", "LegalHold", "LiveAnswer", "Pulse", "Review", "Reward",
    "RewardEndpoint", "Score", "ScoreCount", "ScoreTally", "TaskCount", "TaskTally", "UncountedTask", "WorkflowRun",
]  # fmt: skip
