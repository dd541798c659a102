"""The list of reward endpoints."""

from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render

from autotune.access import policy
from autotune.access.frame.entry import PageRequest, page
from autotune.core.api import pagination
from autotune.core.pages import listing
from scores.live.endpoint_api import ORDER
from scores.live.endpoint_requests import RewardEndpointQuery
from scores.live.pages.forms import PROTOCOLS, offered
from scores.models import RewardEndpoint
from scores.results import choices
from scores.results.names import NamedObject, ObjectNames
from tasks.models import Task


@dataclass(frozen=True, slots=True)
class RewardEndpointRow:
    """An endpoint as the list shows it."""

    endpoint: RewardEndpoint
    caller: str
    task: NamedObject

    @property
    def share(self) -> float | None:
        """The share of answered samples that got a stand-in; None if none was answered."""
        answered = self.endpoint.answered
        return self.endpoint.unscored_count / answered if answered else None


@page(("reward_endpoints", "read"))
def endpoints(request: PageRequest) -> HttpResponse:
    """List the endpoints, newest first, as the API does."""
    filters = listing.read(request, RewardEndpointQuery)
    query, principal = filters.query, request.principal
    queryset = RewardEndpoint.objects.visible_to(principal)
    if query.task_id is not None:
        queryset = queryset.filter(task=query.task_id.uuid)
    if query.protocol is not None:
        queryset = queryset.filter(protocol=query.protocol)
    rows, pages = pagination.page(queryset, query, ORDER, owner=principal.organization.pk)
    names = ObjectNames.of(principal, tasks={row.task_id for row in rows})
    context = {
        "title": "Live rewards",
        "rows": [RewardEndpointRow(row, PROTOCOLS[row.protocol][0], names.task(row.task_id)) for row in rows],
        "asked": filters,
        "pager": listing.pager(pages, len(rows)),
        "task_choices": choices.by_name(
            Task.objects.visible_to(principal), "task", filters.form_values.get("taskId", "")
        ),
        "protocols": [(name, PROTOCOLS[name][0]) for name in offered()],
        "may_create": policy.reach(principal, "reward_endpoints", "create") is not None,
    }
    return render(request, "scores/live/list.html", context)
