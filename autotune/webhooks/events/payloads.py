"""What events say. Higher apps register how the data of their kinds is made; here nobody knows a score."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from autotune.webhooks.states import EventKind, WebhookStatus

Data = dict[str, Any]
Render = Callable[[Sequence[UUID]], Mapping[UUID, Data]]
Owners = Callable[[Sequence[UUID]], Mapping[UUID, UUID]]
Example = Callable[[UUID], Data]

OWNED: Final = frozenset({EventKind.GRADER_STATUS_CHANGED})  # whoever reads only their own may hear of those
_renderers: dict[EventKind, Render] = {}
_owners: dict[EventKind, Owners] = {}
_examples: dict[EventKind, Example] = {}


def register(kind: EventKind, render: Render) -> None:
    """Make the data of `kind` from subject ids, at fan-out. A subject that is left out drops its event: it is gone."""
    _renderers[kind] = render


def register_owners(kind: EventKind, owners: Owners) -> None:
    """Who made the subjects of `kind`: webhooks that are for their creator's own things alone get no others."""
    _owners[kind] = owners


def register_example(kind: EventKind, example: Example) -> None:
    """How to make the data of an event about things that do not exist, in the organization given: by what makes the
    real data, so that an example cannot differ from it."""
    _examples[kind] = example


def render(kind: EventKind, subjects: Sequence[UUID]) -> Mapping[UUID, Data]:
    """The data of events by subject; nothing for a kind that nobody renders."""
    return _renderers[kind](subjects) if kind in _renderers and subjects else {}


def owners(kind: EventKind, subjects: Sequence[UUID]) -> Mapping[UUID, UUID]:
    """The people who made the subjects, as far as somebody knows."""
    return _owners[kind](subjects) if kind in _owners and subjects else {}


def example(kind: EventKind, organization_id: UUID) -> Data | None:
    """The data of an event about things that do not exist; None for a kind of which nobody has an example."""
    return _examples[kind](organization_id) if kind in _examples else None


def subscribed_sql(kind: EventKind, alias: str = "due") -> str:
    """A condition for statements of PostgreSQL: whether the organization of the row `alias` has subscribed."""
    return (
        f"exists (select 1 from webhooks_webhook w where w.organization_id = {alias}.organization_id"  # noqa: S608
        f" and w.deleted_at is null and w.status = '{WebhookStatus.ACTIVE.value}'"
        f" and jsonb_exists(w.events, '{EventKind(kind).value}'))"
    )
