"""Select the completions of a list by its filters, and read what a row shows, without reading long text."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Coalesce, Length

from autotune.access.principal import Principal
from autotune.core import ids
from autotune.core.crypto.fields import is_legible
from autotune.core.errors import NotFound
from scores.intake.requests import CompletionQuery
from scores.models import Reward, WorkflowRun
from scores.results import filters
from scores.results.completion_responses import UNCLAIMED, status_of
from scores.states import CompletionStatus
from tasks import sharing
from tasks.models import Completion, Task
from tasks.querysets import CompletionQuerySet, from_sources
from tasks.states import LISTED_SOURCES

TEXTS: Final = ("prompt", "response", "messages", "metadata", "variables")
ABOUT: Final = timedelta(days=1)  # far more than a row's id and its column differ in time
EXCERPTED: Final = 16 * 1024  # bytes of stored prompt and response up to which a list reads their beginning


@dataclass(frozen=True, slots=True)
class CompletionState:
    """The state of a completion, from its reward and its runs. `used` and `failed` count its scoring runs."""

    status: CompletionStatus
    value: float | None = None
    error_code: str = ""
    used: int = 0
    failed: int = 0


def chosen(principal: Principal, query: CompletionQuery) -> CompletionQuerySet:
    """Return the completions that match the filters and whose text the caller may read.

    raises Invalid for an invalid date; NotFound for a task that the caller may not see
    """
    completions = sharing.readable(principal)
    if query.external_id is not None:  # shared completions are not found by their external id: it is not shared
        completions = Completion.objects.visible_to(principal)
    if query.task_id is not None:
        of_task = completions.filter(task_id=query.task_id.uuid)
        if not Task.objects.visible_to(principal).filter(pk=query.task_id.uuid).exists() and not of_task.exists():
            raise NotFound.field("?taskId", "task")
        completions = of_task
    exact = {"model_id": query.model_id, "external_id": query.external_id}
    completions = completions.filter(**{name: value for name, value in exact.items() if value is not None})
    if query.source is not None or query.external_id is None:  # an external id names one completion, of any source
        completions = completions.filter(from_sources(query.source or LISTED_SOURCES))
    start = filters.instant(query.start_date, "?startDate", end=False)
    end = filters.instant(query.end_date, "?endDate", end=True)
    if start is not None:
        completions = completions.filter(created_at__gte=start)
    if end is not None:
        completions = completions.filter(created_at__lt=end)
    completions = narrow_by_id(completions, start, end)
    return completions if query.status is None else _with_status(completions, query.status)


def narrow_by_id(rows: Any, start: datetime | None, end: datetime | None) -> Any:
    """Leave out most of the rows created before `start` or after `end`, by their ids, which contain the time.

    The caller filters by `created_at` as well, which is exact. Without this, the query walks an index through every
    newer row.
    """
    if start is not None:
        rows = rows.filter(pk__gte=ids.first_of(_shifted(start, -ABOUT)))
    if end is not None:
        rows = rows.filter(pk__lt=ids.first_of(_shifted(end, ABOUT)))
    return rows


def _shifted(moment: datetime, by: timedelta) -> datetime:
    """Shift a time, unless the result is outside the supported years."""
    try:
        return moment + by
    except OverflowError:
        return moment


def states_of(rows: Iterable[Completion], *, shared: frozenset[UUID] = frozenset()) -> Mapping[UUID, CompletionState]:
    """Return the state of each row, by id; one query if any has no reward. The rows come from `textless`.

    shared  those that are only shared with the reader, who may not see their rewards
    """
    rewards: dict[UUID, Reward | None] = {row.pk: getattr(row, "reward", None) for row in rows}
    runs: dict[UUID, list[WorkflowRun]] = {}
    unrewarded = [pk for pk, reward in rewards.items() if reward is None]
    if unrewarded:
        for run in WorkflowRun.objects.filter(completion_id__in=unrewarded).only("completion_id", "attempt", "status"):
            runs.setdefault(run.completion_id, []).append(run)
    state_by_id = {}
    for pk, reward in rewards.items():
        status = status_of(reward, runs.get(pk, ()))
        if reward is None or pk in shared:
            state_by_id[pk] = CompletionState(status)
        else:
            state_by_id[pk] = CompletionState(status, reward.value, reward.error_code, reward.used, reward.failed)
    return state_by_id


def excerpts(completion_ids: Iterable[UUID]) -> Mapping[UUID, tuple[str, str]]:
    """Return (prompt, response) of the completions whose text is short enough for a list; others are left out."""
    size = Coalesce(Length("prompt"), 0) + Coalesce(Length("response"), 0)
    completions = Completion.objects.filter(pk__in=list(completion_ids))
    short = completions.annotate(byte_count=size).filter(byte_count__lte=EXCERPTED)
    return {row.pk: (_excerpt(row, "prompt"), _excerpt(row, "response")) for row in short.only("prompt", "response")}


def _excerpt(row: Completion, name: str) -> str:
    """The start of a text for a list. Text that cannot be decrypted is marked: an empty string would look real."""
    return getattr(row, name) or "" if is_legible(row, name) else "(cannot be read)"


def textless(completions: CompletionQuerySet) -> CompletionQuerySet:
    """Return the same completions without their text, with their rewards."""
    return completions.defer(*TEXTS).select_related("reward")


def _with_status(completions: Any, status: str) -> Any:
    if status in ("completed", "failed"):
        return completions.filter(reward__value__isnull=status == "failed", reward__isnull=False)
    runs: Any = WorkflowRun.objects.filter(completion=OuterRef("pk"))
    # The same rule as completion_responses.status_of.
    started_runs = runs.filter(Q(attempt__gt=0) | ~Q(status__in=UNCLAIMED))
    unfinished = completions.filter(reward__isnull=True)
    if status == "ungraded":
        return unfinished.filter(~Exists(runs))
    if status == "pending":
        unfinished = unfinished.filter(Exists(runs))
    return unfinished.filter(Exists(started_runs) if status == "processing" else ~Exists(started_runs))
