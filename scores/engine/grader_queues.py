"""Report the queue of each grader to the graders app: the number of pending runs, and the age of the oldest."""

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, OuterRef, Subquery

from graders.models import Grader
from graders.queued_runs import QueuedRuns
from scores.models import WorkflowRun
from scores.states import PRIORITIES, RunStatus


def waiting(*, grader_ids: Collection[UUID], **_: Any) -> dict[UUID, QueuedRuns]:
    """Receive `grader_queues`: return the number of pending runs of each grader, and since when the oldest waits."""
    pending = WorkflowRun.objects.filter(status=RunStatus.PENDING, grader_id__in=grader_ids)
    counts = dict(pending.order_by().values_list("grader_id").annotate(Count("pk")))
    if not counts:
        return {}
    by_priority = {f"first_{place}": _first(value) for place, value in enumerate(PRIORITIES)}
    rows = Grader.objects.filter(pk__in=counts).annotate(**by_priority).values_list(*by_priority)
    firsts = [pk for row in rows for pk in row if pk]
    oldest: dict[UUID, datetime] = {}
    for grader_id, created_at in WorkflowRun.objects.filter(pk__in=firsts).values_list("grader_id", "created_at"):
        oldest[grader_id] = min(created_at, oldest.get(grader_id, created_at))
    return {grader_id: QueuedRuns(count, oldest.get(grader_id)) for grader_id, count in counts.items()}


def _first(priority: int) -> Subquery:
    """Select the first pending run of a priority, in the order of the index."""
    # A range, in the order of the index of due runs, keeps PostgreSQL from walking the primary key.
    pending = WorkflowRun.objects.filter(grader=OuterRef("pk"), status=RunStatus.PENDING)
    of_priority = pending.filter(priority__gte=priority, priority__lte=priority)
    return Subquery(of_priority.order_by("-priority", "pk").values("pk")[:1])
