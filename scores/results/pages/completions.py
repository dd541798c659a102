"""The list of completions: the filters of `GET /completions` in the address, and how each one stands."""

from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpResponse
from django.shortcuts import render
from msgspec import structs

from autotune.access import policy
from autotune.access.frame.entry import PageRequest, page
from autotune.access.principal import Principal
from autotune.core import ids
from autotune.core.api import pagination
from autotune.core.api.pagination import Pagination
from autotune.core.errors import AutotuneError
from autotune.core.pages import listing
from autotune.core.pages.listing import Asked, Pager
from scores.intake.requests import CompletionQuery
from scores.results import completion_filters
from scores.results.completion_filters import Standing
from scores.results.completions import ORDER
from scores.results.names import Named, Names
from tasks import sharing
from tasks.models import Completion, Task
from tasks.querysets import CompletionQuerySet
from tasks.states import Source

FILTERS: Final = ("taskId", "modelId", "status", "source", "externalId", "startDate", "endDate")
STATUSES: Final = ("pending", "processing", "completed", "failed")
CHOICES: Final = 200  # tasks that the form offers
BEGINNING: Final = 160  # characters of a text in a row
READS: Final = (("completions", "read"), ("shared_completions", "read"))


@dataclass(frozen=True, slots=True)
class Row:
    """A completion in the list. `texts` is None for one that is too long to be read for a list, or erased."""

    completion: Completion
    task: Named
    standing: Standing
    texts: tuple[str, str] | None
    shared: bool


@page(*READS)
def completions(request: PageRequest) -> HttpResponse:
    """The completions that the principal may read; those that are only shared with its graders too."""
    principal = request.principal
    asked = listing.read(request, CompletionQuery)
    found, query, faults = _chosen(asked, principal)
    rows, pages = _page(found, query, faults, principal)
    given: dict[str, str] = {name: asked.given[name] for name in FILTERS if name in asked.given}
    context = {
        "title": "Completions",
        "given": given,
        "faults": faults,
        "filtered": bool(given),
        "rows": list_rows(rows, principal),
        "pager": _foot(listing.pager(pages, len(rows)), found, query),
        "spans": listing.spans(given),
        "tasks": _tasks(principal, given.get("taskId")),
        "statuses": STATUSES,
        "sources": Source.values,
        "may_submit": policy.reach(principal, "completions", "create") is not None,
        "owns": policy.reach(principal, "completions", "read") is not None,
    }
    return render(request, "completions/list.html", context)


def list_rows(found: list[Completion], principal: Principal) -> list[Row]:
    """Completions without their texts, as rows: three queries for any number."""
    shared = frozenset(row.pk for row in found if sharing.is_only_shared(row, principal))
    wanted = [row.pk for row in found]
    names = Names.of(principal, tasks=(row.task_id for row in found))
    standings = completion_filters.standings(found, shared=shared)
    texts = completion_filters.excerpts(wanted)
    return [
        Row(row, names.task(row.task_id), standings[row.pk], _beginning(texts.get(row.pk)), row.pk in shared)
        for row in found
    ]


def _chosen(
    asked: Asked[CompletionQuery], principal: Principal
) -> tuple[CompletionQuerySet, CompletionQuery, dict[str, str]]:
    """What an address asks for; a filter that names nothing is told and left out."""
    query, faults = asked.query, dict(asked.faults)
    wire = dict(zip(query.__struct_encode_fields__, query.__struct_fields__, strict=True))
    while True:
        try:
            return completion_filters.chosen(principal, query), query, faults
        except AutotuneError as exc:
            name = exc.errors[0].pointer.lstrip("?") if exc.errors else ""
            if name not in wire or getattr(query, wire[name]) is None:
                raise
            faults[name] = exc.errors[0].detail
            query = structs.replace(query, **{wire[name]: None})


def _page(
    found: CompletionQuerySet, query: CompletionQuery, faults: dict[str, str], principal: Principal
) -> tuple[list[Any], Pagination]:
    """One page without texts."""
    owner, textless = principal.organization.pk, completion_filters.textless(found)
    try:
        return pagination.page(textless, query, ORDER, owner=owner, counted=False)
    except AutotuneError as exc:
        faults["sort"] = exc.detail
        first = structs.replace(query, sort=None, offset=0, cursor=None)
        return pagination.page(textless, first, ORDER, owner=owner, counted=False)


def _foot(foot: Pager, found: CompletionQuerySet, query: CompletionQuery) -> Pager:
    """With how many there are. A status is not counted: that would look at every completion's runs."""
    return foot if query.status or query.cursor else listing.counted(foot, found)


def _beginning(texts: tuple[str, str] | None) -> tuple[str, str] | None:
    return None if texts is None else (texts[0][: BEGINNING * 4], texts[1][: BEGINNING * 4])


def _tasks(principal: Principal, given: str | None) -> list[tuple[str, str]]:
    """(public id, name) to choose from, with what was given though it is not among them."""
    tasks = Task.objects.visible_to(principal).order_by("archived", "name").values_list("pk", "name")
    options = [(ids.encode("task", pk), name) for pk, name in tasks[:CHOICES]]
    if given and given not in {option for option, _ in options}:
        options.append((given, given))
    return options
