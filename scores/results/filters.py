"""Check the filters of `/scores`, `/scores/summary` and `/scores/export`, which have the same parameters."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar
from uuid import UUID

from django.db.models import Count, Exists, OuterRef
from django.db.models.functions import Coalesce
from msgspec import Meta

from autotune.access import policy
from autotune.access.principal import Principal
from autotune.core import clock
from autotune.core.api.operations import QueryStruct
from autotune.core.api.parsing import PublicId
from autotune.core.errors import Invalid, NotFound
from graders.models import Grader, GraderVersion
from scores.intake.requests import Sources
from scores.models import Score, WorkflowRun
from scores.querysets import ScoreQuerySet, WorkflowRunQuerySet
from scores.states import RunPurpose, RunStatus
from tasks.models import Task
from tasks.querysets import for_readers
from tasks.states import LISTED_SOURCES, TRAINING_SOURCES, CompletionSource

UNSCORED = (RunStatus.PENDING, RunStatus.RUNNING, RunStatus.SLEEPING, RunStatus.WAITING, RunStatus.FAILED)
Unit = Annotated[float, Meta(ge=0, le=1)]


class CompletionRef(PublicId):
    kind = "comp"


class TaskRef(PublicId):
    kind = "task"


class GraderRef(PublicId):
    kind = "grader"


class GraderVersionRef(PublicId):
    kind = "graderv"


class ScoreFilter(QueryStruct):
    """The filters. `graderVersion` is a `graderv_…` id; the score's own bounds include their ends.

    `source` is repeatable. Without it, figures and exports leave out `telemetry` and `evaluation`, and lists leave out
    `evaluation`. None of them includes held-out completions.
    """

    default_sources: ClassVar[tuple[str, ...]] = TRAINING_SOURCES
    task_id: TaskRef | None = None
    model_id: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    grader_id: GraderRef | None = None
    grader_version: GraderVersionRef | None = None
    min_score: Unit | None = None
    max_score: Unit | None = None
    min_confidence: Unit | None = None
    start_date: str | None = None
    end_date: str | None = None
    source: Sources | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """A filter that was checked for a caller: its ids exist for them, its dates are instants.

    owner  the organization of the task, where the caller may read the task itself
    """

    principal: Principal
    query: ScoreFilter
    start: datetime | None
    end: datetime | None
    owner: UUID | None

    @property
    def task(self) -> UUID | None:
        return self.query.task_id.uuid if self.query.task_id else None

    @property
    def grader(self) -> UUID | None:
        return self.query.grader_id.uuid if self.query.grader_id else None

    @property
    def grader_version(self) -> UUID | None:
        return self.query.grader_version.uuid if self.query.grader_version else None

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of the filter, or the default ones of its operation."""
        return self.query.source or self.query.default_sources

    def period(self, queryset: Any, field: str) -> Any:
        """Limit a queryset to rows from `startDate` on and before the end that `endDate` means."""
        if self.start:
            queryset = queryset.filter(**{f"{field}__gte": self.start})
        if self.end:
            queryset = queryset.filter(**{f"{field}__lt": self.end})
        return queryset

    def judged_by(self, queryset: Any) -> Any:
        """Limit scores to the grader and grader version of the filter."""
        if self.grader:
            queryset = queryset.filter(grader_id=self.grader)
        if self.grader_version:
            queryset = queryset.filter(grader_version_id=self.grader_version)
        return queryset

    def bounded(self, queryset: Any, *, value: str = "value", path: str = "") -> Any:
        """Limit rows (scores, rewards, or rows with one at `path`) to the bounds of value and confidence.

        value  the name of a column or an annotation with the value that the bounds of scores refer to
        """
        query = self.query
        for lookup, bound in (
            (f"{value}__gte", query.min_score),
            (f"{value}__lte", query.max_score),
            (f"{path}confidence__gte", query.min_confidence),
        ):
            if bound is not None:
                queryset = queryset.filter(**{lookup: bound})
        return queryset

    def bounded_rewards(self, queryset: Any, path: str = "") -> Any:
        """Limit rewards, or rows with one at `path`, to the bounds: those of scores refer to uncalibrated values."""
        if self.query.min_score is not None or self.query.max_score is not None:
            uncalibrated = Coalesce(f"{path}uncalibrated_value", f"{path}value")
            queryset = queryset.alias(uncalibrated_reward=uncalibrated)
        return self.bounded(queryset, value="uncalibrated_reward", path=path)

    def scoped(self, queryset: Any, resource: str) -> Any:
        """Limit rows with a `task` to the task of the filter and the caller's reach over `resource`.

        A task of the caller's organization has only rows of this organization: there is no second condition, so that
        the index on task and id is enough.
        """
        if self.task:
            queryset = queryset.filter(task_id=self.task)
            reach = policy.reach(self.principal, resource, "read")
            if reach == "organization" and self.owner == self.principal.organization.pk:
                return queryset
        return policy.scope(queryset, self.principal, resource, "read")


def check(query: ScoreFilter, principal: Principal) -> Selection:
    """Check a filter for a caller, and return its selection.

    raises  Invalid for impossible bounds or dates; NotFound with a pointer for an id that they may not see
    """
    if query.min_score is not None and query.max_score is not None and query.min_score > query.max_score:
        raise Invalid.field("?minScore", "out_of_range", "it is greater than maxScore.")
    start = instant(query.start_date, "?startDate", end=False)
    end = instant(query.end_date, "?endDate", end=True)
    if start and end and start > end:
        raise Invalid.field("?startDate", "out_of_range", "it is after endDate.")
    owner = _task_owner(query.task_id.uuid, principal) if query.task_id else None
    if query.grader_id:
        _require_grader(query.grader_id.uuid, principal)
    if query.grader_version:
        _require_version(query.grader_version.uuid, principal)
    return Selection(principal, query, start, end, owner)


def scores(selection: Selection) -> ScoreQuerySet:
    """Return the scores of a selection, including those of shadow graders and superseded ones."""
    rows = selection.scoped(Score.objects.live().for_readers(selection.sources), "scores")
    if selection.query.model_id:
        rows = rows.filter(completion__model_id=selection.query.model_id)
    return selection.period(selection.bounded(selection.judged_by(rows)), "created_at")


def counted(selection: Selection) -> ScoreQuerySet:
    """Return the scores that figures and records use: neither a shadow grader's, nor replaced by a newer one."""
    return scores(selection).filter(purpose=RunPurpose.SCORE, superseded=False)


def unscored(selection: Selection, status: str) -> WorkflowRunQuerySet:
    """Return the scoring runs of a selection that have no score and are in `status`, one of UNSCORED.

    Of a completion that was scored again only the newest run of a grader counts, and none where the grader has a score.

    A missing score has no value and no version: bounds do not apply, `graderVersion` selects its grader, and the dates
    are those of the submission.
    """
    runs = selection.scoped(WorkflowRun.objects.filter(status=status), "scores").filter(purpose=RunPurpose.SCORE)
    same = {"completion": OuterRef("completion"), "grader": OuterRef("grader")}
    newer = WorkflowRun.objects.filter(**same, generation__gt=OuterRef("generation"))
    runs = runs.filter(~Exists(newer), ~Exists(Score.objects.live().filter(**same, purpose=RunPurpose.SCORE)))
    runs = runs.filter(for_readers(selection.sources, "completion__"))
    if selection.query.model_id:
        runs = runs.filter(completion__model_id=selection.query.model_id)
    if selection.grader:
        runs = runs.filter(grader_id=selection.grader)
    if selection.grader_version:
        runs = runs.filter(grader__versions=selection.grader_version)
    return selection.period(runs, "created_at")


def unscored_by_model(selection: Selection) -> dict[str, int]:
    """Count the scoring runs of each model that have no score.

    One statement with a part for each state: each has a partial index; one part for all would read the whole table.
    """
    parts: list[Any] = [
        unscored(selection, status)
        .order_by()
        .values("completion__model_id")
        .annotate(n=Count("pk"))
        .values_list("completion__model_id", "n")
        for status in UNSCORED
    ]
    counts: dict[str, int] = {}
    for model, number in parts[0].union(*parts[1:], all=True):
        counts[model] = counts.get(model, 0) + number
    return counts


def instant(text: str | None, pointer: str, *, end: bool) -> datetime | None:
    if text is None:
        return None
    try:
        return clock.parse_filter(text, end=end).astimezone(UTC)
    except (ValueError, OverflowError):
        raise Invalid.field(pointer, "invalid_date", "give a date or a date-time of ISO 8601.") from None


# A caller who reads only the scores of their own graders may name another organization's task, or a grader that is no
# longer listed, if such a score refers to it. Hence the second check, against the scores.
def _task_owner(task: UUID, principal: Principal) -> UUID | None:
    owner = Task.objects.visible_to(principal).filter(pk=task).values_list("organization_id", flat=True).first()
    if owner is None:
        _require_seen(principal, "?taskId", "task", task_id=task)
    return owner


def _require_grader(grader: UUID, principal: Principal) -> None:
    if not Grader.objects.visible_to(principal).filter(pk=grader).exists():
        _require_seen(principal, "?graderId", "grader", grader_id=grader)


def _require_version(version: UUID, principal: Principal) -> None:
    grader = GraderVersion.objects.filter(pk=version).values_list("grader_id", flat=True).first()
    if grader is None:
        raise NotFound.field("?graderVersion", "grader version")
    if not Grader.objects.visible_to(principal).filter(pk=grader).exists():
        _require_seen(principal, "?graderVersion", "grader version", grader_id=grader, grader_version_id=version)


def _require_seen(principal: Principal, pointer: str, what: str, **lookup: UUID) -> None:
    for sources in (LISTED_SOURCES, (CompletionSource.EVALUATION,)):  # each has its index
        if Score.objects.for_readers(sources).visible_to(principal).filter(**lookup).exists():
            return
    raise NotFound.field(pointer, what)
