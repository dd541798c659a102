"""Bodies and queries of requests about webhooks."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from autotune.access.principal import Principal
from autotune.core.api.operations import BodyStruct
from autotune.core.api.pagination import PageQuery
from autotune.core.api.parsing import invalid
from autotune.core.errors import FieldError
from autotune.webhooks import rules
from autotune.webhooks.states import EventKind

MAX_EVENTS: Final = 32

Kind = Literal["score.completed", "score.failed", "grader.status_changed", "review.requested", "export.completed"]
Kinds = Annotated[list[Kind], Meta(min_length=1, max_length=MAX_EVENTS)]
Description = Annotated[str, Meta(max_length=1_000)]


class WebhookIn(BodyStruct):
    """A new webhook. `url` must be https and may have a query. `events` names each kind once."""

    url: str
    events: Kinds
    description: Description | None = None


class WebhookPatch(BodyStruct):
    """Another scheme, host or port of the `url` creates a new secret. `active` enables a disabled webhook again."""

    url: str | UnsetType = UNSET
    events: Kinds | UnsetType = UNSET
    description: Description | UnsetType | None = UNSET
    status: Literal["active", "disabled"] | UnsetType = UNSET


class WebhookRotate(BodyStruct):
    """`force` rotates the secret even while the previous one still signs."""

    force: bool | None = None


class WebhookQuery(PageQuery):
    status: Literal["active", "disabled"] | None = None


class DeliveryQuery(PageQuery):
    status: Literal["pending", "delivered", "parked"] | None = None


def kinds(events: Sequence[str], principal: Principal) -> list[EventKind]:
    """Return the kinds to subscribe to.

    raises  Invalid that names each kind that is listed twice, or that this principal may not subscribe to
    """
    event_kinds = [EventKind(event) for event in events]
    twice = [
        FieldError(f"/events/{place}", "duplicate", "This event is listed twice: remove one.")
        for place, kind in enumerate(event_kinds)
        if kind in event_kinds[:place]
    ]
    if errors := twice or rules.refused(principal, event_kinds):
        raise invalid(errors)
    return event_kinds
