"""Figures of this app on the admin's first page."""

from datetime import timedelta

from django.utils import timezone

from autotune.core.admin import figures
from scores.admin.pulses import STALE
from scores.models import Pulse, WorkflowRun
from scores.states import RunStatus

DAY = timedelta(days=1)

figures.register(
    "Workflow runs that failed today", WorkflowRun,
    lambda: WorkflowRun.objects.filter(status=RunStatus.FAILED, completed_at__gte=timezone.now() - DAY),
    "status__exact=failed&made=day", tone="bad",
)  # fmt: skip
figures.register(
    "Workflow runs waiting to be scored", WorkflowRun, lambda: WorkflowRun.objects.filter(status=RunStatus.PENDING),
    "status__exact=pending", tone="busy",
)  # fmt: skip
figures.register("Stalled jobs", Pulse, lambda: Pulse.objects.filter(at__lt=timezone.now() - STALE), "", tone="bad")
