"""Fan out events: render the body of each, and create a delivery for each endpoint that is subscribed at that moment.

A group of events takes one short transaction. Concurrent processes share the rows: each skips those that another has
locked.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db import DatabaseError, connection, transaction

from autotune.core import clock, ecmajson
from autotune.core.crypto.encryption import MasterKeyMissing, Undecryptable, cipher_for
from autotune.core.crypto.fields import encrypted
from autotune.webhooks.events import payloads
from autotune.webhooks.events.payloads import Data
from autotune.webhooks.models import Delivery, Event, Webhook
from autotune.webhooks.states import EventKind

logger = logging.getLogger(__name__)
AT_ONCE = 200
_BODY = encrypted(Event, "body")
_MARK = "update webhooks_event set body = %s, fanned_out_at = %s where id = %s"
_MARK_ALL = """
update webhooks_event e set body = x.body, fanned_out_at = %s
from unnest(%s::bytea[], %s::uuid[]) as x(body, id) where e.id = x.id
"""


def fan_out(limit: int = AT_ONCE) -> int:
    """Fan out the next events, the oldest first, and return how many there were; 0 when no more are due."""
    with transaction.atomic():
        due = Event.objects.filter(fanned_out_at=None).order_by("pk").select_for_update(skip_locked=True)
        events = list(due[:limit])
        if events:
            _fan_out(events, clock.database_now())
    return len(events)


def _fan_out(events: Sequence[Event], now: datetime) -> None:
    subscribers = _subscribers(events)
    subscribed = [event for event in events if subscribers[event.pk]]
    bodies = _bodies(subscribed)
    Delivery.objects.bulk_create(
        Delivery(webhook=webhook, event=event, queued_at=now, next_at=now, created_at=now)
        for event in subscribed
        if event.pk in bodies
        for webhook in subscribers[event.pk]
    )
    _store(events, bodies, now)


def body(event: Event, data: Data) -> bytes:
    """Return the payload `{event, data, timestamp}`, with the time of the event: every attempt sends the same bytes.

    It is the text that ECMAScript's JSON.stringify would write, as in requests to graders. A receiver that has only
    the parsed body may therefore serialize it again, and check the signature over that.

    raises  TypeError for data that is not made of plain JSON values
    """
    return ecmajson.dumps({"event": str(event.kind), "data": data, "timestamp": clock.wire(event.created_at)})


def _subscribers(events: Sequence[Event]) -> Mapping[UUID, list[Webhook]]:
    """Return the endpoints of each event."""
    by_organization: dict[UUID, list[Webhook]] = defaultdict(list)
    organization_ids = {event.organization_id for event in events}
    for webhook in Webhook.objects.active().filter(organization_id__in=organization_ids).order_by("pk"):
        by_organization[webhook.organization_id].append(webhook)
    owners = _owners(events) if any(hook.own_only for hooks in by_organization.values() for hook in hooks) else {}

    def concerns(webhook: Webhook, event: Event) -> bool:
        if event.kind not in webhook.events:
            return False
        is_limited = webhook.own_only and EventKind(event.kind) in payloads.OWNED
        return not is_limited or (event.subject_id and owners.get(event.subject_id)) == webhook.created_by_id

    return {
        event.pk: [webhook for webhook in by_organization[event.organization_id] if concerns(webhook, event)]
        for event in events
    }


def _owners(events: Sequence[Event]) -> Mapping[UUID, UUID]:
    owners: dict[UUID, UUID] = {}
    for kind, subjects in _subjects(event for event in events if EventKind(event.kind) in payloads.OWNED).items():
        owners |= payloads.owners(kind, subjects)
    return owners


def _bodies(events: Sequence[Event]) -> Mapping[UUID, bytes]:
    """Return the payload of each event; events whose subject is gone are left out."""
    stored = {event.pk: _stored_data(event) for event in events}
    rendered: dict[tuple[str, UUID | None], Data] = {}
    for kind, subjects in _subjects(event for event in events if stored[event.pk] is None).items():
        for subject, payload in _render(kind, subjects).items():
            rendered[kind, subject] = payload
    bodies = {}
    for event in events:
        data = stored[event.pk]
        if data is None:
            data = rendered.get((event.kind, event.subject_id))
        if data is not None:
            bodies[event.pk] = body(event, data)
    return bodies


def _stored_data(event: Event) -> Data | None:
    """Return the data that was stored with the event; None if there is none or it cannot be read."""
    try:
        return event.data
    except MasterKeyMissing:
        raise
    except Undecryptable:
        logger.warning("the data of %s cannot be read; it is dropped", event)
        return None


def _subjects(events: Iterable[Event]) -> Mapping[EventKind, list[UUID]]:
    by_kind: dict[EventKind, dict[UUID, None]] = defaultdict(dict)
    for event in events:
        if event.subject_id is not None:
            by_kind[EventKind(event.kind)][event.subject_id] = None
    return {kind: list(subjects) for kind, subjects in by_kind.items()}


def _render(kind: EventKind, subjects: Sequence[UUID]) -> Mapping[UUID, Data]:
    """Render all subjects at once; one by one if that fails, so that a damaged subject does not block the others."""
    try:
        with transaction.atomic():
            return payloads.render(kind, subjects)
    except (DatabaseError, MasterKeyMissing):
        raise
    except Exception:
        if len(subjects) == 1:
            logger.exception("the event %s about %s cannot be rendered and is dropped", kind.value, subjects[0])
            return {}
    rendered: dict[UUID, Data] = {}
    for subject in subjects:
        rendered.update(_render(kind, [subject]))
    return rendered


def _store(events: Sequence[Event], bodies: Mapping[UUID, bytes], now: datetime) -> None:
    """Store the encrypted bodies, and mark the events as fanned out."""
    ciphers = {pk: cipher_for(pk) for pk in {event.organization_id for event in events if event.pk in bodies}}
    sealed = [
        _BODY.envelope(ciphers[event.organization_id], event.pk, bodies[event.pk].decode())
        if event.pk in bodies
        else None
        for event in events
    ]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(_MARK_ALL, [now, sealed, [event.pk for event in events]])
        else:
            moment = Event._meta.get_field("fanned_out_at").get_db_prep_save(now, connection)
            rows = zip(sealed, events, strict=True)
            cursor.executemany(_MARK, [(ciphertext, moment, event.pk.hex) for ciphertext, event in rows])
