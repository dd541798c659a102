"""The explorer of scores: the filters of `GET /scores` in the address, how what they select is spread, and its rows."""

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
from autotune.core.pages.listing import Asked
from graders.models import Grader, GraderVersion
from scores.counters import narrowing
from scores.models import Score
from scores.results import completion_filters, distributions, filters
from scores.results.filters import Selection
from scores.results.names import Named, Names
from scores.results.scores import ORDER, ScoreListQuery
from tasks import sharing
from tasks.models import Task

FILTERS: Final = (
    "taskId", "modelId", "graderId", "graderVersion", "minScore", "maxScore", "minConfidence", "startDate", "endDate",
)  # fmt: skip
CHOICES: Final = 200  # tasks and graders that a list offers; others are named by an address
RECENT: Final = 400  # completions whose models are offered
COLUMNS: Final = (
    "id", "value", "confidence", "completion_id", "task_id", "grader_id", "grader_version_id", "shadow", "superseded",
    "reviewed_by_id", "reused_from", "created_at",
)  # fmt: skip
PART: Final = "results"  # what htmx asks for alone


@dataclass(frozen=True, slots=True)
class Row:
    """A score in the list. `opens`: the reader may open its completion; `model_id` is '' where they may not."""

    score: Any
    task: Named
    grader: Named
    version: str
    model_id: str
    opens: bool


@dataclass(slots=True)
class Chosen:
    """What an address asks for once its ids and dates are checked; what could not be is in `faults` and counts not."""

    query: ScoreListQuery
    selection: Selection
    faults: dict[str, str] = field(default_factory=dict)


@page(("scores", "read"))
def explorer(request: PageRequest) -> HttpResponse:
    """The page, or for htmx its results alone."""
    principal = request.principal
    asked = listing.read(request, ScoreListQuery)
    chosen = checked(asked, principal)
    rows, pages = _page(chosen, principal)
    given: dict[str, str] = {name: asked.given[name] for name in FILTERS if name in asked.given}
    spread = distributions.of(chosen.selection)
    context = {
        "title": "Scores",
        "given": given,
        "faults": chosen.faults,
        "filtered": bool(given),
        "rows": rows,
        "pager": listing.pager(pages, len(rows)),
        "spans": listing.spans(given),
        "sort": chosen.query.sort or ORDER.default,
        "chart": chart(spread.counts, chosen.selection, given),
        "figures": spread.figures,
        "newest": spread.newest,
        "export": _export(principal, given),
        "versions": _versions(principal, chosen.selection, given),
        "may_submit": policy.reach(principal, "completions", "create") is not None,
    }
    if request.headers.get("HX-Target") == PART:
        return render(request, "scores/_part.html", context)
    return render(request, "scores/list.html", context | _choices(principal, given))


def checked(asked: Asked[ScoreListQuery], principal: Principal) -> Chosen:
    """The selection of an address; a filter that names nothing, or bounds that cross, are told and left out."""
    query, faults = asked.query, dict(asked.faults)
    wire = dict(zip(query.__struct_encode_fields__, query.__struct_fields__, strict=True))
    while True:
        try:
            return Chosen(query, filters.check(query, principal), faults)
        except AutotuneError as exc:
            name = exc.errors[0].pointer.lstrip("?") if exc.errors else ""
            if name not in wire or getattr(query, wire[name]) is None:
                raise
            faults[name] = exc.errors[0].detail
            query = structs.replace(query, **{wire[name]: None})


def chart(counts: list[int], selection: Selection, given: dict[str, str]) -> charts.Chart:
    """How the scores are spread; each bucket leads to itself, and a brush across them to the bounds of the form."""
    low, high = selection.query.min_score, selection.query.max_score
    bounded = low is not None or high is not None
    others = {name: text for name, text in given.items() if name not in ("minScore", "maxScore")}
    here = reverse("scores")
    edges = [f"{place / len(counts):g}" for place in range(len(counts) + 1)]
    links = [f"{here}?{urlencode({**others, 'minScore': low_, 'maxScore': high_})}" for low_, high_ in pairwise(edges)]
    return charts.histogram(
        "Distribution", counts, chosen=(low or 0.0, 1.0 if high is None else high) if bounded else None, links=links,
        brush="score", wide=True, empty="No score that counts is in this selection.",
    )  # fmt: skip


def _page(chosen: Chosen, principal: Principal) -> tuple[list[Row], Pagination]:
    """One page. What its order or place cannot be is told, and the first page in the usual order shown."""
    selection = chosen.selection
    found = completion_filters.made_about(filters.scores(selection), selection.start, selection.end)
    found = narrowing.of_model(selection, found).values_list(*COLUMNS, named=True)
    try:
        rows, pages = pagination.page(
            found, chosen.query.page(), ORDER, owner=principal.organization.pk, counted=False
        )  # fmt: skip
    except AutotuneError as exc:
        chosen.faults["sort"] = exc.detail
        chosen.query = structs.replace(chosen.query, sort=None, offset=0, cursor=None)
        rows, pages = pagination.page(
            found, chosen.query.page(), ORDER, owner=principal.organization.pk, counted=False
        )  # fmt: skip
    return list_rows(rows, principal), pages


def list_rows(scores: list[Any], principal: Principal) -> list[Row]:
    """Scores (rows of COLUMNS) with the names of what they belong to, as far as the principal sees it."""
    names = Names.of(
        principal,
        tasks=(one.task_id for one in scores),
        graders=(one.grader_id for one in scores),
        versions=(one.grader_version_id for one in scores),
    )
    wanted = {one.completion_id for one in scores}
    readable = sharing.readable(principal).filter(pk__in=wanted)
    models = dict(readable.order_by().values_list("pk", "model_id")) if wanted else {}
    return [
        Row(
            one,
            names.task(one.task_id),
            names.grader(one.grader_id),
            names.version(one.grader_version_id),
            models.get(one.completion_id, ""),
            one.completion_id in models,
        )
        for one in scores
    ]


def _choices(principal: Principal, given: dict[str, str]) -> dict[str, Any]:
    """What the form offers: tasks, graders, and the models of late."""
    tasks = Task.objects.visible_to(principal).order_by("archived", "name").values_list("pk", "name")
    graders = Grader.objects.visible_to(principal).order_by("name").values_list("pk", "name")
    recent = Score.objects.visible_to(principal).order_by("-id").values_list("completion_id", flat=True)[:RECENT]
    readable = sharing.readable(principal).filter(pk__in=list(recent))
    models = readable.order_by().values_list("model_id", flat=True).distinct()
    return {
        "tasks": _options("task", tasks[:CHOICES], given.get("taskId")),
        "graders": _options("grader", graders[:CHOICES], given.get("graderId")),
        "models": sorted(models)[:CHOICES],
    }


def _versions(principal: Principal, selection: Selection, given: dict[str, str]) -> list[tuple[str, str]]:
    """The versions of the chosen grader, newest first."""
    found: list[tuple[UUID, str]] = []
    if selection.grader and Grader.objects.visible_to(principal).filter(pk=selection.grader).exists():
        of_it = GraderVersion.objects.filter(grader_id=selection.grader).order_by("-first_seen_at")
        found = list(of_it.values_list("pk", "label")[:CHOICES])
    return _options("graderv", found, given.get("graderVersion"))


def _options(kind: str, found: Iterable[tuple[UUID, str]], given: str | None) -> list[tuple[str, str]]:
    """(public id, name) to choose from, with what was given though it is not among them."""
    options = [(ids.encode(kind, pk), name) for pk, name in found]
    if given and given not in {option for option, _ in options}:
        options.append((given, given))
    return options


def _export(principal: Principal, given: dict[str, str]) -> str:
    """Where this selection is exported; '' for who may not."""
    if policy.reach(principal, "exports", "create") is None:
        return ""
    try:
        there = reverse("export_new")
    except NoReverseMatch:
        return ""
    return f"{there}?{urlencode(given)}" if given else there
