"""Pages that archive a task, or delete a task that was never used."""

from typing import Final
from uuid import UUID

from django import forms
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from autotune.access.frame import acting
from autotune.access.frame.entry import PageRequest, page
from autotune.access.frame.navigation import crumbs
from autotune.access.views import find_for
from autotune.core import ids
from autotune.core.errors import AutotuneError
from tasks import definitions
from tasks.models import Task
from tasks.requests import TaskPatch

HAS_COMPLETIONS: Final = "has_completions"


class TaskDeletionForm(forms.Form):
    """The form in which a person types the task's name to confirm the deletion."""

    name = forms.CharField(
        label="Type the task’s name to confirm", strip=False, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )

    def __init__(self, data: object, task: Task) -> None:
        super().__init__(data, label_suffix="")  # type: ignore[arg-type]
        self.task = task

    def clean_name(self) -> str:
        typed: str = self.cleaned_data["name"]
        if typed.strip() != self.task.name.strip():
            raise forms.ValidationError("This does not match the task’s name.")
        return typed


@page(("tasks", "delete"), methods=("GET", "HEAD", "POST"))
def delete(request: PageRequest, task_id: UUID) -> HttpResponseBase:
    """Delete a task, after the person has typed its name. A task with completions can only be archived."""
    acting.concerns("tasks", "delete", ids.encode("task", task_id))
    task = find_for(Task.objects.all(), request.principal, task_id, "delete", "task")
    form, error = TaskDeletionForm(request.POST if request.method == "POST" else None, task), None
    if request.method == "POST" and form.is_valid():
        try:
            acting.do(request, lambda: definitions.delete(task), toast="Task deleted.")
        except AutotuneError as exc:
            error = exc
        else:
            return redirect("tasks")
    context = {
        "title": "Delete the task",
        "crumbs": crumbs(("Tasks", reverse("tasks")), (task.name, reverse("task", args=[task.pk]))),
        "task": task,
        "form": form,
        "refused": error,
        "is_used": error.code == HAS_COMPLETIONS if error else task.completions.exists(),
    }
    status = error.status if error else 400 if form.errors else 200
    return render(request, "tasks/delete.html", context, status=status)


@page(("tasks", "update"), methods=("POST",))
def archive(request: PageRequest, task_id: UUID) -> HttpResponseBase:
    """Archive a task, or restore it with `archived=no`."""
    acting.concerns("tasks", "update", ids.encode("task", task_id), fields=["archived"])
    task = find_for(Task.objects.all(), request.principal, task_id, "update", "task")
    archived = request.POST.get("archived") != "no"
    message = "Task archived. Its completions are kept." if archived else "Task restored to the list."
    acting.attempt(
        request, lambda: definitions.patch(request.principal, task, TaskPatch(archived=archived)), toast=message
    )
    return redirect("task", task.pk)
