"""Pages of a task's versions: when and by whom each was created, what changed, and a comparison of any two."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models import Q, prefetch_related_objects
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from autotune.access.frame.entry import PageRequest, page
from autotune.access.frame.navigation import crumbs
from autotune.access.frame.people import EmailAddresses
from autotune.access.principal import Principal
from autotune.access.views import find
from autotune.core import ids
from autotune.core.api import pagination
from autotune.core.errors import Invalid, NotFound
from autotune.core.pages import listing
from tasks import diffs
from tasks.api import VERSION_ORDER
from tasks.models import Task, TaskVersion
from tasks.pages import prompts, rights
from tasks.requests import VersionQuery
from tasks.responses import version_out

MOST_OFFERED: Final = 200  # versions to compare with


@dataclass(frozen=True, slots=True)
class TaskVersionRow:
    """A version in the list. `maker` is '' if it was not recorded; `changed` is None for the first version."""

    version: TaskVersion
    number: int
    maker: str
    changed: list[str] | None
    previous: TaskVersion | None


@page(("tasks", "read"))
def listed(request: PageRequest, task_id: UUID) -> HttpResponse:
    """Show the list of a task's versions, newest first."""
    task = _task(request, task_id)
    list_request = listing.read(request, VersionQuery)
    owner = f"{request.principal.organization.pk}.{task.pk}"
    versions, place = pagination.page(
        task.versions.all(), list_request.query, VERSION_ORDER, owner=owner, texts=("content",)
    )
    older = _before(task, versions[-1]) if versions else None
    chain = [*versions, *([older] if older else [])]
    prefetch_related_objects(chain, "members")
    context = {
        "title": "Versions",
        "crumbs": _crumbs(task),
        "task": task,
        "rows": _rows(request.principal, chain, shown=len(versions), first=task.versions.count() - place.offset),
        "pager": listing.pager(place, len(versions)),
    }
    return render(request, "tasks/versions.html", context)


@page(("tasks", "read"))
def numbered(request: PageRequest, task_id: UUID, number: int) -> HttpResponseBase:
    """Redirect to the version with a number, counted from 1."""
    task = _task(request, task_id)
    versions = task.versions.order_by("created_at", "pk")
    version = versions[number - 1 : number].first() if 0 < number < 1_000_000 else None
    if version is None:
        raise NotFound("The task has no such version.")
    return redirect("task_version", task.pk, version.pk)


@page(("tasks", "read"))
def shown(request: PageRequest, task_id: UUID, version_id: UUID, other_id: UUID | None = None) -> HttpResponse:
    """Show a version, and how it differs from the one before it or from the version in `?against=taskv_…`."""
    task = _task(request, task_id)
    version = find(task.versions.all(), version_id, "version")
    other = _other(request, task, version, other_id)
    prefetch_related_objects([side for side in (version, other) if side], "members__grader")
    graders = [member.grader_id for side in (version, other) if side for member in side.members.all()]
    readable = rights.readable_graders(request.principal, graders)
    names = {pk: readable[pk].name if pk in readable else ids.encode("grader", pk) for pk in graders}
    numbers = _numbers(task)
    context = {
        "title": f"Version {numbers[version.pk]}",
        "number": numbers[version.pk],
        "crumbs": [*_crumbs(task), *crumbs(("Versions", reverse("task_versions", args=[task.pk])))],
        "task": task,
        "version": version,
        "out": (out := version_out(version, current=version.pk == task.version_id)),
        "parts": prompts.parts(out.prompt_template or ""),
        "panel": diffs.seats_of(version, names).splitlines(),
        "other": other,
        "other_number": numbers[other.pk] if other else None,
        "change": _change(other, version, names),
        "choices": [(ids.encode("taskv", pk), number) for pk, number in reversed(numbers.items()) if pk != version.pk][
            :MOST_OFFERED
        ],
        "maker": EmailAddresses(request.principal, [version.created_by_id]).of(version.created_by_id),
    }
    return render(request, "tasks/version.html", context)


def _rows(principal: Principal, chain: Sequence[TaskVersion], *, shown: int, first: int) -> list[TaskVersionRow]:
    """The first `shown` versions of the chain, newest first, each compared with the next in the chain."""
    names = EmailAddresses(principal, [version.created_by_id for version in chain[:shown]])
    rows = []
    for at, version in enumerate(chain[:shown]):
        previous = chain[at + 1] if at + 1 < len(chain) else None
        changed = diffs.names(previous, version) if previous else None
        rows.append(TaskVersionRow(version, first - at, names.of(version.created_by_id), changed, previous))
    return rows


def _change(other: TaskVersion | None, version: TaskVersion, names: Mapping[UUID, str]) -> diffs.VersionChange | None:
    """The change from the older of the two versions to the newer."""
    if other is None:
        return None
    pair = sorted((other, version), key=lambda side: (side.created_at, side.pk))
    return diffs.between(pair[0], pair[1], names)


def _other(request: PageRequest, task: Task, version: TaskVersion, other_id: UUID | None) -> TaskVersion | None:
    """The version to compare with: the one in the address, else the one before."""
    if other_id is None and (against := request.GET.get("against", "")):
        try:
            other_id = ids.decode("taskv", against)
        except ValueError:
            raise Invalid.field("?against", "malformed_id", "give the id of a version.") from None
    return find(task.versions.all(), other_id, "version") if other_id else _before(task, version)


def _before(task: Task, version: TaskVersion) -> TaskVersion | None:
    """The version before this one, in the order in which they were created."""
    earlier = Q(created_at__lt=version.created_at) | Q(created_at=version.created_at, pk__lt=version.pk)
    return task.versions.filter(earlier).order_by("-created_at", "-pk").first()


def _numbers(task: Task) -> dict[UUID, int]:
    """{version: its number}, from 1."""
    keys = task.versions.order_by("created_at", "pk").values_list("pk", flat=True)
    return {pk: at + 1 for at, pk in enumerate(keys)}


def _task(request: PageRequest, task_id: UUID) -> Task:
    task: Task = find(Task.objects.visible_to(request.principal), task_id, "task")
    return task


def _crumbs(task: Task) -> Any:
    return crumbs(("Tasks", reverse("tasks")), (task.name, reverse("task", args=[task.pk])))
