"""The progress of tasks: completions and rewards from counters, or from rows until the counters are built.

It counts what figures use: neither held-out completions, nor those of telemetry and evaluations.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import BigIntegerField, Count, JSONField, Value

from autotune.core import fixedpoint
from autotune.core.fixedpoint import LIMB, UNITS
from scores.counters.folding import PROGRESS
from scores.models import Reward, Score, ScoreCount, ScoreTally, TaskCount, TaskTally, UncountedTask
from scores.models.counters import CountSpan
from tasks.models import Completion
from tasks.states import TRAINING_SOURCES


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """Completions of a task, rewards with and without a value, and the sum of the values in units."""

    completions: int = 0
    rewarded: int = 0
    unrewarded: int = 0
    total: int = 0

    @property
    def mean(self) -> float | None:
        """The mean of the rewards with a value."""
        return self.total / (self.rewarded * UNITS) if self.rewarded else None


def of_tasks(task_ids: Sequence[UUID]) -> dict[UUID, TaskProgress]:
    """The progress of each task."""
    if not task_ids:
        return {}
    sums = {task_id: [0] * len(PROGRESS) for task_id in task_ids}
    folded = TaskCount.objects.filter(pk__in=task_ids).values_list("task_id", *PROGRESS, Value(False))
    fresh = TaskTally.objects.filter(task_id__in=task_ids).values_list("task_id", *PROGRESS, Value(False))
    uncounted = UncountedTask.objects.filter(pk__in=task_ids)
    zeros = [Value(0, output_field=BigIntegerField()) for _ in PROGRESS]
    behind = set()
    # One statement, so that all of it is from one moment: folding moves tallies.
    for task_id, *amounts, is_behind in folded.union(
        fresh, uncounted.values_list("task_id", *zeros, Value(True)), all=True
    ):
        sums[task_id] = [before + amount for before, amount in zip(sums[task_id], amounts, strict=True)]
        behind |= {task_id} if is_behind else set()
    progress = {
        task_id: TaskProgress(completions, rewarded, unrewarded, high * LIMB + low)
        for task_id, (completions, rewarded, unrewarded, high, low) in sums.items()
    }
    return progress | {task_id: _from_rows(task_id) for task_id in behind}


def scores_ever(task_id: UUID) -> int:
    """The number of scores that a task ever received, with deleted ones but without those that retention removed."""
    folded = ScoreCount.objects.filter(task_id=task_id, span=CountSpan.EVER)
    fresh = ScoreTally.objects.filter(task_id=task_id)
    nothing = Value(None, output_field=JSONField())
    uncounted = UncountedTask.objects.filter(pk=task_id)
    rows = folded.values_list("number", nothing, Value(False)).union(
        fresh.values_list("sign", "units", Value(False)),
        uncounted.values_list(Value(0), nothing, Value(True)),
        all=True,
    )
    total = 0
    for number, units, is_behind in rows:
        if is_behind:
            return Score.objects.filter(task_id=task_id, completion__task_id=task_id).count()
        total += number if units is None else number * len(units)
    return total


def _from_rows(task_id: UUID) -> TaskProgress:
    rewards = Reward.objects.filter(task_id=task_id).for_readers(TRAINING_SOURCES)
    sums = rewards.aggregate(all=Count("pk"), **fixedpoint.sums("value"))
    total = sums.pop("all")
    moments = fixedpoint.moments(sums.values())
    completions = Completion.objects.filter(task_id=task_id).for_readers(TRAINING_SOURCES).count()
    return TaskProgress(completions, moments.count, total - moments.count, moments.total)
