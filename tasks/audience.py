"""Whom a grader's change of status concerns: the organizations that have a task on it."""

from uuid import UUID

from tasks.models import Task


def of_grader(sender: object, *, grader_id: UUID, **_: object) -> list[UUID]:
    """Receiver of `grader_audience`: those with a task, not archived, whose current panel names the grader."""
    tasks = Task.objects.judged_by(grader_id).filter(archived=False)
    return list(tasks.order_by().values_list("organization_id", flat=True).distinct())
