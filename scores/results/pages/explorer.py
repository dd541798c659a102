"""The score explorer: the filters of `GET /scores`, the distribution of the selected scores, and their rows."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from msgspec import structs

from autotune import charts
from autotune.access import policy
from autotune.access.frame.entry import PageRequest, page
from autotune.access.principal import Principal
from autotune.core import ids
from autotune.core.api import pagination
from autotune.core.api.pagination import Pagination
from autotune.core.errors import AutotuneError
from autotune.core.pages import listing
from autotune.core.pages.listing import ListRequest
from graders.models import Grader, GraderVersion
from scores.counters import narrowing
from scores.models import Score
from scores.results import completion_filters, distributions, filters
from scores.results.distributions import ScoreDistribution
from scores.results.filters import Selection
from scores.results.names import NamedObject, ObjectNames
from scores.results.scores import ORDER, ScoreListQuery
from tasks import sharing
from tasks.models import Task
from tasks.states import CompletionSource

FILTERS: Final = (
    "taskId", "modelId", "graderId", "graderVersion", "minScore", "maxScore", "minConfidence", "startDate", "endDate",
    "source",
)  # fmt: skip
CHOICES: Final = 200  # tasks and graders that a list offers; others are named by an address
RECENT: Final = 400  # completions whose models are offered
COLUMNS: Final = (
    "id", "value", "confidence", "completion_id", "task_id", "grader_id", "grader_version_id", "purpose", "superseded",
    "reviewed_by_id", "reused_from", "created_at",
)  # fmt: skip
PART: Final = "results"  # the part that htmx requests


@dataclass(frozen=True, slots=True)
class ScoreListRow:
    """A score in the list. `opens`: the reader may open its completion; `model_id` is '' where they may not."""

    score: Any
    task: NamedObject
    grader: NamedObject
    version: str
    model_id: str
    opens: bool


@dataclass(slots=True)
class ExplorerFilters:
    """The checked filters of an address. Those that are not valid are in `faults` and do not apply."""

    query: ScoreListQuery
    selection: Selection
    faults: dict[str, str] = field(default_factory=dict)


@page(("scores", "read"))
def explorer(request: PageRequest) -> HttpResponse:
    """Show the page, or for htmx only its results."""
    principal = request.principal
    list_request = listing.read(request, ScoreListQuery)
    chosen = checked(list_request, principal)
    rows, pages = _page(chosen, principal)
    typed_filters: dict[str, str] = {
        name: list_request.form_values[name] for name in FILTERS if name in list_request.form_values
    }
    spread = distributions.of(chosen.selection)
    context = {
        "title": "Scores",
        "given": typed_filters,
        "faults": chosen.faults,
        "filtered": bool(typed_filters),
        "rows": rows,
        "pager": listing.pager(pages, len(rows)),
        "spans": listing.spans(typed_filters),
        "sort": chosen.query.sort or ORDER.default,
        "chart": chart(spread, chosen.selection, typed_filters),
        "figures": spread.figures,
        "newest": spread.newest,
        "export": _export(principal, typed_filters),
        "versions": _versions(principal, chosen.selection, typed_filters),
        "may_submit": policy.reach(principal, "completions", "create") is not None,
    }
    if request.headers.get("HX-Target") == PART:
        return render(request, "scores/results/_explorer_part.html", context)
    return render(request, "scores/results/explorer.html", context | _choices(principal, typed_filters))


def checked(list_request: ListRequest[ScoreListQuery], principal: Principal) -> ExplorerFilters:
    """Return the selection of an address. Filters that name nothing and bounds that cross are reported and ignored."""
    query, faults = list_request.query, dict(list_request.faults)
    wire = dict(zip(query.__struct_encode_fields__, query.__struct_fields__, strict=True))
    while True:
        try:
            return ExplorerFilters(query, filters.check(query, principal), faults)
        except AutotuneError as exc:
            name = exc.errors[0].pointer.lstrip("?") if exc.errors else ""
            if name not in wire or getattr(query, wire[name]) is None:
                raise
            faults[name] = exc.errors[0].detail
            query = structs.replace(query, **{wire[name]: None})


def chart(spread: ScoreDistribution, selection: Selection, typed_filters: dict[str, str]) -> charts.Chart:
    """Return the chart of the distribution. Each bucket links to its own range; a brush sets the bounds of the form."""
    counts, figures = spread.counts, spread.figures
    quartiles = charts.Quartiles(figures.p25, figures.p50, figures.p75) if figures else None
    low, high = selection.query.min_score, selection.query.max_score
    bounded = low is not None or high is not None
    others = {name: text for name, text in typed_filters.items() if name not in ("minScore", "maxScore")}
    scores_url = reverse("scores")
    edges = [f"{place / len(counts):g}" for place in range(len(counts) + 1)]
    links = [
        f"{scores_url}?{urlencode({**others, 'minScore': low_, 'maxScore': high_})}" for low_, high_ in pairwise(edges)
    ]
    return charts.histogram(
        "Distribution", counts, chosen=(low or 0.0, 1.0 if high is None else high) if bounded else None,
        quartiles=quartiles, links=links, brush="score", wide=True, empty="This selection has no scores that count.",
    )  # fmt: skip


def _page(chosen: ExplorerFilters, principal: Principal) -> tuple[list[ScoreListRow], Pagination]:
    """One page. An invalid order or cursor is reported, and the first page in the default order is shown."""
    selection = chosen.selection
    matches = completion_filters.narrow_by_id(filters.scores(selection), selection.start, selection.end)
    matches = narrowing.of_model(selection, matches).values_list(*COLUMNS, named=True)
    try:
        rows, pages = pagination.page(
            matches, chosen.query.page(), ORDER, owner=principal.organization.pk, counted=False
        )  # fmt: skip
    except AutotuneError as exc:
        chosen.faults["sort"] = exc.detail
        chosen.query = structs.replace(chosen.query, sort=None, offset=0, cursor=None)
        rows, pages = pagination.page(
            matches, chosen.query.page(), ORDER, owner=principal.organization.pk, counted=False
        )  # fmt: skip
    return list_rows(rows, principal), pages


def list_rows(scores: list[Any], principal: Principal) -> list[ScoreListRow]:
    """Convert scores (rows of COLUMNS) to rows with the names that the principal may see."""
    names = ObjectNames.of(
        principal,
        tasks=(score.task_id for score in scores),
        graders=(score.grader_id for score in scores),
        versions=(score.grader_version_id for score in scores),
    )
    completion_ids = {score.completion_id for score in scores}
    readable = sharing.readable(principal).filter(pk__in=completion_ids)
    models = dict(readable.order_by().values_list("pk", "model_id")) if completion_ids else {}
    return [
        ScoreListRow(
            score,
            names.task(score.task_id),
            names.grader(score.grader_id),
            names.version(score.grader_version_id),
            models.get(score.completion_id, ""),
            score.completion_id in models,
        )
        for score in scores
    ]


def _choices(principal: Principal, typed_filters: dict[str, str]) -> dict[str, Any]:
    """The choices of the form: tasks, graders and recent models."""
    tasks = Task.objects.visible_to(principal).order_by("archived", "name").values_list("pk", "name")
    graders = Grader.objects.visible_to(principal).order_by("name").values_list("pk", "name")
    visible = Score.objects.for_readers().visible_to(principal)
    recent = visible.order_by("-id").values_list("completion_id", flat=True)[:RECENT]
    readable = sharing.readable(principal).filter(pk__in=list(recent))
    models = readable.order_by().values_list("model_id", flat=True).distinct()
    return {
        "tasks": _options("task", tasks[:CHOICES], typed_filters.get("taskId")),
        "graders": _options("grader", graders[:CHOICES], typed_filters.get("graderId")),
        "models": sorted(models)[:CHOICES],
        "sources": CompletionSource.values,
    }


def _versions(principal: Principal, selection: Selection, typed_filters: dict[str, str]) -> list[tuple[str, str]]:
    """The versions of the chosen grader, newest first."""
    versions: list[tuple[UUID, str]] = []
    if selection.grader and Grader.objects.visible_to(principal).filter(pk=selection.grader).exists():
        grader_versions = GraderVersion.objects.filter(grader_id=selection.grader).order_by("-first_seen_at")
        versions = list(grader_versions.values_list("pk", "label")[:CHOICES])
    return _options("graderv", versions, typed_filters.get("graderVersion"))


def _options(kind: str, rows: Iterable[tuple[UUID, str]], chosen: str | None) -> list[tuple[str, str]]:
    """The (public id, name) pairs to choose from; the chosen one is always among them."""
    options = [(ids.encode(kind, pk), name) for pk, name in rows]
    if chosen and chosen not in {option for option, _ in options}:
        options.append((chosen, chosen))
    return options


def _export(principal: Principal, typed_filters: dict[str, str]) -> str:
    """The address that exports this selection; '' if the principal may not export."""
    if policy.reach(principal, "exports", "create") is None:
        return ""
    try:
        export_url = reverse("export_new")
    except NoReverseMatch:
        return ""
    return f"{export_url}?{urlencode(typed_filters)}" if typed_filters else export_url
