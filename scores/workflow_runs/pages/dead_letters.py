"""Pages of dead letters: the failed runs by code, and the form that retries many of them at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from autotune.access import policy
from autotune.access.audit import current_call
from autotune.access.frame import acting, navigation
from autotune.access.frame.entry import PageRequest, page
from autotune.access.principal import Principal
from autotune.core import ids
from autotune.core.errors import Invalid
from autotune.core.pages import listing, sentences
from scores.models import WorkflowRun
from scores.querysets import WorkflowRunQuerySet
from scores.results import failure_codes
from scores.results.names import NamedObject, ObjectNames
from scores.states import RunStatus
from scores.workflow_runs import queue_counts, retry_preview, retrying, runs
from scores.workflow_runs.pages import words
from scores.workflow_runs.pages.runs import filter_choices, filter_of
from scores.workflow_runs.queue_counts import DeadLetters
from scores.workflow_runs.requests import WorkflowRunQuery
from scores.workflow_runs.retrying import RetryResult
from scores.workflow_runs.runs import WorkflowRunFilter

EXAMPLES_AMONG = 100  # of the newest failures; the message of a code is that of the newest among them
SHOWN_GRADERS = 6
FILTERS = ("code", "graderId", "taskId", "completionId")


@dataclass(frozen=True, slots=True)
class DeadLettersRow:
    """One failure code: the last failure, what to change, who is responsible, and the graders of the runs."""

    code: str
    number: int
    last: datetime | None
    fault: str
    advice: str
    message: str
    example: WorkflowRun | None
    graders: Sequence[tuple[NamedObject, int]]
    graders_more: int


@page(("workflow_runs", "read"))
def letters(request: PageRequest) -> HttpResponse:
    """Show the failed runs by code."""
    principal = request.principal
    list_request = listing.read(request, WorkflowRunQuery)
    chosen = filter_of(principal, list_request)
    groups = queue_counts.dead_letters(_not_rejected(runs.visible(principal)), chosen)
    context = {
        "title": "Dead letters",
        "crumbs": navigation.crumbs(("Workflow runs", reverse("workflow_runs"))),
        "asked": list_request,
        "rows": _rows(principal, groups, chosen),
        "total": sum(group.number for group in groups),
        "may_retry": policy.reach(principal, "workflow_runs", "update") is not None,
        "rest": {
            name: list_request.form_values[name]
            for name in FILTERS
            if name != "code" and name in list_request.form_values
        },
        **filter_choices(principal, list_request),
    }
    return render(request, "scores/workflow_runs/dead_letters.html", context)


@page(("workflow_runs", "update"), methods=("GET", "HEAD", "POST"))
def retry(request: PageRequest) -> HttpResponseBase:
    """Show a preview of retrying the failed runs that match the filters; a POST retries them."""
    acting.concerns("workflow_runs", "update")
    principal = request.principal
    list_request = listing.read(request, WorkflowRunQuery, status="failed")
    chosen = replace(WorkflowRunFilter.of(list_request.query), status=None)
    if list_request.faults or not chosen:
        raise Invalid.field("", "missing_field", "Choose failed runs by code, grader, task or completion.")
    runs.require_known(principal, chosen, "?")
    allowed = _not_rejected(WorkflowRun.objects.allowed(principal, "update"))
    failed_runs = replace(chosen, status=RunStatus.FAILED).apply(allowed)
    if request.method == "POST":
        outcome = acting.do(request, lambda: retrying.retry_all(failed_runs), calls_out=True)
        current_call.about("", objects_count=outcome.retried)
        _report(request, outcome)
        return redirect(_back(list_request.form_values))
    context = {
        "title": "Retry failed workflow runs",
        "crumbs": navigation.crumbs(
            ("Workflow runs", reverse("workflow_runs")), ("Dead letters", reverse("workflow_runs_failed"))
        ),
        "preview": (preview := retry_preview.preview(failed_runs)),
        "refused": [(count, retrying.REFUSALS[code]) for code, count in sorted(preview.refused.items())],
        "chosen": chosen,
        "advice": failure_codes.advice(chosen.code) if chosen.code else "",
        "names": _filter_labels(principal, chosen),
        "most": retrying.MOST,
        "back": _back(list_request.form_values),
    }
    return render(request, "scores/workflow_runs/retry.html", context)


def _not_rejected(queryset: WorkflowRunQuerySet) -> WorkflowRunQuerySet:
    """Leave out what reviewers rejected: these runs did not fail, and a page does not offer to retry them."""
    return queryset.exclude(error_code=failure_codes.REVIEW_REJECTED)


def _rows(principal: Principal, groups: list[DeadLetters], chosen: WorkflowRunFilter) -> list[DeadLettersRow]:
    names = ObjectNames.of(principal, graders=queue_counts.graders_of(groups))
    failed = replace(chosen, status=RunStatus.FAILED).apply(_not_rejected(runs.visible(principal)))
    newest: dict[str, WorkflowRun] = {}
    for run in failed.order_by("-pk")[:EXAMPLES_AMONG]:
        newest.setdefault(run.error_code, run)
    outs = runs.shapes(principal, list(newest.values()))
    error_messages = {out.error.code: out.error.message for out in outs if out.error}
    return [_row(group, names, error_messages.get(group.code, ""), newest.get(group.code)) for group in groups]


def _row(group: DeadLetters, names: ObjectNames, message: str, example: WorkflowRun | None) -> DeadLettersRow:
    by_number = sorted(group.graders.items(), key=lambda grader_count: -grader_count[1])
    advice = failure_codes.advice(group.code)
    return DeadLettersRow(
        group.code,
        group.number,
        group.last,
        words.FAULTS[failure_codes.fault(group.code)],
        advice,
        message.removesuffix(advice).strip(),
        example,
        [(names.grader(grader), number) for grader, number in by_number[:SHOWN_GRADERS]],
        max(0, len(by_number) - SHOWN_GRADERS),
    )


def _filter_labels(principal: Principal, chosen: WorkflowRunFilter) -> list[tuple[str, str]]:
    """Return the filters as pairs of a label and a text."""
    names = ObjectNames.of(principal, tasks=filter(None, [chosen.task]), graders=filter(None, [chosen.grader]))
    labels = [("Code", chosen.code or "")]
    if chosen.grader:
        labels.append(("Grader", names.grader(chosen.grader).text))
    if chosen.task:
        labels.append(("Task", names.task(chosen.task).text))
    if chosen.completion:
        labels.append(("Completion", ids.encode("comp", chosen.completion)))
    return [(name, text) for name, text in labels if text]


def _back(filters: dict[str, str]) -> str:
    rest = urlencode({name: filters[name] for name in FILTERS if name in filters and name != "code"})
    return f"{reverse('workflow_runs_failed')}{'?' if rest else ''}{rest}"


def _report(request: PageRequest, outcome: RetryResult) -> None:
    skipped_count = outcome.skipped.total()
    why = " ".join(retrying.REFUSALS[code] for code in sorted(outcome.skipped))
    messages.success(request, f"{outcome.retried:,} {'run is' if outcome.retried == 1 else 'runs are'} due again.")
    if skipped_count:
        messages.warning(request, sentences.joined(f"{skipped_count:,} could not be retried", why))
    if outcome.more:
        messages.warning(request, f"More failed runs are left: one request retries {retrying.MOST:,}. Retry again.")
