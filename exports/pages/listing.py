"""The page that lists exports."""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render

from autotune.access import policy
from autotune.access.frame.entry import PageRequest, page
from autotune.access.frame.people import EmailAddresses
from autotune.access.principal import Principal
from autotune.core.api import pagination
from autotune.core.pages import listing
from exports.models import Export
from exports.pages import words
from exports.states import UNFINISHED, ExportStatus
from exports.work import responses
from exports.work.api import ORDER
from exports.work.requests import ExportListQuery
from scores.results import names as results_names
from tasks.models import Task


@dataclass(frozen=True, slots=True)
class ExportListRow:
    """An export as the list shows it; `again` is the address of the form with the same choices."""

    export: Export
    layout: words.LayoutChoice
    format: str
    task: str
    by: str
    progress: float
    running: bool
    again: str


@page(("exports", "read"))
def exports(request: PageRequest) -> HttpResponse:
    """List the exports, the newest first. The page reloads its rows while an export is unfinished."""
    list_request = listing.read(request, ExportListQuery)
    visible_exports = (
        Export.objects.visible_to(request.principal).defer("file_key", "metadata").select_related("created_by")
    )
    if list_request.query.status is not None:
        visible_exports = visible_exports.filter(status=list_request.query.status)
    page_exports, pages = pagination.page(
        visible_exports, list_request.query, ORDER, owner=request.principal.organization.pk
    )
    rows = rows_of(page_exports, request.principal)
    context = {
        "title": "Exports",
        "rows": rows,
        "asked": list_request,
        "pager": listing.pager(pages, len(rows)),
        "statuses": ExportStatus.values,
        "live": any(row.running for row in rows),
        "may_create": policy.reach(request.principal, "exports", "create") is not None,
    }
    return render(request, "exports/list.html", context)


def rows_of(exports: Iterable[Export], principal: Principal) -> list[ExportListRow]:
    """Build the rows of exports, with the names of tasks and creators that the principal may see."""
    page_exports = list(exports)
    names = EmailAddresses(principal, [export.created_by_id for export in page_exports])
    task_ids = {str(export.query["taskId"]) for export in page_exports if "taskId" in export.query}
    tasks = results_names.names_of("task", Task.objects.visible_to(principal), task_ids)
    return [
        ExportListRow(
            export=export,
            layout=words.layout_of(export.query),
            format=words.format_of(export.query),
            task=tasks.get(export.query.get("taskId", ""), export.query.get("taskId", "")),
            by=names.of(export.created_by_id),
            progress=responses.progress(export),
            running=export.status in UNFINISHED,
            again=urlencode(address_parameters(export)),
        )
        for export in page_exports
    ]


def address_parameters(export: Export) -> dict[str, str]:
    """Return the export's query as parameters for the address of the form."""
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in export.query.items()}
