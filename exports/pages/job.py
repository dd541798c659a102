"""The page of an export: its progress, its files and how to download them, and why it ended."""

from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from autotune.access import policy
from autotune.access.frame import acting, navigation
from autotune.access.frame.acting import AutotuneError
from autotune.access.frame.entry import PageRequest, page
from autotune.access.views import find, find_for
from autotune.core import clock
from autotune.core.pages.forms import BodyForm
from exports.files import links
from exports.models import Export, ExportFile
from exports.pages import commands, listing, words
from exports.reading import left_out
from exports.states import UNFINISHED, ExportStatus, FileKind
from exports.work import ending, responses
from exports.work.requests import NewLink
from graders.models import Grader
from scores.results import names as results_names
from tasks.models import Task

WHAT = "export"
PERIODS = [("3600", "an hour"), ("86400", "a day"), (str(links.MOST_S), "a week")]


class LinkForm(BodyForm):
    """The form of `POST /exports/:id/links`."""

    file = forms.ChoiceField(label="File", required=False)
    expires_in_s = forms.TypedChoiceField(label="Valid for", choices=PERIODS, coerce=int)

    def __init__(self, files: list[ExportFile], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["file"].choices = [("", "All rows"), *((file.name, file.name) for file in files)]  # type: ignore[attr-defined]


@page(("exports", "read"))
def export(request: PageRequest, export_id: UUID) -> HttpResponse:
    export = _find_export(request, export_id)
    return _render_page(request, export)


@page(("exports", "update"), methods=("POST",))
def cancel(request: PageRequest, export_id: UUID) -> HttpResponse:
    export = find_for(Export.objects.defer("file_key"), request.principal, export_id, "update", WHAT)
    acting.concerns("exports", "update", export.public_id)
    acting.attempt(request, lambda: ending.cancel(export.pk), toast="The export was cancelled.")
    return redirect("export", export.pk)


@page(("exports", "read"), methods=("POST",))
def link(request: PageRequest, export_id: UUID) -> HttpResponse:
    """Create a link. Only this response shows it."""
    export = _find_export(request, export_id)
    acting.concerns("exports", "read", export.public_id)
    form = LinkForm(_files(export), request.POST)
    if form.is_valid():
        try:
            body = form.body(NewLink)
            url, until = acting.do(request, lambda: links.make(export, body.file, request.principal, body.expires_in_s))
        except AutotuneError as exc:
            form.refuse(exc)
        else:
            return _render_page(request, export, link={"url": url, "until": until})
    return _render_page(request, export, form=form, status=400)


def _find_export(request: PageRequest, export_id: UUID) -> Export:
    export: Export = find(Export.objects.visible_to(request.principal).select_related("created_by"), export_id, WHAT)
    return export


def _render_page(
    request: PageRequest,
    export: Export,
    *,
    form: LinkForm | None = None,
    link: dict[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    """Render the page. `link` is shown only once, when it is new."""
    (row,) = listing.rows_of([export], request.principal)
    files = _files(export)
    data = [file for file in files if file.kind == FileKind.DATA]
    is_past = export.status == ExportStatus.COMPLETED and _is_past(export)
    state = ExportStatus.EXPIRED if is_past else ExportStatus(export.status)
    ready = state == ExportStatus.COMPLETED
    context = {
        "title": f"Export: {row.layout.title}",
        "crumbs": navigation.crumbs(("Exports", reverse("exports"))),
        "row": row,
        "export": export,
        "state": state,
        "why": words.OVER.get(state, ""),
        "advice": words.ADVICE.get(export.error_code, ""),
        "selection": _describe_query(request, export),
        "parts": ExportFile.objects.filter(export=export, kind=FileKind.DATA).count() if row.running else len(data),
        "percent": responses.progress(export) * 100,
        "files": files if ready else [],
        "joined": len(data) == 1 or export.query.get("format", "jsonl") in ("jsonl", "tfrecord"),
        "facts": (export.metadata or {}).get("scoreDistribution"),
        "left_out": export.left_out,
        "left_out_reasons": left_out.sentences(
            left_out.by_reason(export.left_out, export.left_out_by_reason), row.layout.name
        ),
        "commands": commands.of(export, data) if ready and data else [],
        "form": form or LinkForm(files, initial={"expires_in_s": "3600"}),
        "link": link,
        "download": f"/api/v1/exports/{export.public_id}/download",
        "may_cancel": row.running and policy.reach(request.principal, "exports", "update") is not None,
        "may_create": policy.reach(request.principal, "exports", "create") is not None,
    }
    return render(request, "exports/job.html", context, status=status)


def _files(export: Export) -> list[ExportFile]:
    """Return the files of a completed export in the order of the API."""
    if export.status in UNFINISHED:
        return []
    files = ExportFile.objects.filter(export=export).order_by("kind", "number").defer("values", "facts")
    return list(files) if export.status == ExportStatus.COMPLETED else []


def _is_past(export: Export) -> bool:
    """Return whether the storage period is over, even if the cleanup job has not deleted the files yet."""
    return export.expires_at is not None and export.expires_at <= clock.database_now()


def _describe_query(request: PageRequest, export: Export) -> list[tuple[str, str]]:
    """Describe the export's query, with the names of the tasks and graders that the principal may see."""
    query, principal = export.query, request.principal
    names = results_names.names_of("task", Task.objects.visible_to(principal), {query.get("taskId", "")})
    names |= results_names.names_of("grader", Grader.objects.visible_to(principal), {query.get("graderId", "")})
    return words.describe_query(query, names)
