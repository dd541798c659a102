"""Taking a task out of the list, and deleting one that was never used."""

from typing import Final
from uuid import UUID

from django import forms
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from autotune.access.frame import acting
from autotune.access.frame.entry import PageRequest, page
from autotune.access.frame.navigation import crumbs
from autotune.access.pages import acts
from autotune.access.views import find_for
from autotune.core import ids
from autotune.core.errors import AutotuneError
from tasks import definitions
from tasks.models import Task
from tasks.requests import TaskPatch

HAS_COMPLETIONS: Final = "has_completions"


class NameForm(forms.Form):
    """The task's name, typed."""

    name = forms.CharField(
        label="Type the task’s name", strip=False, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )

    def __init__(self, data: object, task: Task) -> None:
        super().__init__(data, label_suffix="")  # type: ignore[arg-type]
        self.task = task

    def clean_name(self) -> str:
        typed: str = self.cleaned_data["name"]
        if typed.strip() != self.task.name.strip():
            raise forms.ValidationError("This is not the task’s name.")
        return typed


@page(("tasks", "delete"), methods=("GET", "HEAD", "POST"))
def delete(request: PageRequest, task_id: UUID) -> HttpResponseBase:
    """A task with completions is not deleted; it can be archived."""
    acts.concerns("tasks", "delete", ids.encode("task", task_id))
    task = find_for(Task.objects.all(), request.principal, task_id, "delete", "task")
    form, error = NameForm(request.POST if request.method == "POST" else None, task), None
    if request.method == "POST" and form.is_valid():
        try:
            acting.do(request, lambda: definitions.delete(task), toast="The task is deleted.")
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
    """Out of the list, or back into it with `archived=no`."""
    acts.concerns("tasks", "update", ids.encode("task", task_id), fields=["archived"])
    task = find_for(Task.objects.all(), request.principal, task_id, "update", "task")
    archived = request.POST.get("archived") != "no"
    message = "The task is archived. Its completions stay." if archived else "The task is back in the list."
    acting.attempt(
        request, lambda: definitions.patch(request.principal, task, TaskPatch(archived=archived)), toast=message
    )
    return redirect("task", task.pk)
