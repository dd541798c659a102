"""The choices of forms: tasks, graders, grader versions and models that the principal may see, newest first."""

from typing import Any, Final

from django import forms

from autotune.access.principal import Principal
from autotune.core import ids
from graders.models import Grader, GraderVersion
from tasks.models import Completion, Task

OFFERED: Final = 200
RECENT: Final = 500  # completions among which models are looked for
Choices = list[tuple[str, str]]


class IdField(forms.CharField):
    """A field for an object: a list of names to choose from, or a text field for an id if there are too many."""

    widget: Any = forms.Select

    def offer(self, choices: Choices, *, none: str) -> None:
        """Offer these choices. A value that is not among them can still come from the address."""
        if len(choices) > OFFERED:
            self.widget = forms.TextInput(attrs={"spellcheck": "false", "class": "code"})
            self.widget.is_required = self.required
            self.help_text = "Enter its id: there are too many to list. The button on its own page fills it in."
            return
        self.widget.choices = [("", none), *choices]

    def keep(self, value: str) -> None:
        """Add an id from the address to the choices if it is not among them."""
        choices = getattr(self.widget, "choices", None)
        if value and choices is not None and all(value != choice for choice, _ in choices):
            self.widget.choices = [*choices, (value, value)]


def tasks(principal: Principal) -> Choices:
    """Return the tasks that the principal may see. More than OFFERED of them are too many to list."""
    visible_tasks = Task.objects.visible_to(principal).order_by("archived", "-pk")
    rows = visible_tasks.values_list("pk", "name", "archived")[: OFFERED + 1]
    return [
        (ids.encode("task", pk), f"{short(name)} (archived)" if is_archived else short(name))
        for pk, name, is_archived in rows
    ]


def graders(principal: Principal) -> Choices:
    visible_graders = Grader.objects.visible_to(principal).order_by("-pk")
    rows = visible_graders.values_list("pk", "name")[: OFFERED + 1]
    return [(ids.encode("grader", pk), short(name)) for pk, name in rows]


def by_name(queryset: Any, kind: str, chosen: str) -> Choices:
    """Return the choices of a filter's select, by name. The chosen id is always one of them, even without a name."""
    rows = queryset.order_by("name", "pk").values_list("pk", "name")[:OFFERED]
    choices = [(ids.encode(kind, pk), name) for pk, name in rows]
    if chosen and all(chosen != value for value, _ in choices):
        choices.insert(0, (chosen, chosen))
    return choices


def versions(principal: Principal, grader: str) -> Choices:
    """Return the versions of a grader that the principal may see; none for '' or an invalid id."""
    try:
        pk = ids.decode("grader", grader)
    except ValueError:
        return []
    grader_versions = GraderVersion.objects.filter(grader__in=Grader.objects.visible_to(principal).filter(pk=pk))
    rows = grader_versions.order_by("-pk").values_list("pk", "label")[:OFFERED]
    return [(ids.encode("graderv", pk), short(label)) for pk, label in rows]


def models(principal: Principal) -> list[str]:
    """Return the models of the newest completions."""
    newest = Completion.objects.visible_to(principal).order_by("-pk").values_list("model_id", flat=True)[:RECENT]
    return sorted(set(newest))[:OFFERED]


def short(text: str, length: int = 70) -> str:
    """Shorten a name to one line for a list of choices."""
    line = " ".join(text[: length * 4].split())
    return line if len(line) <= length else f"{line[: length - 1]}…"
