"""What webhooks ask about graders, and an example of what they receive."""

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
    """Who made these graders."""
    return dict(Grader.objects.filter(pk__in=grader_ids).values_list("pk", "created_by_id"))


def example(organization_id: UUID) -> dict[str, Any]:
    """A grader of one's own that answers badly."""
    return status.build_payload(ids.new(), GraderStatus.ACTIVE, GraderStatus.DEGRADED, status.AUTH_REASON)
