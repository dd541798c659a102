"""Routes of this app below `/api/v1/`. `tasks/:id` itself is routed by `scores`."""

from django.urls import URLPattern, path

from tasks.api import TasksView, TaskVersionsView

urlpatterns: list[URLPattern] = [
    path("tasks", TasksView.as_view()),
    path("tasks/<task:task_id>/versions", TaskVersionsView.as_view()),
]
