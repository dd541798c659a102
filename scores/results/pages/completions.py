"""The list of completions with their states; the address has the filters of `GET /completions`."""

from dataclasses import dataclass, replace
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
from autotune.core.pages.listing import ListRequest, Pager
from scores.intake.requests import CompletionQuery
from scores.results import completion_filters
from scores.results.completion_filters import CompletionState
from scores.results.completions import ORDER
from scores.results.names import NamedObject, ObjectNames
from tasks import sharing
from tasks.models import Completion, Task
from tasks.querysets import CompletionQuerySet
from tasks.states import CompletionSource

FILTERS: Final = ("taskId", "modelId", "status", "source", "externalId", "startDate", "endDate")
STATUSES: Final = ("pending", "processing", "completed", "failed", "ungraded")
CHOICES: Final = 200  # tasks that the form offers
BEGINNING: Final = 160  # characters of a text in a row
READS: Final = (("completions", "read"), ("shared_completions", "read"))


@dataclass(frozen=True, slots=True)
class CompletionListRow:
    """A completion in the list. `texts` is None for one that is too long to be read for a list, or erased."""

    completion: Completion
    task: NamedObject
    state: CompletionState
    texts: tuple[str, str] | None
    shared: bool


@page(*READS)
def completions(request: PageRequest) -> HttpResponse:
    """List the completions that the principal may read, including those that are only shared with its graders."""
    principal = request.principal
    list_request = listing.read(request, CompletionQuery)
    matches, query, faults = _chosen(list_request, principal)
    rows, pages = _page(matches, query, faults, principal)
    typed_filters: dict[str, str] = {
        name: list_request.form_values[name] for name in FILTERS if name in list_request.form_values
    }
    context = {
        "title": "Completions",
        "asked": replace(list_request, form_values=typed_filters, faults=faults),
        "rows": list_rows(rows, principal),
        "pager": _foot(listing.pager(pages, len(rows)), matches, query),
        "spans": listing.spans(typed_filters),
        "tasks": _tasks(principal, typed_filters.get("taskId")),
        "statuses": STATUSES,
        "sources": CompletionSource.values,
        "may_submit": policy.reach(principal, "completions", "create") is not None,
        "owns": policy.reach(principal, "completions", "read") is not None,
    }
    return render(request, "scores/results/completions.html", context)


def list_rows(completions: list[Completion], principal: Principal) -> list[CompletionListRow]:
    """Convert completions without their text to rows; three queries for any number."""
    shared = frozenset(row.pk for row in completions if sharing.is_only_shared(row, principal))
    completion_ids = [row.pk for row in completions]
    names = ObjectNames.of(principal, tasks=(row.task_id for row in completions))
    states = completion_filters.states_of(completions, shared=shared)
    texts = completion_filters.excerpts(completion_ids)
    return [
        CompletionListRow(row, names.task(row.task_id), states[row.pk], _beginning(texts.get(row.pk)), row.pk in shared)
        for row in completions
    ]


def _chosen(
    list_request: ListRequest[CompletionQuery], principal: Principal
) -> tuple[CompletionQuerySet, CompletionQuery, dict[str, str]]:
    """The completions that an address selects. A filter that names nothing is reported in the faults and left out."""
    query, faults = list_request.query, dict(list_request.faults)
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
    matches: CompletionQuerySet, query: CompletionQuery, faults: dict[str, str], principal: Principal
) -> tuple[list[Any], Pagination]:
    """One page without texts."""
    owner, textless = principal.organization.pk, completion_filters.textless(matches)
    try:
        return pagination.page(textless, query, ORDER, owner=owner, counted=False)
    except AutotuneError as exc:
        faults["sort"] = exc.detail
        first = structs.replace(query, sort=None, offset=0, cursor=None)
        return pagination.page(textless, first, ORDER, owner=owner, counted=False)


def _foot(foot: Pager, matches: CompletionQuerySet, query: CompletionQuery) -> Pager:
    """Add the number of matches. With a status they are not counted: that would read every completion's runs."""
    return foot if query.status or query.cursor else listing.counted(foot, matches)


def _beginning(texts: tuple[str, str] | None) -> tuple[str, str] | None:
    return None if texts is None else (texts[0][: BEGINNING * 4], texts[1][: BEGINNING * 4])


def _tasks(principal: Principal, chosen: str | None) -> list[tuple[str, str]]:
    """The (public id, name) of the tasks to choose from; the chosen one is always among them."""
    tasks = Task.objects.visible_to(principal).order_by("archived", "name").values_list("pk", "name")
    options = [(ids.encode("task", pk), name) for pk, name in tasks[:CHOICES]]
    if chosen and chosen not in {option for option, _ in options}:
        options.append((chosen, chosen))
    return options
