"""Querysets of audit events, limited to a principal and by filters."""

from datetime import datetime
from typing import Any
from uuid import UUID

from autotune.access import policy
from autotune.access.audit.reading import actors
from autotune.access.audit.requests import AuditEventFilter, AuditEventQuery
from autotune.access.models import AuditEvent
from autotune.access.models.audit import VIEW, IsChange
from autotune.access.policy import ScopedQuerySet
from autotune.access.principal import Principal
from autotune.core import ids
from autotune.core.clock import parse_filter
from autotune.core.errors import Invalid

RESOURCE = "audit"
SLACK = 1_000 << 80  # a second, in ids: an event gets its id and its time at slightly different moments


class AuditEventQuerySet(ScopedQuerySet):
    """Audit events, scoped by chain to use its index. Only the scope `all` reads events of no organization."""

    resource = RESOURCE
    organization_path = "chain"
    owner_path = "user_id"


def visible_to(principal: Principal) -> AuditEventQuerySet:
    """Return the events that the principal may read."""
    return policy.scope(AuditEventQuerySet(AuditEvent), principal, RESOURCE, "read")


def chosen(principal: Principal, query: AuditEventFilter | AuditEventQuery) -> AuditEventQuerySet:
    """Return the visible events that the filters select.

    raises Invalid for an invalid date
    """
    events = visible_to(principal)
    if query.actor is not None:
        events = events.filter(**_actor(query.actor))
    if query.kind == "changes":
        events = events.filter(IsChange("action"))
    elif query.kind == "views":
        events = events.filter(action__endswith=VIEW)
    if query.person is not None:
        events = events.filter(actors.matching(principal, query.person, changes=query.kind == "changes"))
    for name in ("action", "resource", "object_id", "outcome"):
        value = getattr(query, name)
        if value is not None:
            events = events.filter(**{name: value})
    # The ids contain the time too, and have the index; `at` is exact.
    if query.start_date is not None:
        start = _moment("startDate", query.start_date, end=False)
        events = events.filter(id__gte=UUID(int=max(0, ids.first_of(start).int - SLACK)), at__gte=start)
    if query.end_date is not None:
        end = _moment("endDate", query.end_date, end=True)
        events = events.filter(id__lt=UUID(int=ids.first_of(end).int + SLACK), at__lt=end)
    return events


def _actor(text: str) -> dict[str, Any]:
    """Return the filter for a person's or key's id, or else for the actor's displayed name."""
    for kind, column in (("user", "user_id"), ("key", "key_id")):
        try:
            return {column: ids.decode(kind, text)}
        except ValueError:
            continue
    return {"actor": text}


def _moment(name: str, text: str, *, end: bool) -> datetime:
    try:
        return parse_filter(text, end=end)
    except ValueError:
        raise Invalid.field(f"?{name}", "invalid_date", "give a date or a date-time of ISO 8601.") from None
