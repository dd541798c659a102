"""Counters of scores and rewards, so that figures of a task or a model cost the same for any length of history.

Database triggers append tallies in the transaction that changes what counts (scores/counters/triggers.py), and a
job folds the tallies into counters (scores/counters/folding.py). Sums are whole numbers (autotune/core/fixedpoint.py),
so the order of folding does not matter and counters equal rows to the last digit.
"""

from uuid import UUID

from django.db import models
from django.utils import timezone

from scores.states import ScoreStanding
from tasks.states import CompletionSource

NO_TASK = UUID(int=0)


class CountedScores(models.Model):
    """The scores that a tally or a counter covers.

    hour      the whole hour, in UTC, in which they were created; see ScoreCount for longer spans
    standing  whether they count in figures, are only listed, or were deleted
    """

    organization_id = models.UUIDField()
    task_id = models.UUIDField()
    model_id = models.CharField(max_length=200)
    grader_version_id = models.UUIDField()
    source = models.CharField(max_length=10, choices=CompletionSource.choices)
    held_out = models.BooleanField(default=False, db_default=False)
    standing = models.SmallIntegerField(choices=ScoreStanding.choices)

    class Meta:
        abstract = True


class ScoreTally(CountedScores):
    """Scores that one statement added or removed; append only, so no writer waits.

    sign   1 for added scores, -1 for removed ones; a score whose standing changed is in one of each
    units  their values, in units of 10^-12
    """

    id = models.BigAutoField(primary_key=True)
    hour = models.DateTimeField()
    sign = models.SmallIntegerField()
    units = models.JSONField()

    class Meta:
        verbose_name_plural = "score tallies"

    def __str__(self) -> str:
        return f"{self.task_id} {self.hour:%Y-%m-%d %H:00}"


class CountSpan(models.IntegerChoices):
    """The length of time that a ScoreCount covers."""

    EVER = 0
    DAY = 1
    HOUR = 2


class ScoreCount(CountedScores):
    """The folded tallies of an hour, of a day (UTC) or of all time; each tally is in all three.

    A row without a task (NO_TASK), model and version is the sum of an organization's rows, so that the figures of a
    whole organization need few rows too.

    start   start of the span; 1970 for all time
    number  number of scores
    total_*, squares_*  sum, and sum of squares, of their values in units, in base 10^9 (fixedpoint.split)
    bins    {bin: number}: bin 2k is exactly k/1000, bin 2k + 1 lies between k/1000 and (k + 1)/1000
    """

    id = models.BigAutoField(primary_key=True)
    span = models.SmallIntegerField(choices=CountSpan.choices)
    start = models.DateTimeField()
    number = models.BigIntegerField()
    total_0 = models.BigIntegerField()
    total_1 = models.BigIntegerField()
    squares_0 = models.BigIntegerField()
    squares_1 = models.BigIntegerField()
    squares_2 = models.BigIntegerField()
    squares_3 = models.BigIntegerField()
    bins = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=[
                    "task_id",
                    "span",
                    "start",
                    "model_id",
                    "grader_version_id",
                    "source",
                    "held_out",
                    "standing",
                    "organization_id",
                ],
                name="scores_scorecount_of",
            )
        ]
        indexes = [models.Index(fields=["organization_id", "span", "start"], name="scores_scorecount_by_org")]

    def __str__(self) -> str:
        return f"{self.task_id} {self.start:%Y-%m-%d %H:00}"


class TaskCounters(models.Model):
    """Counts of a task's completions and rewards.

    rewarded     rewards with a value
    unrewarded   rewards without a value: the completion has failed
    reward_high, reward_low  the sum of the values in units: high * 10^6 + low
    """

    completions = models.BigIntegerField(default=0, db_default=0)
    rewarded = models.BigIntegerField(default=0, db_default=0)
    unrewarded = models.BigIntegerField(default=0, db_default=0)
    reward_high = models.BigIntegerField(default=0, db_default=0)
    reward_low = models.BigIntegerField(default=0, db_default=0)

    class Meta:
        abstract = True


class TaskTally(TaskCounters):
    """The changes that one statement made to a task's progress; append only."""

    id = models.BigAutoField(primary_key=True)
    task_id = models.UUIDField()

    class Meta:
        verbose_name_plural = "task tallies"

    def __str__(self) -> str:
        return str(self.task_id)


class TaskCount(TaskCounters):
    """The folded tallies of a task."""

    task_id = models.UUIDField(primary_key=True)

    def __str__(self) -> str:
        return str(self.task_id)


class UncountedTask(models.Model):
    """A task whose counters are not built yet: figures read its rows until a job has built them."""

    task_id = models.UUIDField(primary_key=True)
    since = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return str(self.task_id)
