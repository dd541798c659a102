"""The page that lists workflow runs by state, with the queue of each grader."""

from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone

from autotune.access import policy
from autotune.access.frame.entry import PageRequest, page
from autotune.access.principal import Principal
from autotune.core import ids
from autotune.core.api import pagination
from autotune.core.api.pagination import Pagination
from autotune.core.errors import Invalid, NotFound
from autotune.core.pages import listing
from autotune.core.pages.listing import ListRequest
from graders import responses as grader_shapes
from graders.models import Grader
from graders.states import Trouble
from scores.models import WorkflowRun
from scores.querysets import WorkflowRunQuerySet
from scores.results import choices, failure_codes
from scores.results.names import NamedObject, ObjectNames
from scores.states import RunStatus
from scores.workflow_runs import queue_counts, runs
from scores.workflow_runs.pages import words
from scores.workflow_runs.queue_counts import GraderQueue
from scores.workflow_runs.requests import WorkflowRunQuery
from scores.workflow_runs.responses import WorkflowRunOut
from scores.workflow_runs.runs import WorkflowRunFilter
from tasks.models import Task

TABS = ("", "pending", "running", "sleeping", "waiting", "failed", "completed")
SHOWN_QUEUES = 12


@dataclass(frozen=True, slots=True)
class RunListRow:
    """A run of the list. `state`: the name of its badge."""

    run: WorkflowRun
    state: str
    out: WorkflowRunOut
    task: NamedObject
    grader: NamedObject
    why: str


@dataclass(frozen=True, slots=True)
class GraderQueueRow:
    """A grader's queue. `sees_all`: the reader sees everything about the grader, so also why its queue is paused."""

    queue: GraderQueue
    grader: NamedObject
    status: str
    held_until: Any
    held_reason: str
    circuit_open: bool
    sees_all: bool


@page(("workflow_runs", "read"))
def runs_page(request: PageRequest) -> HttpResponse:
    """List the runs that match the filters, the newest first."""
    principal = request.principal
    list_request = listing.read(request, WorkflowRunQuery)
    chosen = filter_of(principal, list_request)
    others = queue_counts.whatever_state(runs.visible(principal), chosen)
    failed = replace(chosen, status=RunStatus.FAILED).apply(runs.visible(principal))
    rows, pagination_ = _page(principal, list_request, _of_status(chosen.status, others, failed))
    queues = queue_counts.by_grader(others)
    counts = queue_counts.by_status(queues, failed)
    grader_ids = {run.grader_id for run in rows} | {queue.grader_id for queue in queues[:SHOWN_QUEUES]}
    graders = Grader.objects.visible_to(principal).in_bulk(grader_ids) if grader_ids else {}
    return render(
        request,
        "scores/workflow_runs/list.html",
        {
            "title": "Workflow runs",
            "asked": list_request,
            "status": list_request.query.status or "",
            "tabs": [(name, name or "all", counts.get(name)) for name in TABS],
            "rows": _rows(principal, rows, graders),
            "pager": listing.pager(pagination_, len(rows)),
            "queues": _queue_rows(principal, queues[:SHOWN_QUEUES], graders),
            "queues_more": max(0, len(queues) - SHOWN_QUEUES),
            "failed": counts[RunStatus.FAILED.value],
            **filter_choices(principal, list_request),
        },
    )


def filter_of(principal: Principal, list_request: ListRequest[WorkflowRunQuery]) -> WorkflowRunFilter:
    """Return the filter of the runs; an id that the reader cannot see is reported as a fault, and matches nothing."""
    chosen = WorkflowRunFilter.of(list_request.query)
    try:
        runs.require_known(principal, chosen, "?")
    except (Invalid, NotFound) as exc:
        list_request.faults[exc.errors[0].pointer.lstrip("?")] = exc.errors[0].detail
    return chosen


def filter_choices(principal: Principal, list_request: ListRequest[Any]) -> dict[str, Any]:
    """Return the options of the filters' selects."""
    filters = list_request.form_values
    own = policy.reach(principal, "endpoint_graders", "read")
    graders = (
        policy.scope(Grader.objects.live(), principal, "endpoint_graders", "read") if own else Grader.objects.none()
    )
    return {
        "task_choices": choices.by_name(Task.objects.visible_to(principal), "task", filters.get("taskId", "")),
        "grader_choices": choices.by_name(graders, "grader", filters.get("graderId", "")),
        "code_choices": sorted(failure_codes.CODES),
    }


def _of_status(status: str | None, others: WorkflowRunQuerySet, failed: WorkflowRunQuerySet) -> WorkflowRunQuerySet:
    if status == RunStatus.FAILED:
        return failed
    return others if status is None else others.filter(status=status)


def _page(
    principal: Principal, list_request: ListRequest[WorkflowRunQuery], matching_runs: WorkflowRunQuerySet
) -> tuple[list[WorkflowRun], Pagination]:
    try:
        return pagination.page(
            matching_runs, list_request.query, runs.ORDER, owner=principal.organization.pk, counted=False
        )
    except Invalid as exc:  # a sort or cursor that was tampered with
        list_request.faults[exc.errors[0].pointer.lstrip("?")] = exc.errors[0].detail
        return [], Pagination(list_request.query.limit, 0, None, None)


def _rows(principal: Principal, rows: list[WorkflowRun], graders: dict[UUID, Grader]) -> list[RunListRow]:
    tasks = ObjectNames.of(principal, tasks={run.task_id for run in rows})
    names = replace(tasks, graders={pk: grader.name for pk, grader in graders.items()})
    return [
        RunListRow(run, words.state(run), out, names.task(run.task_id), names.grader(run.grader_id), words.reason(run))
        for run, out in zip(rows, runs.shapes(principal, rows), strict=True)
    ]


def _queue_rows(principal: Principal, queues: list[GraderQueue], graders: dict[UUID, Grader]) -> list[GraderQueueRow]:
    return [_queue_row(principal, queue, graders.get(queue.grader_id)) for queue in queues]


def _queue_row(principal: Principal, queue: GraderQueue, grader: Grader | None) -> GraderQueueRow:
    name = NamedObject(queue.grader_id, ids.encode("grader", queue.grader_id), grader.name if grader else "")
    if grader is None:
        return GraderQueueRow(queue, name, "", None, "", False, False)
    sees_all = grader_shapes.sees_all_of(grader, principal)
    is_paused = sees_all and grader.held_until is not None and grader.held_until > timezone.now()
    return GraderQueueRow(
        queue,
        name,
        grader.status,
        grader.held_until if is_paused else None,
        words.pause(grader.held_reason) if is_paused else "",
        sees_all and Trouble.CIRCUIT in grader.troubles,
        sees_all,
    )
