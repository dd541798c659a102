"""The page that creates an export: a form, with a preview of the rows."""

from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from autotune.access.audit import current_call
from autotune.access.frame import acting, navigation
from autotune.access.frame.acting import AutotuneError
from autotune.access.frame.entry import PageRequest, page
from exports import previews
from exports.formats import json
from exports.pages import words
from exports.pages.forms import FIRST, ExportForm
from exports.previews import ExportPreview
from exports.work import asking
from exports.work.requests import NewExport
from scores.results import choices


@page(("exports", "create"), methods=("GET", "HEAD", "POST"))
def new(request: PageRequest) -> HttpResponse:
    """GET fills the form from its address and shows the preview; POST starts the export or updates the preview."""
    if request.method != "POST":
        return _render_form(request, ExportForm(request.GET, request.principal), 200)
    form = ExportForm(request.POST, request.principal)
    if "preview" in request.POST:
        acting.concerns("exports", "read")
        return redirect(f"{reverse('export_new')}?{urlencode(_address_parameters(form))}")
    acting.concerns("exports", "create")
    if form.is_valid():
        try:
            export = acting.do(
                request, lambda: asking.ask(form.body(NewExport), request.principal), toast="Export started."
            )
        except AutotuneError as exc:
            form.refuse(exc)
        else:
            acting.concerns("exports", "create", export.public_id)
            return redirect("export", export.pk)
    return _render_form(request, form, 400)


def _render_form(request: PageRequest, form: ExportForm, status: int) -> HttpResponse:
    preview = _preview(request, form)
    context = {
        "title": "New export",
        "crumbs": navigation.crumbs(("Exports", reverse("exports"))),
        "form": form,
        "preview": preview,
        "too_many": _too_many(form, preview),
        "layouts": words.LAYOUTS.values(),
        "models": choices.models(request.principal),
        "sent": request.method == "POST",
    }
    response = render(request, "exports/new.html", context, status=status)
    if request.headers.get("HX-Request"):
        response["HX-Replace-Url"] = f"{reverse('export_new')}?{urlencode(_address_parameters(form))}".rstrip("?")
    return response


def _preview(request: PageRequest, form: ExportForm) -> ExportPreview | None:
    """Return the preview, or None if the form is invalid; then it shows the errors.

    The audit log stores the task and how many rows were shown.
    """
    if not form.is_valid():
        return None
    try:
        body = form.body(NewExport)
        preview = previews.build_preview(body, request.principal)
    except AutotuneError as exc:
        form.refuse(exc)
        return None
    current_call.about(str(body.task_id or ""), objects_count=len(preview.sample))
    return preview


def _too_many(form: ExportForm, preview: ExportPreview | None) -> bool:
    """Return whether the rows are too many for one JSON object."""
    rows = preview.rows if preview else None
    return rows is not None and form["format"].value() == "json" and rows.value > json.MAX_RECORDS


def _address_parameters(form: ExportForm) -> dict[str, str]:
    """Return the form's values as parameters for its address, without empty values and defaults."""
    values = {form.add_prefix(name): str(form.data.get(form.add_prefix(name), "")) for name in form.fields}
    return {
        name: "true" if value == "on" else value for name, value in values.items() if value and value != FIRST.get(name)
    }
