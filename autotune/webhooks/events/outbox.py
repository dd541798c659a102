"""The outbox: events are rows, written in the transaction of the change that they report.

A change that rolls back emits nothing, and a process that dies after the commit loses nothing: the pump finds the rows.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from autotune.webhooks.models import Event, Webhook
from autotune.webhooks.states import EventKind


class EmittedEvent(NamedTuple):
    """One event of one organization. Its data is stored with it, or made from its subject at fan-out."""

    organization_id: UUID
    subject_id: UUID | None = None
    data: dict[str, Any] | None = None


def emit(kind: EventKind, entries: Sequence[EmittedEvent]) -> None:
    """Write the events that have a subscriber, in the caller's transaction, by two queries for any number of events."""
    listening = _listening(kind, {entry.organization_id for entry in entries})
    subscribed = [entry for entry in entries if entry.organization_id in listening]
    if subscribed:
        Event.objects.bulk_create(
            Event(
                organization_id=entry.organization_id,
                kind=kind,
                subject_id=entry.subject_id,
                data=entry.data,
            )
            for entry in subscribed
        )


def _listening(kind: EventKind, organizations: set[UUID]) -> set[UUID]:
    """Return the organizations that have an active webhook for this kind."""
    if not organizations:
        return set()
    webhooks = (
        Webhook.objects.active().filter(organization_id__in=organizations).values_list("organization_id", "events")
    )
    return {organization for organization, events in webhooks if kind in events}
