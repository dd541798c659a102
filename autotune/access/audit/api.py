"""The API endpoints of the audit log."""

from uuid import UUID

from django.http.response import HttpResponseBase
from rest_framework.request import Request

from autotune.access.audit import export, querysets, responses
from autotune.access.audit.requests import AuditEventQuery, AuditExportQuery
from autotune.access.views import ApiView, find
from autotune.core.api.operations import operation
from autotune.core.api.pagination import SortOrder, page

RESOURCE = querysets.RESOURCE
ORDER = SortOrder("audit-events", {"at": "id"}, default="-at")  # ids are UUIDv7: their order is that of time


class AuditEventsView(ApiView):
    @operation(
        summary="List audit events, the newest first", resource=RESOURCE, action="read", query=AuditEventQuery,
        answers={200: responses.AuditEventList},
    )  # fmt: skip
    def get(self, request: Request, query: AuditEventQuery) -> responses.AuditEventList:
        """Who did what in the caller's organization, from where, and with what outcome. A role with the scope `all`
        reads the events of every organization, and those that belong to none."""
        events = querysets.chosen(self.principal, query)
        rows, pagination = page(events, query, ORDER, owner=self.principal.organization.pk, counted=False)
        return responses.AuditEventList([responses.event_out(row) for row in rows], pagination)


class AuditEventView(ApiView):
    @operation(
        summary="Read an audit event", resource=RESOURCE, action="read", answers={200: responses.AuditEventAnswer},
    )  # fmt: skip
    def get(self, request: Request, event_id: UUID) -> responses.AuditEventAnswer:
        event = find(querysets.visible_to(self.principal), event_id, "audit event")
        return responses.AuditEventAnswer(responses.event_out(event))


class AuditExportView(ApiView):
    @operation(
        summary="Export audit events", resource=RESOURCE, action="read", query=AuditExportQuery, answers={200: None},
        produces=tuple(kind.partition(";")[0] for kind in export.MEDIA_TYPES.values()),
    )  # fmt: skip
    def get(self, request: Request, query: AuditExportQuery) -> HttpResponseBase:
        """A stream of events, the oldest first; an interrupted stream ends without its last chunk. In CSV, an
        apostrophe precedes text that a spreadsheet would run as a formula."""
        return export.respond(request._request, query, self.principal)
