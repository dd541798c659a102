"""Make the data of events. Higher apps register how, for their kinds: this app does not depend on them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from autotune.webhooks.states import EventKind, WebhookStatus

Data = dict[str, Any]
Render = Callable[[Sequence[UUID]], Mapping[UUID, Data]]
Owners = Callable[[Sequence[UUID]], Mapping[UUID, UUID]]
Example = Callable[[UUID], Data]

OWNED: Final = frozenset({EventKind.GRADER_STATUS_CHANGED})  # also open to people who read only their own objects
_renderers: dict[EventKind, Render] = {}
_owners: dict[EventKind, Owners] = {}
_examples: dict[EventKind, Example] = {}


def register(kind: EventKind, render: Render) -> None:
    """Register how fan-out makes the data of `kind` from subject ids. Events of missing subjects are dropped."""
    _renderers[kind] = render


def register_owners(kind: EventKind, owners: Owners) -> None:
    """Register who created the subjects of `kind`: a webhook with `own_only` receives only its creator's."""
    _owners[kind] = owners


def register_example(kind: EventKind, example: Example) -> None:
    """Register how to make the data of an event about invented objects in an organization.

    It uses the code that makes the real data, so that an example cannot differ from it.
    """
    _examples[kind] = example


def render(kind: EventKind, subjects: Sequence[UUID]) -> Mapping[UUID, Data]:
    """Return the data of events by subject; nothing for a kind that has no renderer."""
    return _renderers[kind](subjects) if kind in _renderers and subjects else {}


def owners(kind: EventKind, subjects: Sequence[UUID]) -> Mapping[UUID, UUID]:
    """Return the people who created the subjects, as far as that is known."""
    return _owners[kind](subjects) if kind in _owners and subjects else {}


def example(kind: EventKind, organization_id: UUID) -> Data | None:
    """Return the data of an event about invented objects; None for a kind that has no example."""
    return _examples[kind](organization_id) if kind in _examples else None


def subscribed_sql(kind: EventKind, alias: str = "due") -> str:
    """Return a PostgreSQL condition: whether the organization of the row `alias` has subscribed."""
    return (
        f"exists (select 1 from webhooks_webhook w where w.organization_id = {alias}.organization_id"  # noqa: S608
        f" and w.deleted_at is null and w.status = '{WebhookStatus.ACTIVE.value}'"
        f" and jsonb_exists(w.events, '{EventKind(kind).value}'))"
    )
