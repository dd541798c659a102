"""Holds: until when nobody may call a grader, and why. A column of its row, for drains, the sweep and `/moving`.

Work waits meanwhile and costs nothing: it is accepted, stays due, and no worker is kept by it.
"""

from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Q

from graders.models import Grader

RATE_LIMITED: Final = "rate_limited"
CIRCUIT_OPEN: Final = "circuit_open"
UNHEALTHY: Final = "unhealthy"


def hold(grader_id: UUID, until: datetime, reason: str) -> None:
    """Let no call go out before `until`; a hold that lasts longer stays."""
    shorter = Q(held_until=None) | Q(held_until__lt=until)
    Grader.objects.filter(shorter, pk=grader_id).update(held_until=until, held_reason=reason)


def release(grader_id: UUID, reason: str) -> None:
    """End a hold that was made for `reason`."""
    Grader.objects.filter(pk=grader_id, held_reason=reason).update(held_until=None, held_reason="")
