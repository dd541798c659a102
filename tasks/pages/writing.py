"""Pages that create and change a task."""

from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from autotune.access.frame import acting
from autotune.access.frame.entry import PageRequest, page
from autotune.access.frame.navigation import crumbs
from autotune.access.views import find_for
from autotune.core import ids
from autotune.core.errors import AutotuneError, TooLarge
from tasks import definitions, panels
from tasks.models import Task
from tasks.pages import pickers, prompts
from tasks.pages.forms import SPARE, TaskForm
from tasks.pages.initial_values import stamp
from tasks.requests import NewTask, TaskPatch

METHODS: Final = ("GET", "HEAD", "POST")
MOST_SENT: Final = 4  # times the longest text: limit for all fields of the form, since the response shows them again
CHANGED: Final = (
    "Somebody changed this task after you opened it. Check its page in another tab. "
    "Save again to overwrite their changes."
)


@page(("tasks", "create"), methods=METHODS)
def new(request: PageRequest) -> HttpResponseBase:
    """Show and save the form of a new task; `?grader=grader_…` adds a grader to its panel."""
    acting.concerns("tasks", "create")
    _require_modest(request)
    grader = _grader_id(request.GET.get("grader", ""))
    form, more = _form(request, None, grader)
    if _is_sent(request) and form.is_valid():
        try:
            task = acting.do(request, lambda: definitions.create(request.principal, form.body(NewTask)))
        except AutotuneError as exc:
            form.refuse(exc)
        else:
            acting.concerns("tasks", "create", task.public_id)
            messages.success(request, "Task created. You can now submit completions to it.")
            return redirect("task", task.pk)
    return _shown(request, form, None, more)


@page(("tasks", "update"), methods=METHODS)
def edit(request: PageRequest, task_id: UUID) -> HttpResponseBase:
    acting.concerns("tasks", "update", ids.encode("task", task_id))
    task = find_for(Task.objects.with_panel(), request.principal, task_id, "update", "task")
    _require_modest(request)
    form, more = _form(request, task)
    if _is_sent(request) and form.is_valid():
        if form.cleaned_data["seen"] not in ("", stamp(task)):
            form.add_error(None, CHANGED)
            form.data = {**request.POST.dict(), "seen": stamp(task)}
            return _shown(request, form, task, more)
        before = task.version_id
        try:
            saved_task = acting.do(request, lambda: definitions.patch(request.principal, task, form.body(TaskPatch)))
        except AutotuneError as exc:
            form.refuse(exc)
        else:
            messages.success(request, _confirmation(saved_task, before))
            return redirect("task", task.pk)
    return _shown(request, form, task, more)


def _form(request: PageRequest, task: Task | None, grader: str = "") -> tuple[TaskForm, bool]:
    """The form, and whether there are more graders than it offers."""
    panel_ids = [] if task is None or task.version is None else [seat.grader_id for seat in panels.seats(task.version)]
    if grader:
        panel_ids.append(ids.decode("grader", grader))
    choices, more = pickers.offered(request.principal, panel_ids)
    data = request.POST if request.method == "POST" else None
    rows = SPARE if request.POST.get("step") == "rows" else 0
    return TaskForm(data, choices=choices, task=task, grader=grader, more_rows=rows), more


def _require_modest(request: PageRequest) -> None:
    """Raise TooLarge if the fields are longer than any task may be: the response would show them all again."""
    if sum(map(len, request.POST.values())) > MOST_SENT * settings.MAX_TEXT_BYTES:
        raise TooLarge("The texts in this form are too long for a task. Shorten them.")


def _is_sent(request: PageRequest) -> bool:
    """Whether the form was sent to save it; the same form has buttons for more rows and for the preview."""
    return request.method == "POST" and not request.POST.get("step")


def _shown(request: PageRequest, form: TaskForm, task: Task | None, more: bool) -> HttpResponse:
    saving = _is_sent(request)
    if form.is_bound and not saving:
        form.errors.clear()  # errors are shown only when the form is saved
    template = str(form["prompt_template"].value() or "").replace("\r\n", "\n")
    sample_fields = {name: value for name, value in request.POST.items() if name.startswith(prompts.SAMPLE)}
    samples = prompts.samples(template, {str(name): str(value) for name, value in sample_fields.items()})
    preview, is_whole = prompts.filled(template, {sample.name: sample.value for sample in samples})
    context: dict[str, Any] = {
        "title": "New task" if task is None else f"Edit {task.name[:80]}",
        "crumbs": _crumbs(task),
        "form": form,
        "task": task,
        "samples": samples,
        "preview": preview,
        "is_whole": is_whole,
        "sampled": prompts.SAMPLED,
        "more_graders": more,
        "next_version": None if task is None else task.versions.count() + 1,
        "step": request.POST.get("step", ""),
    }
    return render(request, "tasks/form.html", context, status=400 if saving else 200)


def _crumbs(task: Task | None) -> Any:
    steps = [("Tasks", reverse("tasks"))]
    return crumbs(*steps) if task is None else crumbs(*steps, (task.name, reverse("task", args=[task.pk])))


def _confirmation(task: Task, before: UUID | None) -> str:
    """Say whether the change made a new version."""
    if task.version_id == before:
        return "Saved. The task keeps its version, since nothing that defines it changed."
    version = task.version
    assert version is not None
    number = task.versions.filter(created_at__lte=version.created_at).count()
    return f"Saved. Version {number} is now current. Earlier completions keep their version."


def _grader_id(text: str) -> str:
    """The text if it is a grader's id, else ''. An invalid id in the address must not break the form."""
    try:
        return ids.encode("grader", ids.decode("grader", text))
    except ValueError:
        return ""
