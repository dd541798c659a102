"""The states of a workflow run."""

from django.db import models


class RunStatus(models.TextChoices):
    """`sleeping` until `wake_at`; `waiting` as WaitsFor says. `completed` and `failed` are final."""

    PENDING = "pending"
    RUNNING = "running"
    SLEEPING = "sleeping"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"


class WaitsFor(models.TextChoices):
    """What a waiting run waits for; a sleeping one may sleep for its grader, which is held.

    `reuse`: another completion of equal content is being judged, and this run will take a copy of its score.
    """

    GRADER = "grader"
    CALLBACK = "callback"
    REVIEW = "review"
    REUSE = "reuse"


class ReviewStatus(models.TextChoices):
    """`cancelled`: the run ended otherwise while it was open."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


FINAL = (RunStatus.COMPLETED, RunStatus.FAILED)


class CompletionStatus(models.TextChoices):
    """Derived: from the reward where there is one, else from whether a run has begun."""

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"


class ErasureStatus(models.TextChoices):
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"


class Protocol(models.TextChoices):
    """What a reward endpoint speaks (docs/rewards.md)."""

    OPENRLHF = "openrlhf"
    SLIME = "slime"
    VERIFY = "verify"
    FOUNDRY = "foundry"


class Unscored(models.TextChoices):
    """What a reward endpoint answers for work without a score: "ask again", a stated number, or an error."""

    HOLD = "hold"
    NEUTRAL = "neutral"
    ERROR = "error"


class WithoutText(models.TextChoices):
    """What a reward endpoint does with an answer that holds no text: leave it unscored, or judge it as an empty text.

    STRICT leaves unscored what holds nothing but spaces too.
    """

    UNSCORED = "unscored"
    EMPTY = "empty"
    STRICT = "strict"
