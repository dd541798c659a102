"""Find the organizations to notify when a grader's status changes: those with a task that uses the grader."""

from uuid import UUID

from tasks.models import Task


def of_grader(sender: object, *, grader_id: UUID, **_: object) -> list[UUID]:
    """Receive `grader_audience`: return the organizations with an active task whose current panel has the grader."""
    tasks = Task.objects.judged_by(grader_id).filter(archived=False)
    return list(tasks.order_by().values_list("organization_id", flat=True).distinct())
