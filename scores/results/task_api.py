"""The API view `GET /tasks/:id`: a task with its evaluation runs, which this app stores."""

from typing import Any
from uuid import UUID

from rest_framework.request import Request

from autotune.access.views import find
from autotune.core.api.operations import ApiStruct, operation
from tasks.api import TaskDetailView
from tasks.models import Task
from tasks.responses import TaskOut, task_out


class TaskWithRuns(ApiStruct):
    """`runCount`, `averageScore` and `recentRuns` are of evaluation runs, which this release does not create."""

    task: TaskOut
    run_count: int
    average_score: float | None
    recent_runs: list[Any]


class TaskView(TaskDetailView):
    @operation(summary="Read a task", resource="tasks", action="read", answers={200: TaskWithRuns})
    def get(self, request: Request, task_id: UUID) -> TaskWithRuns:
        task = find(Task.objects.visible_to(self.principal).with_panel(), task_id, "task")
        return TaskWithRuns(task_out(task), 0, None, [])
