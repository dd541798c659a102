"""Pauses: until when nobody may call a grader, and why. Columns of its row, for drains, the sweep and `/moving`.

During a pause Autotune accepts completions for the grader. Their runs stay due and occupy no worker.
"""

from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Q

from graders.models import Grader

RATE_LIMITED: Final = "rate_limited"
CIRCUIT_OPEN: Final = "circuit_open"
UNHEALTHY: Final = "unhealthy"


def pause(grader_id: UUID, until: datetime, reason: str) -> None:
    """Pause calls to a grader until `until`; a longer pause stays."""
    shorter = Q(held_until=None) | Q(held_until__lt=until)
    Grader.objects.filter(shorter, pk=grader_id).update(held_until=until, held_reason=reason)


def release(grader_id: UUID, reason: str) -> None:
    """End a grader's pause if it has this reason."""
    Grader.objects.filter(pk=grader_id, held_reason=reason).update(held_until=None, held_reason="")
