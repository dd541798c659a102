"""Write audit events. Each is one INSERT in the current transaction; the sealing thread seals it a second later."""

import ipaddress
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache, partial
from threading import Lock
from typing import Final

from django.contrib.auth.models import AnonymousUser
from django.db import DatabaseError, connection
from django.http import HttpRequest

from autotune.access.audit import backlog, current_call, macs, request_subjects
from autotune.access.audit.current_call import AuditedCall
from autotune.access.models import ApiKey, AuditEvent, Organization, User
from autotune.access.models.audit import INSTALLATION
from autotune.access.principal import Principal
from autotune.core import connections, logs
from autotune.core.errors import Unavailable

logger = logging.getLogger(__name__)
outages = logs.repeating(__name__)
Outcome = AuditEvent.Outcome
ANONYMOUS: Final = "anonymous"
SYSTEM: Final = "system"
LOST: Final = "audit.lost"
COLUMNS: Final = tuple(AuditEvent._meta.concrete_fields)
UNWRITTEN: Final = "The audit log cannot be written, so nothing was done. Try again later."


def record(
    *,
    action: str,
    resource: str,
    organization: Organization | None = None,
    user: User | None = None,
    key: ApiKey | None = None,
    actor: str = "",
    object_id: str = "",
    objects_count: int | None = None,
    fields: Sequence[str] | None = None,
    outcome: str = Outcome.SUCCEEDED,
    code: str = "",
) -> AuditEvent:
    """Write the event of a command or job. A request needs no such call: the middleware writes its event.

    actor   a command's or job's name; without one the person's email, or `system`
    raises  Unavailable if it cannot be written: then nothing may be done
    """
    event = AuditEvent(
        chain=INSTALLATION if organization is None else organization.pk,
        organization_id=None if organization is None else organization.pk,
        user_id=None if user is None else user.pk,
        key_id=None if key is None else key.pk,
        actor=actor or (user.email if user else SYSTEM),
        action=action,
        resource=resource,
        object_id=object_id,
        objects_count=objects_count,
        fields=None if fields is None else list(fields),
        outcome=outcome,
        code=code,
        at=datetime.now(UTC),
    )
    if (call := current_call.current()) is not None:
        event.request_id, event.address = _request_id(call.request), call.address
    required(event)
    return event


def required(event: AuditEvent) -> None:
    """Write an event without which its work must not be done.

    raises  Unavailable if it cannot be written
    """
    try:
        insert(event)
    except DatabaseError as exc:
        outages.error("audit: %s could not be recorded, so it was not done: %s", event.action, exc)
        raise Unavailable(UNWRITTEN) from exc


def written(call: AuditedCall, status: int, code: str = "") -> None:
    """Write the event of a call into the transaction of its work, once that is done.

    raises  Unavailable if it cannot be written, which rolls the work back
    """
    if call.event is None:
        required(event_of(call, status=status, code=code))
        call.recorded = status


def within(status: int, code: str = "") -> None:
    """Write the event of the current call as `written` does; do nothing outside of a call."""
    if (call := current_call.current()) is not None:
        written(call, status, code)


def opened(call: AuditedCall) -> None:
    """Write the event of a call before its work, if that waits for other servers or makes its own transactions.

    raises  Unavailable if it cannot be written
    """
    if call.event is None:
        event = event_of(call, outcome=Outcome.OPEN)
        required(event)
        call.event = event


def closed(call: AuditedCall, status: int | None, code: str = "") -> None:
    """Give an open event its outcome. An event that has one, or whose work was rolled back, keeps it."""
    event = call.event
    assert event is not None
    object_id = request_subjects.act_of(call.request)[1]
    event.action, event.resource = call.action or event.action, call.resource or event.resource
    event.object_id = call.object_id or event.object_id or object_id
    event.objects_count, event.fields = call.objects_count, call.fields
    event.outcome, event.status, event.code = outcome_of(call, status), status, code
    _close(event)


def _close(event: AuditEvent) -> None:
    event.mac = macs.of_event(macs.key_of(event.chain), event)
    names = ("action", "resource", "object_id", "objects_count", "fields", "outcome", "status", "code", "mac")
    still_open = AuditEvent.objects.filter(pk=event.pk, outcome=Outcome.OPEN, number=None)
    still_open.update(**{name: getattr(event, name) for name in names})


def noted(call: AuditedCall, status: int, code: str = "") -> None:
    """Write the event of a call that changed nothing, or the outcome of an open one. A failure never stops the call.

    While the database is away, the backlog keeps the event; a failure for any other reason raises an alarm.
    """
    write = None
    try:
        if call.event is not None:
            write = partial(_close, call.event)
            closed(call, status, code)
        else:
            event = event_of(call, status=status, code=code)
            write = partial(_insert_read, event)
            write()
        losses.report()
    except Exception as exc:  # noqa: BLE001 - nothing about its event may fail a read
        if write is not None and connections.is_away(exc) and unwritten.keep(write, exc):
            return
        losses.add()
        log = outages if connections.is_away(exc) else logger
        log.error("audit: an event could not be written: %s %s", type(exc).__name__, exc)


def _insert_read(event: AuditEvent) -> None:
    insert(event, may_be_lost=True)


def event_of(call: AuditedCall, *, outcome: str = "", status: int | None = None, code: str = "") -> AuditEvent:
    """Return what is known of a call as an unsaved event."""
    request = call.request
    act, object_id = request_subjects.act_of(request)
    event = AuditEvent(
        actor=call.actor or ANONYMOUS,
        action=call.action or act.action,
        resource=call.resource or act.resource,
        object_id=call.object_id or object_id,
        objects_count=call.objects_count,
        fields=call.fields,
        method=(request.method or "")[:8],
        route=act.route[:200],
        address=call.address,
        outcome=outcome or outcome_of(call, status),
        status=status,
        code=code,
        request_id=_request_id(request),
        at=datetime.now(UTC),
    )
    principal = getattr(request, "auth", None)
    if isinstance(principal, Principal):
        event.organization_id = principal.organization.pk
        event.user_id = principal.user.pk
        event.key_id = principal.key.pk if principal.key else None
        event.actor = principal.user.email
    elif not call.actor and (user := call.user or _person_or_none(request)):
        event.user_id, event.actor = user.pk, user.email
    event.organization_id = call.organization_id or event.organization_id
    event.chain = event.organization_id or INSTALLATION
    return event


def outcome_of(call: AuditedCall, status: int | None) -> str:
    """Return the outcome of a call by its status. A form's page that answers 200 has rejected the input."""
    if status is None or status >= 500:
        return Outcome.FAILED
    if status >= 400 or call.refused:
        return Outcome.REFUSED
    form = call.request.method == "POST" and not call.request.path_info.startswith(request_subjects.API)
    return Outcome.REFUSED if form and status < 300 and not call.acted else Outcome.SUCCEEDED


def person_of(request: HttpRequest) -> User | None:
    """Who is logged in; without a session's cookie nobody looks."""
    user = getattr(request, "user", None) if request.COOKIES else None
    return user if user and not isinstance(user, AnonymousUser) and user.is_authenticated else None


def _person_or_none(request: HttpRequest) -> User | None:
    """Return the logged-in person; None while the database, which holds the sessions, is unavailable."""
    try:
        return person_of(request)
    except connections.ERRORS as exc:
        if not connections.is_away(exc):
            raise
        return None


def insert(event: AuditEvent, *, may_be_lost: bool = False) -> None:
    """Write an event with its mac.

    may_be_lost  a database server that crashes may lose the event, so that no read waits for the disk
    """
    event.mac = macs.of_event(macs.key_of(event.chain), event)
    values = [column.get_db_prep_save(getattr(event, column.attname), connection) for column in COLUMNS]
    statement = _insert()
    if may_be_lost and connection.vendor == "postgresql" and not connection.in_atomic_block:
        statement += " RETURNING set_config('synchronous_commit', 'off', true)"  # of this transaction, so in one go
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def address_of(request: HttpRequest) -> str | None:
    """Return a request's IP address in the database's notation; None without one."""
    try:
        ip = ipaddress.ip_address(request.META.get("REMOTE_ADDR", "").partition("%")[0])
    except ValueError:
        return None
    return str(getattr(ip, "ipv4_mapped", None) or ip)


@cache
def _insert() -> str:
    table = connection.ops.quote_name(AuditEvent._meta.db_table)
    columns = ", ".join(connection.ops.quote_name(str(column.column)) for column in COLUMNS)
    return f"INSERT INTO {table} ({columns}) VALUES ({', '.join(['%s'] * len(COLUMNS))})"  # noqa: S608 - names of the model


def _request_id(request: HttpRequest) -> str:
    return str(getattr(request, "request_id", ""))


class _Losses:
    """Counts the events that this process could not write, and records the number when the log is writable again."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._count = 0

    def add(self) -> None:
        with self._lock:
            self._count += 1

    def report(self) -> None:
        if not self._count:
            return
        with self._lock:
            count, self._count = self._count, 0
        try:
            lost = AuditEvent(
                chain=INSTALLATION,
                actor=SYSTEM,
                action=LOST,
                resource="audit",
                objects_count=count,
                outcome=Outcome.FAILED,
                at=datetime.now(UTC),
            )
            insert(lost)
        except DatabaseError:
            with self._lock:
                self._count += count


losses = _Losses()
unwritten = backlog.at_exit(backlog.AuditBacklog(lambda: losses.add()))
