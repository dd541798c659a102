"""Routes of the list of tasks and of a task's page, which show scores."""

from django.urls import URLPattern, path

from scores.results.pages import task, tasks

urlpatterns: list[URLPattern] = [
    path("tasks", tasks.tasks, name="tasks"),
    path("tasks/<task:task_id>", task.detail, name="task"),
    path("tasks/<task:task_id>/progress", task.progress, name="task_progress"),
]
