"""The list of completions with their states; the address has the filters of `GET /completions`."""

from dataclasses import dataclass, replace
from typing import Any, Final

from django.http import HttpResponse
from django.shortcuts import render
from msgspec import structs

from autotune.access import policy
from autotune.access.frame.bulk import BulkAct
from autotune.access.frame.entry import PageRequest, page
from autotune.access.principal import Principal
from autotune.core import ids
from autotune.core.api import pagination
from autotune.core.api.pagination import Pagination
from autotune.core.errors import AutotuneError
from autotune.core.pages import listing, tables
from autotune.core.pages.listing import ListRequest, Pager
from autotune.core.pages.tables import ListColumn
from scores.results import completion_filters, reward_order
from scores.results.completion_filters import CompletionState
from scores.results.names import NamedObject, ObjectNames
from scores.results.reward_order import ORDER, RewardedCompletionQuery
from tasks import sharing
from tasks.models import Completion, Task
from tasks.querysets import CompletionQuerySet
from tasks.states import CompletionSource

FILTERS: Final = (
    "taskId", "modelId", "status", "source", "externalId", "minReward", "maxReward", "startDate", "endDate", "sort",
    "limit",
)  # fmt: skip
COLUMNS: Final = (
    ListColumn("completion", "Completion", fixed=True),
    ListColumn("status", "Status"),
    ListColumn("reward", "Reward", sort="reward", number=True),
    ListColumn("model", "Model"),
    ListColumn("task", "Task"),
    ListColumn("when", "When", sort="createdAt", descending=True),
)
COMPARE: Final = BulkAct("Compare two", "completions_compare_selected")
RESCORE: Final = BulkAct("Score again", "completions_rescore")
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

    @property
    def public_id(self) -> str:
        return self.completion.public_id


@page(*READS)
def completions(request: PageRequest) -> HttpResponse:
    """List the completions that the principal may read, including those that are only shared with its graders."""
    principal = request.principal
    list_request = listing.read(request, RewardedCompletionQuery)
    matches, query, faults = _chosen(list_request, principal)
    rows, pages, sort = _page(matches, query, faults, principal)
    typed_filters: dict[str, str] = {
        name: list_request.form_values[name] for name in FILTERS if name in list_request.form_values
    }
    checked = replace(list_request, form_values=typed_filters, faults=faults)
    sortable = frozenset(ORDER.fields if query.task_id else {"createdAt"})
    may_submit = policy.reach(principal, "completions", "create") is not None
    context = {
        "title": "Completions",
        "acts": (COMPARE, RESCORE) if may_submit else (COMPARE,),
        "table": tables.layout(COLUMNS, checked, request.GET.getlist("columns"), sort=sort, sortable=sortable),
        "asked": checked,
        "by_reward": reward_order.is_by_reward(query),
        "rows": list_rows(rows, principal),
        "pager": _foot(listing.pager(pages, len(rows)), matches, query),
        "spans": listing.spans(typed_filters),
        "tasks": _tasks(principal, typed_filters.get("taskId")),
        "statuses": STATUSES,
        "sources": CompletionSource.values,
        "may_submit": may_submit,
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
    list_request: ListRequest[RewardedCompletionQuery], principal: Principal
) -> tuple[CompletionQuerySet, RewardedCompletionQuery, dict[str, str]]:
    """The completions that an address selects. A filter that names nothing is reported in the faults and left out."""
    query, faults = list_request.query, dict(list_request.faults)
    wire = dict(zip(query.__struct_encode_fields__, query.__struct_fields__, strict=True))
    while True:
        try:
            matches = completion_filters.chosen(principal, query)
            return reward_order.narrow(matches, query, principal), query, faults
        except AutotuneError as exc:
            name = exc.errors[0].pointer.lstrip("?") if exc.errors else ""
            if name not in wire or getattr(query, wire[name]) is None:
                raise
            faults[name] = exc.errors[0].detail
            query = structs.replace(query, **{wire[name]: None})


def _page(
    matches: CompletionQuerySet, query: RewardedCompletionQuery, faults: dict[str, str], principal: Principal
) -> tuple[list[Any], Pagination, str]:
    """One page without texts, and its order."""
    owner, textless = principal.organization.pk, completion_filters.textless(matches)
    try:
        return *pagination.page(textless, query, ORDER, owner=owner, counted=False), query.sort or ORDER.default
    except AutotuneError as exc:
        faults["sort"] = exc.detail
        first = structs.replace(query, sort=None, offset=0, cursor=None)
        return *pagination.page(textless, first, ORDER, owner=owner, counted=False), ORDER.default


def _foot(foot: Pager, matches: CompletionQuerySet, query: RewardedCompletionQuery) -> Pager:
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
