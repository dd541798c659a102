"""Pages that register, change, switch and delete a grader."""

from uuid import UUID

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from autotune.access.frame import acting, navigation
from autotune.access.frame.entry import PageRequest, page
from autotune.core.errors import AutotuneError
from graders import registry
from graders.pages import finding
from graders.pages.forms import GraderDeletionForm, GraderEditForm, GraderForm
from graders.requests import GraderIn, GraderPatch

RESOURCE = finding.RESOURCE
FORM = ("GET", "HEAD", "POST")


@page((RESOURCE, "create"), methods=FORM)
def new(request: PageRequest) -> HttpResponse:
    """Register a grader. Only this response shows its secret."""
    form = GraderForm(request.POST or None)
    if request.method == "POST":
        acting.concerns(RESOURCE, "create")
        if form.is_valid():
            try:
                registration = acting.do(request, lambda: registry.register(request.principal, form.body(GraderIn)))
            except AutotuneError as exc:
                form.refuse(exc)
            else:
                acting.concerns(RESOURCE, "create", registration.grader.public_id)
                return shown_once(request, registration.grader.pk, str(registration.secret), "registered")
    context = {
        "title": "Register a grader",
        "crumbs": navigation.crumbs(("Graders", reverse("graders"))),
        "form": form,
        "submit": "Register",
        "back": reverse("graders"),
    }
    return render(request, "graders/form.html", context, status=400 if form.errors else 200)


@page((RESOURCE, "update"), methods=FORM)
def edit(request: PageRequest, grader_id: UUID) -> HttpResponseBase:
    """Change a grader. A new scheme, host or port creates a new secret, which only this response shows."""
    grader = finding.find(request.principal, grader_id, "update")
    form = GraderEditForm(request.POST or None, grader)
    if request.method == "POST":
        acting.concerns(RESOURCE, "update", grader.public_id)
        if form.is_valid():
            try:
                registration = acting.do(
                    request, lambda: registry.patch(grader, form.body(GraderPatch)), toast="Saved."
                )
            except AutotuneError as exc:
                form.refuse(exc)
            else:
                if registration.secret is None:
                    return redirect("grader_settings", grader_id)
                return shown_once(request, grader_id, registration.secret, "moved")
    context = {
        "title": "Change the grader",
        "crumbs": crumbs(grader),
        "form": form,
        "grader": grader,
        "submit": "Save",
        "back": reverse("grader_settings", args=[grader.pk]),
    }
    return render(request, "graders/form.html", context, status=400 if form.errors else 200)


@page((RESOURCE, "update"), methods=("POST",))
def switch(request: PageRequest, grader_id: UUID) -> HttpResponseBase:
    """Switch a grader off or on, as the form's `to` says."""
    grader = finding.find(request.principal, grader_id, "update")
    acting.concerns(RESOURCE, "update", grader.public_id, fields=["status"])
    on = request.POST.get("to") == "on"
    message = "The grader is switched on." if on else "The grader is switched off. Autotune does not call it."
    acting.attempt(request, lambda: registry.switch(grader.pk, on=on), toast=message)
    return redirect("grader_settings", grader_id)


@page((RESOURCE, "delete"), methods=FORM)
def delete(request: PageRequest, grader_id: UUID) -> HttpResponseBase:
    """Delete a grader if its name is typed correctly."""
    grader = finding.find(request.principal, grader_id, "delete")
    form = GraderDeletionForm(request.POST or None, grader)
    if request.method == "POST":
        acting.concerns(RESOURCE, "delete", grader.public_id)
        if form.is_valid():
            try:
                acting.do(request, lambda: registry.tombstone(grader), toast="The grader is deleted.")
            except AutotuneError as exc:
                form.add_error(None, exc.detail)
            else:
                return redirect("graders")
    context = {"title": "Delete the grader", "crumbs": crumbs(grader), "form": form, "grader": grader}
    return render(request, "graders/delete.html", context, status=400 if form.errors else 200)


def shown_once(request: PageRequest, grader_id: UUID, secret: str, why: str) -> HttpResponse:
    """Return the response that shows a new secret; no other page shows it."""
    grader = finding.find(request.principal, grader_id, "update")
    titles = {
        "registered": "The grader is registered",
        "moved": "The grader has a new secret",
        "rotated": "The new secret",
    }
    context = {
        "title": titles[why],
        "crumbs": crumbs(grader),
        "grader": grader,
        "secret": secret,
        "why": why,
        "out": finding.context(request.principal, grader, "settings")["out"],
    }
    return render(request, "graders/secret.html", context)


def crumbs(grader: object) -> object:
    """Return the breadcrumbs of a page below the grader's own."""
    return navigation.crumbs(
        ("Graders", reverse("graders")),
        (grader.name, reverse("grader", args=[grader.pk])),  # type: ignore[attr-defined]
    )
