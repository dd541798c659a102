"""The page of one task: its progress, the scores of its models, its panel, and how to submit to it."""

from typing import Any, Final
from uuid import UUID

from django.db.models import Prefetch
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from autotune.access import policy
from autotune.access.frame.entry import PageRequest, page
from autotune.access.frame.navigation import crumbs
from autotune.access.principal import Principal
from autotune.access.views import find
from autotune.core import ids
from scores.models import Reward, WorkflowRun
from scores.results import failure_codes
from scores.results.completion_responses import status_of
from scores.results.pages import task_counts, task_figures, task_snippets
from scores.results.pages.task_counts import sees
from tasks import panels
from tasks.models import Completion, Task
from tasks.pages import people, prompts, rights
from tasks.pages.spans import written
from tasks.querysets import from_sources
from tasks.responses import TaskOut, task_out
from tasks.states import LISTED_SOURCES, PanelPart

RECENT: Final = 8


@page(("tasks", "read"))
def detail(request: PageRequest, task_id: UUID) -> HttpResponse:
    principal = request.principal
    visible = Task.objects.visible_to(principal).select_related("version", "created_by")
    task: Task = find(visible.prefetch_related(Prefetch("version__members", panels.MEMBERS)), task_id, "task")
    out = task_out(task)
    context = {
        "title": task.name,
        "crumbs": crumbs(("Tasks", reverse("tasks"))),
        "task": task,
        "out": out,
        "may": rights.of(principal, task),
        "may_submit": policy.reach(principal, "completions", "create") is not None,
        "maker": people.called(principal, task.created_by),
        "version_count": task.versions.count(),
        "panel": _panel(principal, task),
        "blocking": _blocking(task),
        "parts": prompts.parts(out.prompt_template or ""),
        "waits": _waits(out),
        "snippets": task_snippets.of(out.id, out.prompt_template or ""),
        "figures": task_figures.of_task(task.pk, principal.organization.pk)
        if sees(principal, "scores", task.organization_id)
        else None,
        "recent": _recent(principal, task),
        "sees_completions": sees(principal, "completions", task.organization_id),
        "links": _links(principal, task),
        **_progress(principal, task),
    }
    return render(request, "scores/results/task.html", context)


@page(("tasks", "read"))
def progress(request: PageRequest, task_id: UUID) -> HttpResponse:
    """The part of the page that refreshes itself."""
    task = find(Task.objects.visible_to(request.principal), task_id, "task")
    return render(request, "scores/results/_task_progress.html", {"task": task, **_progress(request.principal, task)})


def _progress(principal: Principal, task: Task) -> dict[str, Any]:
    runs = task_counts.runs(principal, task)
    public_id = ids.encode("task", task.pk)
    return {
        "counts": task_counts.of_tasks(principal, [task.pk])[task.pk],
        "runs": runs,
        "states": [
            (state, count, task_figures.listed("workflow_runs", taskId=public_id, status=state))
            for state, count in (runs.states.items() if runs else ())
        ],
        "failures": [
            {
                "code": code or "none",
                "count": count,
                "fault": failure_codes.fault(code),
                "advice": failure_codes.advice(code),
                "url": task_figures.listed("workflow_runs", taskId=public_id, status="failed", code=code),
            }
            for code, count in (runs.codes if runs else ())
        ],
    }


def _panel(principal: Principal, task: Task) -> list[dict[str, Any]]:
    """Each grader with its share of the weights; a grader that the reader may not see has only its id."""
    members = list(task.version.members.all()) if task.version else []
    graders = rights.readable_graders(principal, [member.grader_id for member in members])
    total = sum(member.weight for member in members if member.part == PanelPart.SCORING)
    return [
        {
            "id": member.grader_id,
            "grader": graders.get(member.grader_id),
            "foreign": (grader := graders.get(member.grader_id)) is not None
            and grader.organization_id != task.organization_id,
            "weight": member.weight,
            "share": member.weight / total if member.part == PanelPart.SCORING and total else None,
            "part": member.part,
        }
        for member in members
    ]


def _blocking(task: Task) -> list[UUID]:
    """The graders because of which the task refuses submissions; an archived task refuses them anyway."""
    return [] if task.archived or task.version is None else panels.blocking_graders(task.version)


def _recent(principal: Principal, task: Task) -> list[dict[str, Any]]:
    """The newest completions with their state; no text is read for it."""
    visible = Completion.objects.visible_to(principal).filter(from_sources(LISTED_SOURCES), task=task).order_by("-pk")
    rows = list(visible.only("id", "model_id", "external_id", "created_at")[:RECENT])
    completion_ids = [row.pk for row in rows]
    rewards = Reward.objects.in_bulk(completion_ids)
    runs: dict[UUID, list[WorkflowRun]] = {}
    for run in WorkflowRun.objects.filter(completion_id__in=completion_ids).only("completion_id", "attempt", "status"):
        runs.setdefault(run.completion_id, []).append(run)
    shows = sees(principal, "scores") or sees(principal, "completions")
    return [
        {
            "completion": row,
            "status": status_of(rewards.get(row.pk), runs.get(row.pk, [])),
            "value": rewards[row.pk].value if shows and row.pk in rewards else None,
            "code": rewards[row.pk].error_code if row.pk in rewards else "",
        }
        for row in rows
    ]


def _waits(out: TaskOut) -> dict[str, str]:
    return {
        "first": written(out.retry.backoff_ms),
        "longest": written(out.retry.max_backoff_ms),
        "deadline": written(out.deadline_ms),
    }


def _links(principal: Principal, task: Task) -> dict[str, str]:
    """Addresses of pages about the task that the principal may open."""
    public_id = ids.encode("task", task.pk)
    pages = (
        ("export", "export_new", ("exports", "create")),
        ("scores", "scores", ("scores", "read")),
        ("runs", "workflow_runs", ("workflow_runs", "read")),
        ("completions", "completions", ("completions", "read")),
    )
    return {
        name: task_figures.listed(route, taskId=public_id)
        for name, route, need in pages
        if policy.reach(principal, *need) is not None
    }
