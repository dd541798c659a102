"""The list of tasks, with the progress of each."""

from typing import Any, Final
from uuid import UUID

from django.db.models import Prefetch
from django.http import HttpResponse
from django.shortcuts import render
from msgspec import structs

from autotune.access import policy
from autotune.access.frame.entry import PageRequest, page
from autotune.access.principal import Principal
from autotune.core import ids
from autotune.core.api import pagination
from autotune.core.pages import listing
from autotune.core.pages.formats import brief
from graders.models import Grader
from scores.results.pages import task_counts
from tasks import panels
from tasks.api import ORDER
from tasks.models import Task, TaskVersion
from tasks.pages import rights
from tasks.requests import TaskQuery

SORTS: Final = (
    ("-createdAt", "newest first"), ("-updatedAt", "changed last"), ("name", "name"), ("createdAt", "oldest first"),
)  # fmt: skip
MOST_OFFERED: Final = 200
VERSIONS: Final = TaskVersion.objects.defer("content").prefetch_related(
    Prefetch("members", panels.MEMBERS)
)  # a list needs no texts


@page(("tasks", "read"))
def tasks(request: PageRequest) -> HttpResponse:
    principal = request.principal
    list_request = listing.read(request, TaskQuery)
    query = list_request.query
    if query.sort is not None and query.sort not in dict(SORTS):
        query = structs.replace(query, sort=None)
    matches = Task.objects.visible_to(principal).filter(archived=query.archived)
    if query.search:
        matches = matches.search(query.search)
    if query.grader_id:
        matches = matches.judged_by(query.grader_id.uuid)
    if query.model:
        matches = matches.filter(model_name=query.model)
    light = matches.only(
        "id", "name", "description", "created_at", "updated_at", "version_id", "archived", "organization_id"
    )
    rows, place = pagination.page(
        light.prefetch_related(Prefetch("version", VERSIONS)), query, ORDER, owner=principal.organization.pk
    )
    context = {
        "title": "Tasks",
        "rows": _rows(principal, rows),
        "asked": list_request,
        "sorts": SORTS,
        "graders": _graders(principal, list_request.form_values.get("graderId", "")),
        "pager": listing.pager(place, len(rows)),
        "may_create": policy.reach(principal, "tasks", "create") is not None,
        "narrowed": any(
            value for name, value in list_request.form_values.items() if name in {"search", "graderId", "model"}
        ),
    }
    return render(request, "scores/results/tasks.html", context)


def _rows(principal: Principal, tasks: list[Task]) -> list[dict[str, Any]]:
    counts = task_counts.of_tasks(principal, [task.pk for task in tasks])
    members = {task.pk: list(task.version.members.all()) if task.version else [] for task in tasks}
    graders = rights.readable_graders(
        principal, list({member.grader_id for panel in members.values() for member in panel})
    )
    return [
        {
            "task": task,
            "counts": counts[task.pk],
            "panel": [_name(graders, member) for member in members[task.pk]],
            "refuses": not task.archived and bool(task.version and panels.blocking_graders(task.version)),
        }
        for task in tasks
    ]


def _name(graders: dict[UUID, Grader], member: Any) -> dict[str, Any]:
    grader = graders.get(member.grader_id)
    return {"id": member.grader_id, "name": grader.name if grader else "", "part": member.part}


def _graders(principal: Principal, chosen: str) -> list[tuple[str, str]]:
    """The graders that tasks of the principal can name, for the filter; the chosen one is always among them."""
    usable = Grader.objects.usable_by(principal).order_by("name", "pk").only("id", "name")[:MOST_OFFERED]
    offered = [(ids.encode("grader", grader.pk), brief(grader.name, 60)) for grader in usable]
    if chosen and chosen not in dict(offered):
        offered.append((chosen, brief(chosen, 60)))
    return offered
