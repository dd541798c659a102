"""The audit log's values for the metrics."""

from datetime import datetime

from django.db.models import Sum

from autotune.access.audit.trail import LOST
from autotune.access.models import AuditEvent
from autotune.access.models.audit import INSTALLATION
from autotune.core import ids


def lost_since(moment: datetime) -> int:
    """Count the events that could not be written, as reported since `moment` by the processes that lost them."""
    losses = AuditEvent.objects.filter(chain=INSTALLATION, id__gte=ids.first_of(moment), action=LOST)
    return int(losses.aggregate(count=Sum("objects_count"))["count"] or 0)
