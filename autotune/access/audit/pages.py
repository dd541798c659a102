"""Pages that list and show the events of the audit log."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from autotune.access import policy
from autotune.access.audit import querysets, responses, sealing
from autotune.access.audit.api import ORDER
from autotune.access.audit.reading import choices, object_names, sentences
from autotune.access.audit.reading.object_names import ObjectLink
from autotune.access.audit.requests import AuditEventQuery
from autotune.access.frame import places
from autotune.access.frame.entry import PageRequest, page
from autotune.access.models import AuditEvent, Organization
from autotune.access.models.audit import INSTALLATION, AuditChain
from autotune.access.principal import Principal
from autotune.access.views import find
from autotune.core import ids
from autotune.core.api.pagination import page as cut
from autotune.core.errors import Invalid
from autotune.core.pages import listing

FILTERS = ("actor", "person", "action", "resource", "objectId", "kind", "outcome", "startDate", "endDate")
KINDS = (("changes", "Changes"), ("views", "Views"), ("all", "Changes and views"))
EXPORT = "/api/v1/audit-events/export"


@dataclass(frozen=True, slots=True)
class AuditEventRow:
    """An event as the list shows it."""

    event: AuditEvent
    description: str
    link: ObjectLink | None
    whose: str


@dataclass(frozen=True, slots=True)
class KindChoice:
    """A kind of events to switch to, which keeps the other filters."""

    name: str
    label: str
    address: str
    chosen: bool


@page(("audit", "read"))
def every(request: PageRequest) -> HttpResponse:
    """List the audit events, the newest first: only changes, unless the address asks for views too."""
    principal = request.principal
    list_request = listing.read(request, AuditEventQuery)
    kind = list_request.query.kind = list_request.query.kind or "changes"
    rows, pagination = _rows(principal, list_request)
    parameters = {
        name: list_request.form_values[name]
        for name in FILTERS
        if list_request.form_values.get(name) and name not in list_request.faults
    }
    parameters["kind"] = kind
    context = {
        "title": "Audit",
        "crumbs": places.crumbs(),
        "rows": _shown(principal, rows),
        "asked": list_request,
        "pager": listing.pager(pagination, len(rows)),
        "outcomes": AuditEvent.Outcome.values,
        "resources": choices.resource_choices(),
        "actions": choices.action_choices(),
        "kinds": [KindChoice(name, label, _address(parameters, name), name == kind) for name, label in KINDS],
        "subject": _subject(principal, parameters.get("objectId", "")),
        "exports": {kind: f"{EXPORT}?{urlencode({**parameters, 'format': kind})}" for kind in ("jsonl", "csv")},
        "chain": _chain(principal.organization.pk),
        "everywhere": policy.reach(principal, "audit", "read") == "all",
        "public": ids.encode("org", principal.organization.pk),
    }
    return render(request, "access/audit/events.html", context, status=400 if list_request.faults else 200)


@page(("audit", "read"))
def show_event(request: PageRequest, event_id: UUID) -> HttpResponse:
    """Show everything that an event records."""
    event: AuditEvent = find(querysets.visible_to(request.principal), event_id, "audit event")
    context = {
        "title": f"{event.actor} {sentences.describe(event)}"[:300],
        "crumbs": places.crumbs(("Audit", reverse("audit"))),
        "event": event,
        "out": responses.event_out(event),
        "link": object_names.links(request.principal, [event.object_id]).get(event.object_id),
        "chain": _chain(event.chain),
    }
    return render(request, "access/audit/event.html", context)


def _rows(principal: Principal, list_request: listing.ListRequest[AuditEventQuery]) -> tuple[list[Any], Any]:
    """Return the page that the filters select; an invalid date is reported, and does not filter."""
    query = list_request.query
    while True:
        try:
            events = querysets.chosen(principal, query)
            return cut(events, query, ORDER, owner=principal.organization.pk, counted=False)
        except Invalid as exc:
            name = exc.errors[0].pointer.lstrip("?")
            column = {"startDate": "start_date", "endDate": "end_date"}.get(name, name)
            if name in list_request.faults or getattr(query, column, None) is None:
                raise
            list_request.faults[name] = exc.errors[0].detail
            setattr(query, column, 0 if column == "offset" else None)


def _address(parameters: dict[str, str], kind: str) -> str:
    return f"{reverse('audit')}?{urlencode({**parameters, 'kind': kind})}"


def _subject(principal: Principal, object_id: str) -> str:
    """Return the name of the object that the filters select, or else its id; '' for no such filter."""
    link = object_names.links(principal, [object_id]).get(object_id)
    return (link.name if link else "") or object_id


def _shown(principal: Principal, rows: list[AuditEvent]) -> list[AuditEventRow]:
    foreign = {row.organization_id for row in rows if row.organization_id} - {principal.organization.pk}
    names = dict(Organization.objects.filter(pk__in=foreign).values_list("pk", "name")) if foreign else {}
    object_links = object_names.links(principal, (row.object_id for row in rows))
    return [
        AuditEventRow(
            row,
            sentences.describe(row),
            object_links.get(row.object_id),
            names.get(row.organization_id, "") if row.organization_id else "the installation",
        )
        for row in rows
    ]


def _chain(chain: UUID) -> dict[str, Any]:
    """Return how far a chain is sealed, and how many events wait for their seal."""
    head = AuditChain.objects.filter(chain=chain).first()
    waiting = sealing.unsealed().filter(chain=chain)[:1_000].count()
    return {
        "number": head.number if head else 0,
        "sealed_at": head.sealed_at if head else None,
        "digest": bytes(head.digest).hex() if head else "",
        "waiting": waiting,
        "name": "installation" if chain == INSTALLATION else ids.encode("org", chain),
    }
