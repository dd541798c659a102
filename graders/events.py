"""What webhooks ask about graders."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from autotune.webhooks import payloads
from autotune.webhooks.states import EventKind
from graders.models import Grader


def register() -> None:
    payloads.register_owners(EventKind.GRADER_STATUS_CHANGED, owners)


def owners(grader_ids: Sequence[UUID]) -> Mapping[UUID, UUID]:
    """Who made these graders."""
    return dict(Grader.objects.filter(pk__in=grader_ids).values_list("pk", "created_by_id"))
