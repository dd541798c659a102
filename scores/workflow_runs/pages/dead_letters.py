"""Dead letters: the failed runs by their code, and retrying many of them at once."""

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
from autotune.access.pages import acts
from autotune.access.principal import Principal
from autotune.core import ids
from autotune.core.errors import Invalid
from autotune.core.pages import listing, sentences
from scores.models import WorkflowRun
from scores.results import failure_codes
from scores.results.names import Named, Names
from scores.states import RunStatus
from scores.workflow_runs import queue_counts, retry_preview, retrying, runs
from scores.workflow_runs.pages import words
from scores.workflow_runs.pages.runs import filter_choices, filter_of
from scores.workflow_runs.queue_counts import Letters
from scores.workflow_runs.requests import RunQuery
from scores.workflow_runs.retrying import Retried
from scores.workflow_runs.runs import RunFilter

EXAMPLES_AMONG = 100  # of the newest failures; the message of a code is that of the newest among them
SHOWN_GRADERS = 6
FILTERS = ("code", "graderId", "taskId", "completionId")


@dataclass(frozen=True, slots=True)
class LettersRow:
    """One code: what happened the last time, what to change, whose affair it is, and by which graders."""

    code: str
    number: int
    last: datetime | None
    fault: str
    advice: str
    message: str
    example: WorkflowRun | None
    graders: Sequence[tuple[Named, int]]
    graders_more: int


@page(("runs", "read"))
def letters(request: PageRequest) -> HttpResponse:
    """What has failed, by code."""
    principal = request.principal
    asked = listing.read(request, RunQuery)
    chosen = filter_of(principal, asked)
    groups = queue_counts.dead_letters(runs.visible(principal), chosen)
    context = {
        "title": "Dead letters",
        "crumbs": navigation.crumbs(("Runs", reverse("runs"))),
        "asked": asked,
        "rows": _rows(principal, groups, chosen),
        "total": sum(group.number for group in groups),
        "may_retry": policy.reach(principal, "runs", "update") is not None,
        "rest": {name: asked.given[name] for name in FILTERS if name != "code" and name in asked.given},
        **filter_choices(principal, asked),
    }
    return render(request, "runs/letters.html", context)


@page(("runs", "update"), methods=("GET", "HEAD", "POST"))
def retry(request: PageRequest) -> HttpResponseBase:
    """Asks whether the failed runs that the filters name shall begin anew; does it on a POST."""
    acts.concerns("runs", "update")
    principal = request.principal
    asked = listing.read(request, RunQuery, status="failed")
    chosen = replace(RunFilter.of(asked.query), status=None)
    if asked.faults or not chosen:
        raise Invalid.field("", "missing_field", "Name the failed runs by a code, a grader, a task or a completion.")
    runs.require_known(principal, chosen, "?")
    found = replace(chosen, status=RunStatus.FAILED).apply(WorkflowRun.objects.allowed(principal, "update"))
    if request.method == "POST":
        done = acting.do(request, lambda: retrying.retry_all(found), calls_out=True)
        current_call.about("", objects_count=done.retried)
        _tell(request, done)
        return redirect(_back(asked.given))
    context = {
        "title": "Retry failed runs",
        "crumbs": navigation.crumbs(("Runs", reverse("runs")), ("Dead letters", reverse("runs_failed"))),
        "preview": (seen := retry_preview.preview(found)),
        "refused": [(count, retrying.REFUSALS[code]) for code, count in sorted(seen.refused.items())],
        "chosen": chosen,
        "advice": failure_codes.advice(chosen.code) if chosen.code else "",
        "names": _named(principal, chosen),
        "most": retrying.MOST,
        "back": _back(asked.given),
    }
    return render(request, "runs/retry.html", context)


def _rows(principal: Principal, groups: list[Letters], chosen: RunFilter) -> list[LettersRow]:
    names = Names.of(principal, graders=queue_counts.graders_of(groups))
    failed = replace(chosen, status=RunStatus.FAILED).apply(runs.visible(principal))
    newest: dict[str, WorkflowRun] = {}
    for run in failed.order_by("-pk")[:EXAMPLES_AMONG]:
        newest.setdefault(run.error_code, run)
    shapes = runs.shapes(principal, list(newest.values()))
    said = {one.error.code: one.error.message for one in shapes if one.error}
    return [_row(group, names, said.get(group.code, ""), newest.get(group.code)) for group in groups]


def _row(group: Letters, names: Names, said: str, example: WorkflowRun | None) -> LettersRow:
    by_number = sorted(group.graders.items(), key=lambda one: -one[1])
    advice = failure_codes.advice(group.code)
    return LettersRow(
        group.code,
        group.number,
        group.last,
        words.FAULTS[failure_codes.fault(group.code)],
        advice,
        said.removesuffix(advice).strip(),
        example,
        [(names.grader(grader), number) for grader, number in by_number[:SHOWN_GRADERS]],
        max(0, len(by_number) - SHOWN_GRADERS),
    )


def _named(principal: Principal, chosen: RunFilter) -> list[tuple[str, str]]:
    """The filters in words."""
    names = Names.of(principal, tasks=filter(None, [chosen.task]), graders=filter(None, [chosen.grader]))
    told = [("Code", chosen.code or "")]
    if chosen.grader:
        told.append(("Grader", names.grader(chosen.grader).text))
    if chosen.task:
        told.append(("Task", names.task(chosen.task).text))
    if chosen.completion:
        told.append(("Completion", ids.encode("comp", chosen.completion)))
    return [(name, text) for name, text in told if text]


def _back(given: dict[str, str]) -> str:
    rest = urlencode({name: given[name] for name in FILTERS if name in given and name != "code"})
    return f"{reverse('runs_failed')}{'?' if rest else ''}{rest}"


def _tell(request: PageRequest, done: Retried) -> None:
    left = done.skipped.total()
    why = " ".join(retrying.REFUSALS[code] for code in sorted(done.skipped))
    messages.success(request, f"{done.retried:,} {'run begins' if done.retried == 1 else 'runs begin'} anew.")
    if left:
        messages.warning(request, sentences.joined(f"{left:,} stayed as they are", why))
    if done.more:
        messages.warning(request, f"More are left: one request retries {retrying.MOST:,}. Retry again.")
