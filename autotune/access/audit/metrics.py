"""What the metrics tell of the trail."""

from datetime import datetime

from django.db.models import Sum

from autotune.access.audit.trail import LOST
from autotune.access.models import AuditEvent
from autotune.access.models.audit import INSTALLATION
from autotune.core import ids


def lost_since(moment: datetime) -> int:
    """How many events could not be written, as told since then by the processes that lost them."""
    told = AuditEvent.objects.filter(chain=INSTALLATION, id__gte=ids.first_of(moment), action=LOST)
    return int(told.aggregate(count=Sum("objects_count"))["count"] or 0)
