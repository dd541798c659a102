"""The page of one workflow run: its timeline, and the buttons that retry or cancel it."""

from dataclasses import dataclass
from uuid import UUID

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from autotune.access.frame import acting, navigation
from autotune.access.frame.entry import PageRequest, page
from autotune.access.principal import Principal
from autotune.access.views import find, find_for
from autotune.core import ids
from scores.models import Review, Score, WorkflowRun
from scores.querysets import WorkflowRunQuerySet
from scores.results import failure_codes, waiting_reasons
from scores.results.names import ObjectNames
from scores.reviews import access
from scores.states import FINAL, RunStatus
from scores.workflow_runs import attempts, cancelling, retrying, runs, steps
from scores.workflow_runs.pages import words as run_words
from scores.workflow_runs.steps import RunStep
from tasks.models import Completion


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step as the page shows it. `latency_ms`: from its start to its end."""

    step: RunStep
    words: str
    outcome: str
    tone: str
    latency_ms: float | None


@page(("workflow_runs", "read"))
def run(request: PageRequest, run_id: UUID) -> HttpResponse:
    """Show what happened to a run and what comes next."""
    principal = request.principal
    row: WorkflowRun = find(runs.visible(principal), run_id, "workflow run")
    out = runs.shapes(principal, [row])[0]
    names = ObjectNames.of_rows(principal, [row])
    is_final = row.status in FINAL
    may_update = WorkflowRun.objects.allowed(principal, "update").filter(pk=run_id).exists()
    advice = failure_codes.advice(out.error.code) if out.error else ""
    context = {
        "title": "Workflow run",
        "crumbs": navigation.crumbs(("Workflow runs", reverse("workflow_runs"))),
        "run": row,
        "out": out,
        "final": is_final,
        "why": run_words.reason(row),
        "wait": waiting_reasons.of_runs([row]).get(run_id),
        "task": names.task(row.task_id),
        "grader": names.grader(row.grader_id),
        "steps": [_row(step) for step in steps.of(row)],
        "completion_seen": Completion.objects.visible_to(principal).filter(pk=row.completion_id).exists(),
        "score": Score.objects.live().visible_to(principal).filter(run_id=run_id).only("pk", "value").first(),
        "review": _review(principal, run_id),
        "attempts": attempts.of_run(principal, row),
        "is_rejected": (is_rejected := run_words.is_rejected(row)),
        "advice": advice,
        "said": out.error.message.removesuffix(advice).strip() if out.error else "",
        "fault": run_words.FAULTS[out.error.fault] if out.error else "",
        "may_retry": may_update and row.status == RunStatus.FAILED and not is_rejected,
        "may_cancel": may_update and not is_final,
        "next_attempt": row.attempt + 1,
    }
    return render(request, "scores/workflow_runs/run.html", context)


@page(("workflow_runs", "update"), methods=("POST",))
def retry(request: PageRequest, run_id: UUID) -> HttpResponseBase:
    """Retry a failed run."""
    acting.concerns("workflow_runs", "update", ids.encode("run", run_id))
    find_for(_all(), request.principal, run_id, "update", "workflow run")
    acting.attempt(request, lambda: retrying.retry(run_id), toast="The run is due again.")
    return redirect("workflow_run", run_id)


@page(("workflow_runs", "update"), methods=("POST",))
def cancel(request: PageRequest, run_id: UUID) -> HttpResponseBase:
    """Cancel an unfinished run."""
    acting.concerns("workflow_runs", "update", ids.encode("run", run_id))
    find_for(_all(), request.principal, run_id, "update", "workflow run")
    acting.attempt(request, lambda: cancelling.cancel(run_id), toast="The run was cancelled.")
    return redirect("workflow_run", run_id)


def _all() -> WorkflowRunQuerySet:
    return WorkflowRun.objects.all()


def _review(principal: Principal, run_id: UUID) -> Review | None:
    """The newest review of the run, for those who may open it."""
    reviews = access.shown(principal).filter(run_id=run_id).order_by("-pk")
    return reviews.only("pk", "status").first()


def _row(step: RunStep) -> StepRow:
    timed = step.started_at and step.ended_at
    latency = (step.ended_at - step.started_at).total_seconds() * 1000 if timed else None  # type: ignore[operator]
    return StepRow(
        step, run_words.step(step.step), run_words.outcome(step.outcome), run_words.tone(step.outcome), latency
    )
