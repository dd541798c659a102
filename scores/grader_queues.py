"""What waits for each grader, told to the board of the app below that asks (graders.signals.grader_queues)."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db.models import Count, Min

from graders.queues import Queue
from scores.models import WorkflowRun
from scores.states import RunStatus


def waiting(sender: object, grader_ids: Collection[UUID], **more: Any) -> dict[UUID, Queue]:
    """The pending runs of each grader and the age of the oldest, in one query; a grader without any is left out."""
    rows = (
        WorkflowRun.objects.filter(grader_id__in=grader_ids, status=RunStatus.PENDING)
        .values_list("grader_id")
        .annotate(Count("pk"), Min("created_at"))
    )
    return {grader_id: Queue(count, oldest) for grader_id, count, oldest in rows}
