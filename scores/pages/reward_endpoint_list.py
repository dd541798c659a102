"""The list of reward endpoints."""

from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render

from autotune.access import policy
from autotune.access.frame.entry import PageRequest, page
from autotune.core import listing, pagination
from scores import offers
from scores.live.endpoint_inputs import RewardEndpointQuery
from scores.live.endpoints_api import ORDER
from scores.models import RewardEndpoint
from scores.pages.reward_endpoint_forms import PROTOCOLS, offered
from scores.pages.run_names import choices
from tasks.models import Task


@dataclass(frozen=True, slots=True)
class Row:
    """An endpoint as the list shows it. `task` is its name, where the reader may see it."""

    endpoint: RewardEndpoint
    caller: str
    task: str
    task_id: str

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
    tasks = dict(
        Task.objects.visible_to(principal).filter(pk__in={row.task_id for row in shown}).values_list("pk", "name")
    )
    context = {
        "title": "Live rewards",
        "rows": [
            Row(row, PROTOCOLS[row.protocol][0], tasks.get(row.task_id, ""), offers.task_id(row.task_id))
            for row in shown
        ],
        "asked": asked,
        "pager": listing.pager(pages, len(shown)),
        "task_choices": choices(Task.objects.visible_to(principal), "task", asked.given.get("taskId", "")),
        "protocols": [(name, PROTOCOLS[name][0]) for name in offered()],
        "may_create": policy.reach(principal, "reward_endpoints", "create") is not None,
    }
    return render(request, "rewards/list.html", context)
