"""The API endpoints of export jobs."""

from uuid import UUID

from django.http.response import HttpResponseBase
from rest_framework.request import Request

from autotune.access.views import ApiView, find, find_for
from autotune.core import clock
from autotune.core.api import pagination
from autotune.core.api.operations import OperationView, operation
from exports.files import downloads, links, serving
from exports.formats import MEDIA_TYPES
from exports.models import Export
from exports.work import asking, ending
from exports.work.requests import DownloadQuery, ExportListQuery, NewExport, NewLink
from exports.work.responses import ExportAnswer, ExportPage, LinkOut, export_out, with_files

RESOURCE = asking.RESOURCE
ORDER = pagination.SortOrder("exports", {"createdAt": "id"})  # ids are UUIDv7: their order is that of creation
WHAT = "export"


class ExportsView(ApiView):
    @operation(
        summary="List export jobs", resource=RESOURCE, action="read", query=ExportListQuery, answers={200: ExportPage}
    )
    def get(self, request: Request, query: ExportListQuery) -> ExportPage:
        """List export jobs, the newest first. The list omits exports that read more widely than the caller may."""
        exports = Export.objects.visible_to(self.principal).defer("file_key")
        if query.status is not None:
            exports = exports.filter(status=query.status)
        rows, page = pagination.page(exports, query, ORDER, owner=self.principal.organization.pk)
        return ExportPage([export_out(row) for row in rows], page)

    @operation(
        summary="Export scored completions to files", resource=RESOURCE, action="create", body=NewExport,
        answers={202: ExportAnswer}, errors=(409,),
    )  # fmt: skip
    def post(self, request: Request, body: NewExport) -> ExportAnswer:
        """Run the export in the background, in parts of 100,000 rows or 256 MiB, whichever comes first. It has the
        permissions of the person and key at that time. An organization runs two at a time; more than twenty
        unfinished ones are rejected with 409 `too_many_exports`."""
        return ExportAnswer(export_out(asking.ask(body, self.principal)))


class ExportJobView(ApiView):
    @operation(summary="Read an export job", resource=RESOURCE, action="read", answers={200: ExportAnswer})
    def get(self, request: Request, export_id: UUID) -> ExportAnswer:
        return with_files(find(Export.objects.visible_to(self.principal).defer("file_key"), export_id, WHAT))


class ExportCancelView(ApiView):
    @operation(
        summary="Cancel an export job", resource=RESOURCE, action="update", answers={200: ExportAnswer}, errors=(409,)
    )
    def post(self, request: Request, export_id: UUID) -> ExportAnswer:
        """Cancel an unfinished export and delete its parts. For an export that has ended: 409 `export_over`."""
        export = find_for(Export.objects.defer("file_key"), self.principal, export_id, "update", WHAT)
        return with_files(ending.cancel(export.pk))


class ExportDownloadView(ApiView):
    @operation(
        summary="Download the files of an export", resource=RESOURCE, action="read", query=DownloadQuery,
        answers={200: None, 206: None, 304: None}, errors=(409, 410, 416), produces=MEDIA_TYPES,
    )  # fmt: skip
    def get(self, request: Request, export_id: UUID, query: DownloadQuery) -> HttpResponseBase:
        """Return the file, or without `file` all data files of JSON Lines or TFRecord concatenated; those of Parquet
        are downloaded one by one. `Range`, `If-Range` and `If-None-Match` are supported, so that a client can resume
        a download; the `ETag` of a single file is its SHA-256. 409 `export_unfinished`, 410 `export_expired` or
        `export_withdrawn` if there are no files."""
        export = find(Export.objects.visible_to(self.principal), export_id, WHAT)
        return serving.respond(request._request, downloads.find(export, query.file))


class ExportLinksView(ApiView):
    @operation(
        summary="Make a link to a file of an export", resource=RESOURCE, action="read", body=NewLink, needs_body=False,
        answers={201: LinkOut}, errors=(409, 410), secrets=("url",),
    )  # fmt: skip
    def post(self, request: Request, export_id: UUID, body: NewLink) -> LinkOut:
        """The link works without a key, for downloads by other programs, until it expires or its creator may no longer
        read the export."""
        export = find(Export.objects.visible_to(self.principal), export_id, WHAT)
        url, until = links.make(export, body.file, self.principal, body.expires_in_s)
        return LinkOut(url, clock.wire(until))


class LinkView(OperationView):
    authentication_classes = ()
    permission_classes = ()

    @operation(
        summary="Download by a link", answers={200: None, 206: None, 304: None}, errors=(403, 410, 416),
        produces=MEDIA_TYPES,
    )  # fmt: skip
    def get(self, request: Request, token: str) -> HttpResponseBase:
        """Works like a download with a key: 410 `link_expired` after it expires, 403 once its creator loses access."""
        return serving.respond(request._request, links.follow(token))
