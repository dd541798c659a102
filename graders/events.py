"""Owners and an example payload for the webhook event `grader.status_changed`."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from autotune.core import ids
from autotune.webhooks.events import payloads
from autotune.webhooks.states import EventKind
from graders import status
from graders.models import Grader
from graders.states import GraderStatus


def register() -> None:
    payloads.register_owners(EventKind.GRADER_STATUS_CHANGED, owners)
    payloads.register_example(EventKind.GRADER_STATUS_CHANGED, example)


def owners(grader_ids: Sequence[UUID]) -> Mapping[UUID, UUID]:
    """Return the user who created each grader."""
    return dict(Grader.objects.filter(pk__in=grader_ids).values_list("pk", "created_by_id"))


def example(organization_id: UUID) -> dict[str, Any]:
    """Return an example payload: an active grader becomes degraded."""
    return status.build_payload(ids.new(), GraderStatus.ACTIVE, GraderStatus.DEGRADED, status.AUTH_REASON)
