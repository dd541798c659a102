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
from scores.results.names import Named, Names
from tasks.models import Task


@dataclass(frozen=True, slots=True)
class Row:
    """An endpoint as the list shows it."""

    endpoint: RewardEndpoint
    caller: str
    task: Named

    @property
    def share(self) -> float | None:
        """Of the samples answered, those that a number stood in for; None without any."""
        answered = self.endpoint.answered
        return self.endpoint.unscored_count / answered if answered else None


@page(("reward_endpoints", "read"))
def endpoints(request: PageRequest) -> HttpResponse:
    """The newest first, as the API lists them."""
    asked = listing.read(request, RewardEndpointQuery)
    query, principal = asked.query, request.principal
    found = RewardEndpoint.objects.visible_to(principal)
    if query.task_id is not None:
        found = found.filter(task=query.task_id.uuid)
    if query.protocol is not None:
        found = found.filter(protocol=query.protocol)
    shown, pages = pagination.page(found, query, ORDER, owner=principal.organization.pk)
    names = Names.of(principal, tasks={row.task_id for row in shown})
    context = {
        "title": "Live rewards",
        "rows": [Row(row, PROTOCOLS[row.protocol][0], names.task(row.task_id)) for row in shown],
        "asked": asked,
        "pager": listing.pager(pages, len(shown)),
        "task_choices": choices.by_name(Task.objects.visible_to(principal), "task", asked.given.get("taskId", "")),
        "protocols": [(name, PROTOCOLS[name][0]) for name in offered()],
        "may_create": policy.reach(principal, "reward_endpoints", "create") is not None,
    }
    return render(request, "rewards/list.html", context)
