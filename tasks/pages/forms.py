"""The form of a task: every member of the API's NewTask and TaskPatch, and the panel as rows."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from django import forms

from autotune.core import ids
from autotune.core.crypto.fields import Legible
from autotune.core.errors import AutotuneError, FieldError, Invalid
from autotune.core.pages.forms import ABSENT, BodyForm, JSONTextField
from tasks import panels
from tasks.models import Task
from tasks.pages.pickers import Choices
from tasks.pages.sentences import plain
from tasks.pages.spans import SpanField
from tasks.requests import MAX_PANEL
from tasks.responses import NOTHING, content_of
from tasks.states import Aggregation, Part

SPARE: Final = 3  # empty rows that stand ready
AGGREGATION_LABELS: Final = {
    Aggregation.MEAN: "mean: the weighted mean of the scores",
    Aggregation.CONFIDENCE_WEIGHTED: "confidence weighted: a score counts by its weight and its confidence",
    Aggregation.MEDIAN: "median: the weighted median",
    Aggregation.MIN: "min: the least score",
    Aggregation.MAX: "max: the greatest score",
    Aggregation.ALL_OR_NOTHING: "all or nothing: one missing score and there is no reward",
}


class TextField(forms.CharField):
    """Text as it was typed. Browsers end lines with CR LF in what they send, whatever was in the field."""

    def clean(self, value: Any) -> str:
        return super().clean(_plain(value) if isinstance(value, str) else value)


def _text(label: str, rows: int = 0, **more: Any) -> TextField:
    widget = forms.Textarea(attrs={"rows": rows}) if rows else forms.TextInput()
    return TextField(label=label, widget=widget, strip=False, **more)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


class TaskForm(BodyForm):
    """A new task, or the changes of one.

    `seen` is what the person saw when the form was made: of a task that somebody changed meanwhile nothing is saved.
    """

    pointers: ClassVar[Mapping[str, str]] = {"panel": "/graders"}
    clears: ClassVar[frozenset[str]] = frozenset(
        {
            "description", "system_prompt", "response_schema", "metadata", "deadline_ms", "retry__max_attempts",
            "retry__backoff_ms", "retry__max_backoff_ms", "review__below_confidence", "retention__text_days",
        }
    )  # fmt: skip

    name = _text("Name", max_length=200, help_text="Unique in the organization.")
    description = _text("Description", 2, required=False, help_text="For people; no grader reads it.")
    system_prompt = _text("System prompt", 4, required=False)
    prompt_template = _text(
        "Prompt template", 10, help_text="{{name}} stands for a variable that each completion gives."
    )
    response_schema = JSONTextField(
        label="Response schema",
        required=False,
        help_text="JSON Schema, draft 2020-12, that answers are meant to follow.",
    )
    model__name = _text("Model", required=False, help_text="The model that answers in evaluation runs.")
    model__provider = _text("Provider", required=False, help_text="Needed where parameters are given.")
    model__params = JSONTextField(label="Parameters", required=False, help_text='Such as {"temperature": 0.7}.')
    panel = forms.CharField(required=False, widget=forms.HiddenInput)
    aggregation = forms.ChoiceField(
        label="Aggregation", choices=[(str(key), label) for key, label in AGGREGATION_LABELS.items()]
    )
    retry__max_attempts = forms.IntegerField(label="Attempts", required=False, help_text="At one score; 1 to 20.")
    retry__backoff_ms = SpanField(
        label="First wait", required=False, help_text="Between attempts; it doubles each time."
    )
    retry__max_backoff_ms = SpanField(label="Longest wait", required=False, help_text="Where the doubling ends.")
    deadline_ms = SpanField(label="Deadline", required=False, help_text="No attempt begins later. 1 s to 30 d.")
    review__below_confidence = forms.FloatField(
        label="Review below confidence",
        required=False,
        help_text="0 to 1. Less certain scores wait for a person. Empty: none do.",
    )
    options__include_dimensions = forms.BooleanField(label="Ask graders for dimensions", required=False)
    options__include_explanation = forms.BooleanField(label="Ask graders for an explanation", required=False)
    share_text = forms.BooleanField(
        label="Share prompts and responses with the graders’ owners", required=False,
        help_text="They may then read the texts that their graders judged here. Graders get them in any case.",
    )  # fmt: skip
    retention__text_days = forms.IntegerField(
        label="Keep texts for", required=False, help_text="Days. Empty: as long as the organization keeps them."
    )
    metadata = JSONTextField(label="Metadata", required=False, help_text="A JSON object of your own.")
    archived = forms.BooleanField(
        label="Archived", required=False, help_text="Out of the usual list. Its completions stay, and it can come back."
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(
        self, data: Any = None, *, choices: Choices, task: Task | None = None, grader: str = "", more_rows: int = 0
    ) -> None:
        """grader  public id of one that a new task's panel begins with"""
        super().__init__(data, initial=_initial(task, grader))
        self.task = task
        if task is None:
            del self.fields["archived"]
        seats = [] if task is None or task.version is None else panels.seats(task.version)
        filled = len(seats) or bool(grader)
        self.rows = min(_row_count(data, filled) + more_rows, MAX_PANEL + SPARE)
        for at in range(self.rows):
            self.fields.update(_row_fields(at, choices))
        self.fields["metadata"].widget.attrs["rows"] = 4
        self.fields["model__params"].widget.attrs["rows"] = 3
        for name in ("prompt_template", "system_prompt"):
            self.fields[name].widget.attrs["class"] = "code"

    @property
    def seats(self) -> list[dict[str, Any]]:
        """The rows of the panel, for the template."""
        return [
            {
                "number": at + 1,
                "fields": [self[f"{name}_{at}"] for name in ("grader", "weight", "part")],
                "empty": not self[f"grader_{at}"].value(),
            }
            for at in range(self.rows)
        ]

    def pointer(self, name: str) -> str:
        """The place of a field in the body, where the panel has no empty rows."""
        member, _, row = name.partition("_")
        if member in ROW and row.isdigit():
            chosen = self._chosen()
            position = chosen.index(int(row)) if int(row) in chosen else MAX_PANEL + int(row)
            return f"/graders/{position}/{ROW[member]}"
        return super().pointer(name)

    def values(self) -> dict[str, Any]:
        """The body. The model is an object where it has a provider, else its name; a panel that stays is not sent."""
        body = super().values()
        for name in ("seen", "panel"):
            body.pop(name, None)
        body.pop("graders", None)
        entries = [self._entry(row) for row in self._chosen()]
        if self.task is None or entries != _present(self.task):
            body["graders"] = entries
        body["model"] = _model(body.get("model", {}))
        for member, text in _texts(self.task).items():
            if _plain(text) == (body.get(member) or ""):
                del body[member]  # it stays to the letter, with whatever ends its lines
        return body

    def refuse(self, error: AutotuneError) -> None:
        """As every form, and with the place within a field's JSON."""
        errors = [FieldError(entry.pointer, entry.code, self._placed_detail(entry)) for entry in error.errors]
        super().refuse(Invalid(error.detail, errors=errors))

    def _placed_detail(self, error: FieldError) -> str:
        name = self._field_at(error)
        if name == "panel" and not self._chosen():
            return "Choose at least one grader."
        deeper = error.pointer.removeprefix(self.pointer(name)) if name else ""
        detail = plain(error.detail)
        return f"{deeper}: {detail}" if deeper.startswith("/") and name != "panel" else detail

    def _body_value(self, name: str, value: Any) -> Any:
        member, _, row = name.partition("_")
        return ABSENT if member in ROW and row.isdigit() else super()._body_value(name, value)

    def _entry(self, at: int) -> dict[str, Any]:
        cleaned = self.cleaned_data
        weight = cleaned[f"weight_{at}"]
        return {
            "graderId": cleaned[f"grader_{at}"],
            "weight": 1.0 if weight is None else weight,
            "part": cleaned[f"part_{at}"] or str(Part.SCORING),
        }

    def _chosen(self) -> list[int]:
        """The rows in which a grader is named."""
        data = getattr(self, "cleaned_data", {})
        return [at for at in range(self.rows) if data.get(f"grader_{at}")]

    def _field_at(self, error: FieldError) -> str | None:
        if error.pointer == "/model":
            return "model__name"
        return super()._field_at(
            FieldError("/graders", error.code, error.detail) if error.pointer == "/graderId" else error
        )


ROW: Final = {"grader": "graderId", "weight": "weight", "part": "part"}


def _row_fields(at: int, choices: Choices) -> dict[str, forms.Field]:
    return {
        f"grader_{at}": forms.CharField(
            label="Grader", required=False, widget=forms.Select(choices=choices), max_length=64
        ),
        f"weight_{at}": forms.FloatField(
            label="Weight", required=False,
            widget=forms.NumberInput(attrs={"step": "any", "min": 0, "max": 1, "placeholder": "1"}),
        ),
        f"part_{at}": forms.ChoiceField(
            label="Part", required=False, choices=[(str(part), str(part)) for part in Part]
        ),
    }  # fmt: skip


def _row_count(data: Any, filled: int) -> int:
    """How many rows the form had that was sent; a new one has those of the panel, and some to spare."""
    rows_text = data.get("rows", "") if data is not None else ""
    return (
        min(int(rows_text), MAX_PANEL + SPARE)
        if rows_text.isascii() and rows_text.isdigit() and len(rows_text) < 4
        else filled + SPARE
    )


def _model(members: dict[str, Any]) -> Any:
    if not members:
        return None
    return members["name"] if set(members) == {"name"} else members


def _present(task: Task) -> list[dict[str, Any]]:
    assert task.version is not None
    return [seat.wire() for seat in panels.seats(task.version)]


def _initial(task: Task | None, grader: str) -> dict[str, Any]:
    if task is None:
        fresh = Task()
        return {
            **_settings(fresh),
            "aggregation": str(Aggregation.MEAN),
            "grader_0": grader,
            "weight_0": 1.0 if grader else None,
        }
    version: Any = task.version
    content = content_of(version) or NOTHING
    model = content["model"]
    members = model if isinstance(model, dict) else {"name": model}
    rows: Sequence[Any] = panels.seats(version)
    panel = {
        f"{name}_{at}": value
        for at, seat in enumerate(rows)
        for name, value in (
            ("grader", ids.encode("grader", seat.grader_id)),
            ("weight", seat.weight),
            ("part", seat.part),
        )
    }
    return {
        **_settings(task), **panel,
        "name": task.name, "description": task.description, "metadata": _json(Legible(task).metadata),
        "system_prompt": content["systemPrompt"], "prompt_template": content["promptTemplate"],
        "response_schema": _json(content["responseSchema"]), "model__name": members.get("name"),
        "model__provider": members.get("provider"), "model__params": _json(members.get("params")),
        "aggregation": version.aggregation, "seen": stamp(task),
    }  # fmt: skip


def _texts(task: Task | None) -> dict[str, str]:
    """The texts that the task has now, by their members in the body."""
    if task is None:
        return {}
    version: Any = task.version
    content = content_of(version) or NOTHING
    return {
        "description": task.description,
        "systemPrompt": content["systemPrompt"] or "",
        "promptTemplate": content["promptTemplate"] or "",
    }


def _settings(task: Task) -> dict[str, Any]:
    return {
        "retry__max_attempts": task.max_attempts, "retry__backoff_ms": task.backoff_ms,
        "retry__max_backoff_ms": task.max_backoff_ms, "deadline_ms": task.deadline_ms,
        "review__below_confidence": task.review_below_confidence, "retention__text_days": task.text_days,
        "options__include_dimensions": task.include_dimensions,
        "options__include_explanation": task.include_explanation,
        "share_text": task.share_text, "archived": task.archived,
    }  # fmt: skip


def stamp(task: Task) -> str:
    """What stands for the task as it is now."""
    return f"{task.version_id}.{task.updated_at.isoformat()}"


def _json(value: Any) -> str:
    return "" if value is None else json.dumps(value, indent=2, ensure_ascii=False)
