"""The API responses of the audit log."""

from autotune.access.models import AuditEvent
from autotune.core import ids
from autotune.core.api.operations import ApiStruct
from autotune.core.api.pagination import Pagination
from autotune.core.clock import wire


class AuditEventOut(ApiStruct):
    """One event. `organizationId` is null if it belongs to no organization, `number` and `digest` until it is sealed.

    `fields` are the names of the members that were set or changed, never their values; `route` is a pattern.
    """

    id: str
    at: str
    organization_id: str | None
    actor: str
    user_id: str | None
    key_id: str | None
    action: str
    resource: str
    object_id: str | None
    objects_count: int | None
    fields: list[str] | None
    method: str | None
    route: str | None
    address: str | None
    outcome: str
    status: int | None
    code: str | None
    request_id: str | None
    number: int | None
    digest: str | None


class AuditEventAnswer(ApiStruct):
    audit_event: AuditEventOut


class AuditEventList(ApiStruct):
    """`total` is always null: counting a long audit log would take longer than reading a page of it."""

    audit_events: list[AuditEventOut]
    pagination: Pagination


def event_out(event: AuditEvent) -> AuditEventOut:
    return AuditEventOut(
        id=event.public_id,
        at=wire(event.at),
        organization_id=ids.encode("org", event.organization_id) if event.organization_id else None,
        actor=event.actor,
        user_id=ids.encode("user", event.user_id) if event.user_id else None,
        key_id=ids.encode("key", event.key_id) if event.key_id else None,
        action=event.action,
        resource=event.resource,
        object_id=event.object_id or None,
        objects_count=event.objects_count,
        fields=event.fields,
        method=event.method or None,
        route=event.route or None,
        address=event.address,
        outcome=event.outcome,
        status=event.status,
        code=event.code or None,
        request_id=event.request_id or None,
        number=event.number,
        digest=bytes(event.digest).hex() if event.digest is not None else None,
    )
