"""Seal audit events: give each the next number of its chain, and a digest that covers the event before it.

Only one process of the installation seals at a time. An event that was inserted or altered by other means has a wrong
mac: it stays unsealed, and the log names it.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q, QuerySet

from autotune.access.audit import macs
from autotune.access.models import AuditChain, AuditEvent
from autotune.core.crypto.encryption import Undecryptable

logger = logging.getLogger(__name__)
Outcome = AuditEvent.Outcome
BATCH: Final = 2_000
LATE: Final = timedelta(seconds=10)  # an event that is unsealed for longer raises an alarm
INTERRUPTED_AFTER: Final = timedelta(minutes=10)  # longer than any work that waits for another server
LOCK: Final = 0x6175_6469_7400_0001


@dataclass(slots=True)
class SealingResult:
    """The result of a pass. refused: public ids of events with a wrong mac."""

    count: int = 0
    refused: Sequence[str] = ()


def seal() -> SealingResult:
    """Seal all unsealed events in bounded batches; do nothing if another process is sealing."""
    whole = SealingResult()
    if not AuditEvent.objects.filter(number=None).exists():
        return whole  # without a transaction, which would block the embedded engine's only writer
    refused: list[str] = []
    after: UUID | None = None
    while True:
        with transaction.atomic():
            if not _alone():
                break
            if after is None:
                _end_interrupted(datetime.now(UTC) - INTERRUPTED_AFTER)
            events = list(_waiting(after))
            bad = _seal(events)
        refused += bad
        whole.count += len(events) - len(bad)
        if len(events) < BATCH:
            break
        after = events[-1].id
    whole.refused = refused
    if refused:
        shown = ", ".join(refused[:10])
        logger.error("audit: %d events were not written by this service, or altered since: %s", len(refused), shown)
    return whole


def unsealed() -> QuerySet[AuditEvent]:
    """Return the events that wait for their seal; calls in progress are not among them."""
    return AuditEvent.objects.filter(number=None).exclude(outcome=Outcome.OPEN)


def oldest_unsealed() -> datetime | None:
    """Return the time of the oldest event that waits for its seal; None if none waits."""
    return unsealed().order_by("id").values_list("at", flat=True).first()


def warn_of_late(now: datetime) -> None:
    """Log an error if an event has waited too long for its seal."""
    oldest = oldest_unsealed()
    if oldest is not None and now - oldest > LATE:
        logger.error("audit: an event of %s is not sealed yet", oldest.isoformat(timespec="seconds"))


def _alone() -> bool:
    """Return whether only this process may seal until the transaction ends. The embedded engine has one writer."""
    if connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        cursor.execute("select pg_try_advisory_xact_lock(%s)", [LOCK])
        return bool(cursor.fetchone()[0])


def _end_interrupted(before: datetime) -> None:
    """Mark calls as interrupted that never ended because their process did."""
    for event in AuditEvent.objects.filter(number=None, outcome=Outcome.OPEN, at__lt=before).order_by("id")[:BATCH]:
        try:
            key = macs.key_of(event.chain)
        except Undecryptable:
            continue
        if not macs.fits(key, event):
            continue  # stays open, so that verification finds it
        event.outcome = Outcome.INTERRUPTED
        still_open = AuditEvent.objects.filter(pk=event.pk, number=None, outcome=Outcome.OPEN)
        still_open.update(outcome=event.outcome, mac=macs.of_event(key, event))


def _waiting(after: UUID | None) -> QuerySet[AuditEvent]:
    events = unsealed().filter(Q() if after is None else Q(id__gt=after)).order_by("id")
    return events.select_for_update(skip_locked=connection.vendor == "postgresql")[:BATCH]


def _seal(events: Sequence[AuditEvent]) -> list[str]:
    """Seal the events with a valid mac, and return the public ids of the others."""
    heads = {head.chain: head for head in AuditChain.objects.filter(chain__in={event.chain for event in events})}
    refused: list[str] = []
    sealed: list[AuditEvent] = []
    now = datetime.now(UTC)
    for event, key in _with_keys(events):
        if key is None or not macs.fits(key, event):
            refused.append(event.public_id)
            continue
        head = heads.setdefault(event.chain, AuditChain(chain=event.chain, number=0, digest=macs.GENESIS))
        event.number = head.number + 1
        event.digest = macs.of_place(key, bytes(head.digest), event.number, bytes(event.mac))
        head.number, head.digest, head.sealed_at = event.number, event.digest, now
        sealed.append(event)
    if sealed:
        _save(sealed)
        moved = [heads[chain] for chain in {event.chain for event in sealed}]
        AuditChain.objects.bulk_create(
            moved,
            update_conflicts=True,
            unique_fields=["chain"],
            update_fields=["number", "digest", "sealed_at"],
        )
    return refused


def _with_keys(events: Sequence[AuditEvent]) -> Iterator[tuple[AuditEvent, bytes | None]]:
    """Yield each event with its chain's key, or with None if the key cannot be decrypted."""
    keys: dict[UUID, bytes | None] = {}
    for event in events:
        if event.chain not in keys:
            try:
                keys[event.chain] = macs.key_of(event.chain)
            except Undecryptable as exc:
                logger.error("audit: the chain %s cannot be sealed: %s", event.chain, exc)
                keys[event.chain] = None
        yield event, keys[event.chain]


def _save(events: Sequence[AuditEvent]) -> None:
    """Write the numbers and digests in one statement."""
    if connection.vendor == "postgresql":
        parameters: list[Any] = [
            [event.id for event in events],
            [event.number for event in events],
            [event.digest for event in events],
        ]
        source = "unnest(%s::uuid[], %s::bigint[], %s::bytea[]) as sealed (id, number, digest)"
        columns = "sealed.id", "sealed.number", "sealed.digest"
    else:
        parameters = [value for event in events for value in (event.id.hex, event.number, event.digest)]
        source = f"(values {', '.join(['(%s, %s, %s)'] * len(events))}) as sealed"
        columns = "sealed.column1", "sealed.column2", "sealed.column3"
    with connection.cursor() as cursor:
        cursor.execute(
            f"update access_auditevent set number = {columns[1]}, digest = {columns[2]} from {source} "  # noqa: S608 - our own names
            f"where access_auditevent.id = {columns[0]} and access_auditevent.number is null",
            parameters,
        )
