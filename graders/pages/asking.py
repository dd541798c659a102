"""Pages that call the grader or sign for it: verification, the console to try it, and the rotation of its secret."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render

from autotune.access.frame import acting
from autotune.access.frame.entry import PageRequest, page
from autotune.access.pages import acts, once
from autotune.charts import Bar, Chart, bars
from autotune.core.errors import AutotuneError
from graders import credentials, failure_codes, trying
from graders.gateway.types import Verdict
from graders.health import verification, verification_steps
from graders.health.verification import Probe
from graders.models import Grader
from graders.pages import changing, finding
from graders.pages.changing import FORM, RESOURCE
from graders.pages.forms import RotateForm, TryForm
from graders.requests import RotateIn
from graders.trying import SampleIn, Trial


@page((RESOURCE, "update"), methods=FORM)
def verify(request: PageRequest, grader_id: UUID) -> HttpResponse:
    """What verification looks at; a POST does it, and shows what each check found: with scripts in two steps."""
    found = finding.find(request.principal, grader_id, "update")
    probe, ticket, error = None, "", None
    if request.method == "POST":
        acts.concerns(RESOURCE, "update", found.public_id)
        try:
            probe, ticket = acting.do(request, lambda: _verified(request, found), calls_out=True)
        except AutotuneError as exc:
            error = exc
        found = finding.find(request.principal, grader_id, "update")
    context = finding.context(request.principal, found, "verify", probe=probe, ticket=ticket, error=error)
    return render(request, "graders/verify.html", context, status=error.status if error else 200)


def _verified(request: PageRequest, found: Grader) -> tuple[Probe, str]:
    """What was found, and the ticket of the step that is still to come; '' if it is the whole."""
    if "HX-Request" not in request.headers:
        return verification.verify(found), ""
    if ticket := request.POST.get("ticket", ""):
        return verification_steps.go_on(found, ticket), ""
    return verification_steps.begin(found)


@page((RESOURCE, "update"), methods=FORM)
def attempt(request: PageRequest, grader_id: UUID) -> HttpResponse:
    """Send one sample, and show what went over the wire."""
    found = finding.find(request.principal, grader_id, "update")
    form = TryForm(request.POST or None)
    trial, status, headers = None, 200, {}
    if request.method == "POST":
        acts.concerns(RESOURCE, "try", found.public_id)
        if form.is_valid():
            try:
                sample = form.body(SampleIn)
                trial = acting.do(request, lambda: trying.send(request.principal, found, sample), calls_out=True)
            except AutotuneError as exc:
                form.refuse(exc)
                status, headers = exc.status, exc.headers
        else:
            status = 400
    context = finding.context(request.principal, found, "try", form=form, trial=trial, **_told(trial))
    return _with(render(request, "graders/try.html", context, status=status), headers)


@page((RESOURCE, "update"), methods=FORM)
def rotate(request: PageRequest, grader_id: UUID) -> HttpResponse:
    """Make a new secret, once for each form. The answer shows it, once."""
    found = finding.find(request.principal, grader_id, "update")
    form = RotateForm(request.POST or None)
    if request.method == "POST":
        acts.concerns(RESOURCE, "update", found.public_id)
        if form.is_valid():
            try:
                body = form.body(RotateIn)
                secret = once.do(request, lambda: _rotated(found, body))
            except AutotuneError as exc:
                form.refuse(exc)
            else:
                return changing.shown_once(request, grader_id, secret, "rotated")
    context = finding.context(request.principal, found, "settings", form=form)
    context |= {"title": "Rotate the secret", "crumbs": changing.crumbs(found), "ticket": once.ticket(request)}
    return render(request, "graders/rotate.html", context, status=400 if form.errors else 200)


def _rotated(found: Grader, body: RotateIn) -> str:
    return credentials.rotate(found, grace_hours=body.grace_hours, force=bool(body.force))


def _told(trial: Trial | None) -> dict[str, Any]:
    """What the page says of a try beside what went over the wire."""
    if trial is None:
        return {}
    failure = trial.failure
    return {
        "advice": failure_codes.advice(failure.code) if failure else "",
        "fault": failure_codes.fault(failure.code) if failure else "",
        "dimensions": _dimensions(trial.verdict) if trial.verdict else None,
    }


def _dimensions(verdict: Verdict) -> Chart | None:
    if not verdict.dimensions:
        return None
    rows = [Bar(one.name, one.value, note=f"weight {one.weight:g}", total=1) for one in verdict.dimensions]
    return bars("Dimensions", rows)


def _with(response: HttpResponse, headers: dict[str, str]) -> HttpResponse:
    for name, value in headers.items():
        response[name] = value
    return response
