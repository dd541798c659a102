"""The operations on tasks. `GET /tasks/:id` reports runs, so `scores` adds it to TaskDetailView and routes that."""

from uuid import UUID

from django.db.models import prefetch_related_objects
from rest_framework.request import Request

from autotune.access.views import ApiView, find, find_for
from autotune.core.api import pagination
from autotune.core.api.operations import operation
from tasks import definitions
from tasks.models import Task, TaskVersion
from tasks.requests import NewTask, TaskDeletion, TaskPatch, TaskQuery, VersionQuery
from tasks.responses import TaskAnswer, TaskCreated, TaskPage, TaskVersionList, task_out, version_out

ORDER = pagination.SortOrder("tasks", {"createdAt": "created_at", "updatedAt": "updated_at", "name": "name"})
VERSION_ORDER = pagination.SortOrder("versions", {"createdAt": "created_at"})


class TasksView(ApiView):
    @operation(summary="List tasks", resource="tasks", action="read", query=TaskQuery, answers={200: TaskPage})
    def get(self, request: Request, query: TaskQuery) -> TaskPage:
        """List the tasks that are not archived, or with `archived=true` those that are.

        `search` looks in name and description, `graderId` in the current panel, `model` is the model's name.
        """
        tasks = Task.objects.visible_to(self.principal).filter(archived=query.archived)
        if query.search:
            tasks = tasks.search(query.search)
        if query.grader_id:
            tasks = tasks.judged_by(query.grader_id.uuid)
        if query.model:
            tasks = tasks.filter(model_name=query.model)
        light = tasks.only("id", "name", "created_at", "updated_at", "version_id")
        rows, place = pagination.page(light, query, ORDER, owner=self.principal.organization.pk)
        pagination.require_modest(TaskVersion.objects.filter(pk__in=[row.version_id for row in rows]), ["content"])
        tasks_by_id = Task.objects.filter(pk__in=[row.pk for row in rows]).with_panel().in_bulk()
        return TaskPage([task_out(tasks_by_id[row.pk]) for row in rows if row.pk in tasks_by_id], place)

    @operation(
        summary="Create a task",
        resource="tasks",
        action="create",
        body=NewTask,
        answers={201: TaskCreated},
        errors=(409,),
    )
    def post(self, request: Request, body: NewTask) -> TaskCreated:
        task = definitions.create(self.principal, body)
        return TaskCreated(task.public_id, task_out(task))


class TaskDetailView(ApiView):
    @operation(
        summary="Change a task",
        resource="tasks",
        action="update",
        body=TaskPatch,
        answers={200: TaskAnswer},
        errors=(409,),
    )
    def patch(self, request: Request, task_id: UUID, body: TaskPatch) -> TaskAnswer:
        """Change members of a task.

        `options`, `retry`, `review` and `retention` are merged member by member, the others are replaced; null sets the
        default.

        A change of what defines the task (prompts, schema, model, panel, aggregation) creates a new version.
        Completions that were submitted before keep their version.
        """
        task = find_for(Task.objects.all(), self.principal, task_id, "update", "task")
        return TaskAnswer(task_out(definitions.patch(self.principal, task, body)))

    @operation(
        summary="Delete or archive a task",
        resource="tasks",
        action="delete",
        query=TaskDeletion,
        answers={204: None},
        errors=(409,),
    )
    def delete(self, request: Request, task_id: UUID, query: TaskDeletion) -> None:
        """Delete the task, or archive it with `archive=true`.

        A task with completions cannot be deleted (409 `has_completions`), only archived.
        """
        task = find_for(Task.objects.all(), self.principal, task_id, "delete", "task")
        if query.archive:
            definitions.archive(task)
        else:
            definitions.delete(task)


class TaskVersionsView(ApiView):
    @operation(
        summary="List a task's versions", resource="tasks", action="read", query=VersionQuery,
        answers={200: TaskVersionList},
    )  # fmt: skip
    def get(self, request: Request, task_id: UUID, query: VersionQuery) -> TaskVersionList:
        """List the versions of a task, newest first."""
        task = find(Task.objects.visible_to(self.principal), task_id, "task")
        owner = f"{self.principal.organization.pk}.{task.pk}"
        rows, place = pagination.page(task.versions.all(), query, VERSION_ORDER, owner=owner, texts=("content",))
        prefetch_related_objects(rows, "members")
        return TaskVersionList([version_out(row, current=row.pk == task.version_id) for row in rows], place)
