"""Pages that call the grader or sign for it: verification, the console to try it, and the rotation of its secret."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render

from autotune.access.frame import acting, once
from autotune.access.frame.entry import PageRequest, page
from autotune.charts import Bar, Chart, bars
from autotune.core.errors import AutotuneError
from graders import credentials, failure_codes, trying
from graders.health import verification, verification_steps
from graders.health.verification import VerificationResult
from graders.models import Grader
from graders.pages import changing, finding
from graders.pages.changing import FORM, RESOURCE
from graders.pages.forms import GraderTryForm, SecretRotationForm
from graders.requests import SecretRotationIn
from graders.trying import SampleIn, SampleResult
from graders.verdicts import Verdict


@page((RESOURCE, "update"), methods=FORM)
def verify(request: PageRequest, grader_id: UUID) -> HttpResponse:
    """Show what verification checks. A POST verifies and shows the result of each check; with scripts in two steps."""
    grader = finding.find(request.principal, grader_id, "update")
    result, ticket, error = None, "", None
    if request.method == "POST":
        acting.concerns(RESOURCE, "update", grader.public_id)
        try:
            result, ticket = acting.do(request, lambda: _verified(request, grader), calls_out=True)
        except AutotuneError as exc:
            error = exc
        grader = finding.find(request.principal, grader_id, "update")
    context = finding.context(request.principal, grader, "verify", verification=result, ticket=ticket, error=error)
    return render(request, "graders/verify.html", context, status=error.status if error else 200)


def _verified(request: PageRequest, grader: Grader) -> tuple[VerificationResult, str]:
    """Verify, or take one step of it: the result, and the ticket of the next step ('' if there is none)."""
    if "HX-Request" not in request.headers:
        return verification.verify(grader), ""
    if ticket := request.POST.get("ticket", ""):
        return verification_steps.go_on(grader, ticket), ""
    return verification_steps.begin(grader)


@page((RESOURCE, "update"), methods=FORM)
def attempt(request: PageRequest, grader_id: UUID) -> HttpResponse:
    """Send one sample to the grader, and show the request and the answer."""
    grader = finding.find(request.principal, grader_id, "update")
    form = GraderTryForm(request.POST or None)
    trial, status, headers = None, 200, {}
    if request.method == "POST":
        acting.concerns(RESOURCE, "try", grader.public_id)
        if form.is_valid():
            try:
                sample = form.body(SampleIn)
                trial = acting.do(request, lambda: trying.send(request.principal, grader, sample), calls_out=True)
            except AutotuneError as exc:
                form.refuse(exc)
                status, headers = exc.status, exc.headers
        else:
            status = 400
    context = finding.context(request.principal, grader, "try", form=form, trial=trial, **_trial_context(trial))
    return _with(render(request, "graders/try.html", context, status=status), headers)


@page((RESOURCE, "update"), methods=FORM)
def rotate(request: PageRequest, grader_id: UUID) -> HttpResponse:
    """Create a new secret, once for each form. Only this response shows it."""
    grader = finding.find(request.principal, grader_id, "update")
    form = SecretRotationForm(request.POST or None)
    if request.method == "POST":
        acting.concerns(RESOURCE, "update", grader.public_id)
        if form.is_valid():
            try:
                body = form.body(SecretRotationIn)
                secret = once.do(request, lambda: _rotated(grader, body))
            except AutotuneError as exc:
                form.refuse(exc)
            else:
                return changing.shown_once(request, grader_id, secret, "rotated")
    context = finding.context(request.principal, grader, "settings", form=form)
    context |= {"title": "Rotate the secret", "crumbs": changing.crumbs(grader), "ticket": once.ticket(request)}
    return render(request, "graders/rotate.html", context, status=400 if form.errors else 200)


def _rotated(grader: Grader, body: SecretRotationIn) -> str:
    return credentials.rotate(grader, grace_hours=body.grace_hours, force=bool(body.force))


def _trial_context(trial: SampleResult | None) -> dict[str, Any]:
    """Return what the page shows of a sample beside the request and the answer: advice, fault and dimensions."""
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
    rows = [
        Bar(dimension.name, dimension.value, note=f"weight {dimension.weight:g}", total=1)
        for dimension in verdict.dimensions
    ]
    return bars("Dimensions", rows)


def _with(response: HttpResponse, headers: dict[str, str]) -> HttpResponse:
    for name, value in headers.items():
        response[name] = value
    return response
