"""Build an example payload of each kind of event, about invented objects, in the same way as real payloads."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

import msgspec

from autotune.webhooks.events import fanout, payloads
from autotune.webhooks.models import Event
from autotune.webhooks.states import EventKind


@dataclass(frozen=True, slots=True)
class EventExample:
    """`body` is indented to be read; what is sent has no spaces between its members."""

    kind: str
    body: str


def of(kinds: Iterable[str], organization_id: UUID) -> list[EventExample]:
    """Return an example of each kind that has one, in the order of `kinds`."""
    examples = []
    for kind in map(EventKind, kinds):
        data = payloads.example(kind, organization_id)
        if data is not None:
            body = fanout.body(Event(kind=kind, organization_id=organization_id), data)
            examples.append(EventExample(kind.value, msgspec.json.format(body, indent=2).decode()))
    return examples
