"""Build counters from rows, for tasks that are older than the counters and for tasks whose counters are wrong.

Each task is one transaction, so a stopped build continues with the next task. Writers of scores never wait for a build:
one statement reads the rows together with the tallies that the rows already include, and later commits have their own
tallies.
"""

from collections.abc import Iterator
from datetime import UTC
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import (
    BigIntegerField,
    BooleanField,
    Case,
    CharField,
    Count,
    DateTimeField,
    F,
    Field,
    IntegerField,
    Q,
    UUIDField,
    Value,
    When,
)
from django.db.models.functions import TruncHour

from autotune.core import bulk, fixedpoint
from autotune.core.fixedpoint import Moments
from scores.counters import bins, folding
from scores.counters.folding import PROGRESS, Key, ScoreCountSums
from scores.models import Reward, Score, ScoreCount, ScoreTally, TaskCount, TaskTally, UncountedTask
from scores.models.counters import NO_TASK
from scores.states import RunPurpose, ScoreStanding
from tasks.models import Completion, Task
from tasks.states import TRAINING_SOURCES

AT_ONCE = 20  # tasks in one job
_STANDING = Case(
    When(deleted_at__isnull=False, then=Value(int(ScoreStanding.DELETED))),
    When(~Q(purpose=RunPurpose.SCORE) | Q(superseded=True), then=Value(int(ScoreStanding.LISTED))),
    default=Value(int(ScoreStanding.COUNTS)),
    output_field=IntegerField(),
)


def is_behind(task_id: UUID | None) -> bool:
    """Whether the counters of the task, or of any task if it is None, are not built yet."""
    uncounted = UncountedTask.objects.all()
    return (uncounted.filter(pk=task_id) if task_id else uncounted).exists()


def build_waiting(limit: int = AT_ONCE) -> int:
    """Build the counters of tasks that have none yet, and return the number of tasks."""
    uncounted_ids = list(UncountedTask.objects.order_by("since", "task_id").values_list("pk", flat=True)[:limit])
    for task_id in uncounted_ids:
        build(task_id)
    return len(uncounted_ids)


def build(task_id: UUID) -> None:
    """Rebuild the counters of a task from its rows."""
    with transaction.atomic():
        _lock_folding()
        scores, progress, superseded = _read_rows(task_id)
        bulk.delete(ScoreTally, superseded["scores"])
        bulk.delete(TaskTally, superseded["progress"])
        before = {
            folding.key_of(row): ScoreCountSums.of(row) for row in ScoreCount.objects.filter(task_id=task_id).iterator()
        }
        ScoreCount.objects.filter(task_id=task_id).delete()
        folding.write(folding.organization_sums(before, -1))
        folding.write(scores | folding.organization_sums(scores))
        TaskCount.objects.update_or_create(pk=task_id, defaults=dict(zip(PROGRESS, progress, strict=True)))
        UncountedTask.objects.filter(pk=task_id).delete()


def check(task_id: UUID) -> bool:
    """Whether the counters of a task, with its fresh tallies, equal its rows at one moment."""
    with transaction.atomic():
        _lock_folding()
        scores, progress, _ = _read_rows(task_id)
        counters, counts = _read_counters(task_id)
    return _nonempty(scores) == _nonempty(counters) and progress == counts


def check_organization(organization_id: UUID, *, repair: bool = False) -> bool:
    """Whether an organization's counters are the sums of its tasks' counters; with `repair`, correct them if not."""
    with transaction.atomic():
        _lock_folding()
        rows = ScoreCount.objects.filter(organization_id=organization_id)
        tasks: dict[Key, ScoreCountSums] = {}
        for row in rows.exclude(task_id=NO_TASK).iterator():
            for key, total in folding.organization_sums({folding.key_of(row): ScoreCountSums.of(row)}).items():
                tasks.setdefault(key, ScoreCountSums()).add(total)
        organization = {folding.key_of(row): ScoreCountSums.of(row) for row in rows.filter(task_id=NO_TASK).iterator()}
        is_right = _nonempty(tasks) == _nonempty(organization)
        if repair and not is_right:
            rows.filter(task_id=NO_TASK).delete()
            folding.write(tasks)
    return is_right


def task_ids() -> Iterator[UUID]:
    """The ids of all tasks."""
    yield from Task.objects.order_by("pk").values_list("pk", flat=True).iterator()


def _lock_folding() -> None:
    """Wait for a running fold to end, and block folding until the end of the transaction."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("select pg_advisory_xact_lock(%s)", [folding.LOCK])


def _read_rows(task_id: UUID) -> tuple[dict[Key, ScoreCountSums], list[int], dict[str, list[int]]]:
    """The sums of the rows, as counters and as the columns of PROGRESS, and the ids of the tallies that they include.

    One statement, so that all of it is from one moment.
    """
    scores: dict[Key, ScoreCountSums] = {}
    progress = [0] * len(PROGRESS)
    tallies: dict[str, list[int]] = {"scores": [], "progress": []}
    for kind, *series, hour, bin_, count, high, low, high_high, high_low, low_low in _statement(task_id):
        sums = (high, low, high_high, high_low, low_low)
        if kind == _SCORES:
            organization, model, version, source, held_out, standing = series
            moments = fixedpoint.moments((count, *sums))
            for time in folding.times(hour):
                key = (organization, task_id, model, version, source, bool(held_out), standing, *time)
                scores.setdefault(key, ScoreCountSums()).add(ScoreCountSums(moments, {str(bin_): moments.count}))
        elif kind == _COMPLETIONS:
            progress[0] = count
        elif kind == _REWARDS:
            high, low, unrewarded, *_ = (int(amount or 0) for amount in sums)
            progress[1:] = [count, unrewarded, high, low]
        else:
            tallies["scores" if kind == _SCORE_TALLY else "progress"].append(count)
    return scores, progress, tallies


_SCORES, _SCORE_TALLY, _COMPLETIONS, _REWARDS, _TASK_TALLY = range(5)
_COLUMNS = (
    "kind", "c_organization", "c_model", "c_version", "c_source", "c_held_out", "c_standing", "c_hour", "c_bin",
    "count", "high", "low", "high_high", "high_low", "low_low",
)  # fmt: skip


def _statement(task_id: UUID) -> Any:
    # Through the completions: the index on the scores' task holds only what readers use.
    scores = Score.objects.filter(task_id=task_id, completion__task_id=task_id).order_by()
    series = {
        "c_organization": F("organization_id"),
        "c_model": F("completion__model_id"),
        "c_version": F("grader_version_id"),
        "c_source": F("source"),
        "c_held_out": F("held_out"),
        "c_standing": _STANDING,
        "c_hour": TruncHour("created_at", tzinfo=UTC),
        "c_bin": bins.expression("value"),
    }
    rows = scores.annotate(kind=Value(_SCORES), **series).values("kind", *series).annotate(**fixedpoint.sums("value"))
    completions = Completion.objects.filter(task_id=task_id).for_readers(TRAINING_SOURCES).order_by()
    rewards = Reward.objects.filter(task_id=task_id).for_readers(TRAINING_SOURCES).order_by().values("task_id")
    unrewarded = Count("pk", filter=Q(value=None))
    sums = fixedpoint.sums("value")
    parts = [
        _padded(ScoreTally.objects.filter(task_id=task_id).annotate(count=F("id")), _SCORE_TALLY),
        _padded(completions.values("task_id").annotate(count=Count("pk")), _COMPLETIONS),
        _padded(
            rewards.annotate(count=sums["count"], high=sums["high"], low=sums["low"], high_high=unrewarded), _REWARDS,
            "high", "low", "high_high",
        ),
        _padded(TaskTally.objects.filter(task_id=task_id).annotate(count=F("id")), _TASK_TALLY),
    ]  # fmt: skip
    return rows.values_list(*_COLUMNS).union(*parts, all=True)


def _padded(rows: Any, kind: int, *sums: str) -> Any:
    """Rows of _COLUMNS in which only the count, and `sums`, have a value."""
    present = {"count", *sums}
    fields: dict[str, Field[Any, Any]] = {
        "c_organization": UUIDField(), "c_model": CharField(), "c_version": UUIDField(), "c_source": CharField(),
        "c_held_out": BooleanField(), "c_hour": DateTimeField(),
    }  # fmt: skip
    others = {
        name: Value(None, output_field=fields.get(name, BigIntegerField()))
        for name in _COLUMNS
        if name not in present and name != "kind"
    }
    return rows.annotate(kind=Value(kind), **others).values_list(*_COLUMNS)


def _read_counters(task_id: UUID) -> tuple[dict[Key, ScoreCountSums], list[int]]:
    """The sums of the counters and tallies; call it in a transaction that blocks folding."""
    counters: dict[Key, ScoreCountSums] = {}
    for row in ScoreCount.objects.filter(task_id=task_id).iterator():
        counters.setdefault(folding.key_of(row), ScoreCountSums()).add(ScoreCountSums.of(row))
    for tally in ScoreTally.objects.filter(task_id=task_id).iterator():
        for time in folding.times(tally.hour):
            key = (*(getattr(tally, name) for name in folding.SERIES), *time)
            counters.setdefault(key, ScoreCountSums()).note(tally.units, tally.sign)
    amounts = [0] * len(PROGRESS)
    for rows in (TaskCount.objects.filter(pk=task_id), TaskTally.objects.filter(task_id=task_id)):
        for row in rows.values_list(*PROGRESS):
            amounts = [before + amount for before, amount in zip(amounts, row, strict=True)]
    return counters, amounts


def _nonempty(sums: dict[Key, ScoreCountSums]) -> dict[Key, tuple[Moments, dict[str, int]]]:
    """The sums without those that are 0."""
    return {
        key: (total.moments, {name: count for name, count in total.bins.items() if count})
        for key, total in sums.items()
        if not total.is_empty
    }
