"""Routes of this app below `/api/v1/`. `tasks/:id` itself is routed by `scores`."""

from django.urls import URLPattern, path

from tasks.api import TaskList, TaskVersions

urlpatterns: list[URLPattern] = [
    path("tasks", TaskList.as_view()),
    path("tasks/<task:task_id>/versions", TaskVersions.as_view()),
]
