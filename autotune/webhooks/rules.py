"""Decide who may subscribe to which kinds of event.

An event reveals data of its subject, so a kind is open to those who may read such subjects in their whole organization:
scores for the `score` kinds (and reasoning, which a completed one carries), reviews for `review.requested`, exports for
`export.completed`, graders for `grader.status_changed`. People who read only their own graders may subscribe to the
last kind too, and receive only events about their own graders (`own_only`).
"""

from collections.abc import Iterable
from typing import Final

from autotune.access import policy
from autotune.access.principal import Principal
from autotune.core.errors import FieldError
from autotune.webhooks.events.payloads import OWNED
from autotune.webhooks.states import EventKind

READS: Final = {
    EventKind.SCORE_COMPLETED: ("scores", "reasoning"),
    EventKind.SCORE_FAILED: ("scores",),
    EventKind.GRADER_STATUS_CHANGED: ("endpoint_graders",),
    EventKind.REVIEW_REQUESTED: ("reviews",),
    EventKind.EXPORT_COMPLETED: ("exports",),
}
SUBSCRIBABLE: Final = tuple(READS)
WIDE: Final = ("organization", "all")


def refused(principal: Principal, kinds: Iterable[EventKind]) -> list[FieldError]:
    """Return an error for each kind that this principal may not subscribe to."""
    return [
        FieldError(
            f"/events/{place}",
            "event_refused",
            f"The role {principal.role.name} may not read the data of {kind.value} in the whole organization.",
        )
        for place, kind in enumerate(kinds)
        if not _may(principal, kind)
    ]


def own_only(principal: Principal) -> bool:
    """Return whether this principal's webhooks receive events only about their own graders."""
    return not _reads_widely(principal, EventKind.GRADER_STATUS_CHANGED)


def _may(principal: Principal, kind: EventKind) -> bool:
    if kind in OWNED and all(policy.reach(principal, resource, "read") == "own" for resource in READS[kind]):
        return True
    return _reads_widely(principal, kind)


def _reads_widely(principal: Principal, kind: EventKind) -> bool:
    return all(policy.reach(principal, resource, "read") in WIDE for resource in READS[kind])
