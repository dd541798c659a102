"""The states of runs, reviews, completions and erasures, and the choices of reward endpoints."""

from datetime import UTC, datetime
from typing import Final

from django.db import models

from tasks.states import Priority

# An index condition that is true for every row: only a query with the same condition may use that index. If statistics
# are from a moment when nothing was queued, PostgreSQL assumes that all partial indexes of a status are empty and may
# read the wrong one.
LONG_AGO: Final = datetime(2000, 1, 1, tzinfo=UTC)


class RunStatus(models.TextChoices):
    """The status of a run: `sleeping` until `wake_at`, `waiting` for a WaitKind; `completed` and `failed` are final."""

    PENDING = "pending"
    RUNNING = "running"
    SLEEPING = "sleeping"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"


class WaitKind(models.TextChoices):
    """What a run waits for; a sleeping run may also wait for its grader, which is paused.

    `model`: a model call that judges the completion ends later.
    `reuse`: graders judge another completion of equal content, and this run will copy its score.
    """

    GRADER = "grader"
    CALLBACK = "callback"
    MODEL = "model"
    REVIEW = "review"
    REUSE = "reuse"


class RunPurpose(models.TextChoices):
    """Why a run judges. Only a run of the purpose `score` supersedes scores, counts for the reward and sends events.

    SHADOW  a grader that a panel tries out
    CANARY  repeats of a fixed set, which show whether a grader has changed
    IMPACT  what another version of a grader would say
    GOLD    completions with known labels
    """

    SCORE = "score"
    SHADOW = "shadow"
    CANARY = "canary"
    IMPACT = "impact"
    GOLD = "gold"


BACKGROUND: Final = (RunPurpose.CANARY, RunPurpose.IMPACT, RunPurpose.GOLD)  # purposes that must not delay a score
BACKGROUND_PRIORITY: Final = -1  # of their runs: below the priority of every completion
PRIORITIES: Final = (BACKGROUND_PRIORITY, *Priority.values)  # of runs


class WaitingReason(models.TextChoices):
    """Why a run has no score yet, from the reason that ends first to the reason that ends last (waiting_reasons.py)."""

    CALLING = "calling"
    QUEUED = "queued"
    RETRY = "retry"
    RATE_LIMITED = "rate_limited"
    NOT_BEFORE = "not_before"
    CIRCUIT_OPEN = "circuit_open"
    PAUSED = "paused"
    GRADER_INACTIVE = "grader_inactive"
    REUSE = "reuse"
    MODEL = "model"
    CALLBACK = "callback"
    REVIEW = "review"


class ReviewStatus(models.TextChoices):
    """The status of a review; `cancelled` if the run ended otherwise while the review was open."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


FINAL = (RunStatus.COMPLETED, RunStatus.FAILED)


class CompletionStatus(models.TextChoices):
    """The status of a completion, derived from its reward, or from whether a run has started if there is no reward.

    A completion without runs is `ungraded`: it was submitted to a deck without graders.
    """

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"
    UNGRADED = "ungraded"


ENDED: Final = (CompletionStatus.COMPLETED, CompletionStatus.FAILED, CompletionStatus.UNGRADED)  # nothing to wait for


class ErasureStatus(models.TextChoices):
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"


class RewardProtocol(models.TextChoices):
    """The protocol of a reward endpoint (docs/rewards.md)."""

    OPENRLHF = "openrlhf"
    SLIME = "slime"
    VERIFY = "verify"
    FOUNDRY = "foundry"


class UnscoredPolicy(models.TextChoices):
    """What a reward endpoint returns for an item without a score: "ask again", a configured number, or an error."""

    HOLD = "hold"
    NEUTRAL = "neutral"
    ERROR = "error"


class TextlessPolicy(models.TextChoices):
    """What a reward endpoint does with an answer that has no text: leave it unscored, or judge it as an empty text.

    STRICT also leaves answers unscored that have only spaces.
    """

    UNSCORED = "unscored"
    EMPTY = "empty"
    STRICT = "strict"


class ScoreStanding(models.IntegerChoices):
    """Whether a score counts in figures. A listed score has another purpose, or was replaced by a newer score."""

    COUNTS = 0
    LISTED = 1
    DELETED = 2
