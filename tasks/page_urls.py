"""Routes of the pages of tasks. The list and a task's own page show scores, so `scores` routes them."""

from django.urls import URLPattern, path

from tasks.pages import removing, versions, writing

urlpatterns: list[URLPattern] = [
    path("tasks/new", writing.new, name="task_new"),
    path("tasks/<task:task_id>/edit", writing.edit, name="task_edit"),
    path("tasks/<task:task_id>/archive", removing.archive, name="task_archive"),
    path("tasks/<task:task_id>/delete", removing.delete, name="task_delete"),
    path("tasks/<task:task_id>/versions", versions.listed, name="task_versions"),
    path("tasks/<task:task_id>/versions/<int:number>", versions.numbered, name="task_version_number"),
    path("tasks/<task:task_id>/versions/<taskv:version_id>", versions.shown, name="task_version"),
    path("tasks/<task:task_id>/versions/<taskv:version_id>/diff/<taskv:other_id>", versions.shown, name="task_diff"),
]
