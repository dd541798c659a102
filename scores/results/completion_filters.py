"""Which completions a list's filters name, before any text of them is read; and what a row shows without its texts."""

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
from scores.results.completion_responses import NOT_BEGUN, status_of
from scores.states import CompletionStatus
from tasks import sharing
from tasks.models import Completion, Task
from tasks.querysets import CompletionQuerySet

TEXTS: Final = ("prompt", "response", "messages", "metadata", "variables")
ABOUT: Final = timedelta(days=1)  # the times of a row's id and of its column lie far less apart
EXCERPTED: Final = 16 * 1024  # octets of stored prompt and response, up to which a list reads them for their beginning


@dataclass(frozen=True, slots=True)
class Standing:
    """How a completion stands: what its reward and its runs say. `used` and `failed` of its scoring runs."""

    status: CompletionStatus
    value: float | None = None
    error_code: str = ""
    used: int = 0
    failed: int = 0


def chosen(principal: Principal, query: CompletionQuery) -> CompletionQuerySet:
    """The completions that the filters name, of those whose texts the caller may read.

    raises Invalid for a date that is none; NotFound for a task that the caller knows nothing of
    """
    found = sharing.readable(principal)
    if query.external_id is not None:  # whose it is: what is only shared cannot be asked for by it
        found = Completion.objects.visible_to(principal)
    if query.task_id is not None:
        of_it = found.filter(task_id=query.task_id.uuid)
        if not Task.objects.visible_to(principal).filter(pk=query.task_id.uuid).exists() and not of_it.exists():
            raise NotFound.at("?taskId", "task")
        found = of_it
    exact = {"model_id": query.model_id, "source": query.source, "external_id": query.external_id}
    found = found.filter(**{name: value for name, value in exact.items() if value is not None})
    start = filters.instant(query.start_date, "?startDate", end=False)
    end = filters.instant(query.end_date, "?endDate", end=True)
    if start is not None:
        found = found.filter(created_at__gte=start)
    if end is not None:
        found = found.filter(created_at__lt=end)
    found = made_about(found, start, end)
    return found if query.status is None else _with_status(found, query.status)


def made_about(rows: Any, start: datetime | None, end: datetime | None) -> Any:
    """`rows` less most of those made before `start` or after `end`: by their ids, which tell the time.

    `created_at` is exact and stays to be asked for; without this an index is walked through all that is newer.
    """
    if start is not None:
        rows = rows.filter(pk__gte=ids.first_of(_shifted(start, -ABOUT)))
    if end is not None:
        rows = rows.filter(pk__lt=ids.first_of(_shifted(end, ABOUT)))
    return rows


def _shifted(moment: datetime, by: timedelta) -> datetime:
    """Within the years that there are."""
    try:
        return moment + by
    except OverflowError:
        return moment


def standings(rows: Iterable[Completion], *, shared: frozenset[UUID] = frozenset()) -> Mapping[UUID, Standing]:
    """How each of these stands: one query if any has no reward. They come from `textless`, with their rewards.

    shared  those that are only shared with the reader, who is not told their rewards
    """
    rewards: dict[UUID, Reward | None] = {row.pk: getattr(row, "reward", None) for row in rows}
    runs: dict[UUID, list[WorkflowRun]] = {}
    open_ = [pk for pk, reward in rewards.items() if reward is None]
    if open_:
        for run in WorkflowRun.objects.filter(completion_id__in=open_).only("completion_id", "attempt", "status"):
            runs.setdefault(run.completion_id, []).append(run)
    found = {}
    for pk, reward in rewards.items():
        status = status_of(reward, runs.get(pk, ()))
        if reward is None or pk in shared:
            found[pk] = Standing(status)
        else:
            found[pk] = Standing(status, reward.value, reward.error_code, reward.used, reward.failed)
    return found


def excerpts(completion_ids: Iterable[UUID]) -> Mapping[UUID, tuple[str, str]]:
    """(prompt, response) of those whose texts are short enough to be read for a list; others are not in it."""
    size = Coalesce(Length("prompt"), 0) + Coalesce(Length("response"), 0)
    short = Completion.objects.filter(pk__in=list(completion_ids)).annotate(octets=size).filter(octets__lte=EXCERPTED)
    return {row.pk: (_excerpt(row, "prompt"), _excerpt(row, "response")) for row in short.only("prompt", "response")}


def _excerpt(row: Completion, name: str) -> str:
    """The start of a text for a list. Text that cannot be decrypted is marked: an empty string would look real."""
    return getattr(row, name) or "" if is_legible(row, name) else "(cannot be read)"


def textless(found: CompletionQuerySet) -> CompletionQuerySet:
    """The same completions without their texts, with their rewards."""
    return found.defer(*TEXTS).select_related("reward")


def _with_status(found: Any, status: str) -> Any:
    if status in ("completed", "failed"):
        return found.filter(reward__value__isnull=status == "failed", reward__isnull=False)
    runs: Any = WorkflowRun.objects.filter(completion=OuterRef("pk"))
    begun = runs.filter(Q(attempt__gt=0) | ~Q(status__in=NOT_BEGUN))  # as completion_shapes.status_of says
    unfinished = found.filter(reward__isnull=True)
    return unfinished.filter(Exists(begun) if status == "processing" else ~Exists(begun))
