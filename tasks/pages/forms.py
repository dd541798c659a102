"""The form of a task: every member of the API's NewTask and TaskPatch, and the panel as rows."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from django import forms

from autotune.core.errors import AutotuneError, FieldError, Invalid
from autotune.core.pages.forms import ABSENT, BodyForm, JSONTextField
from tasks import panels
from tasks.models import Task
from tasks.pages.initial_values import initial_values, text_members
from tasks.pages.pickers import Choices
from tasks.pages.sentences import plain
from tasks.pages.spans import SpanField
from tasks.requests import MAX_PANEL
from tasks.states import Aggregation, PanelPart

SPARE: Final = 3  # empty rows at the end of the panel
AGGREGATION_LABELS: Final = {
    Aggregation.MEAN: "mean: the weighted mean of the scores",
    Aggregation.CONFIDENCE_WEIGHTED: "confidence weighted: the mean, weighted by weight times confidence",
    Aggregation.MEDIAN: "median: the weighted median",
    Aggregation.MIN: "min: the lowest score",
    Aggregation.MAX: "max: the highest score",
    Aggregation.ALL_OR_NOTHING: "all or nothing: 1 if every score is 1, else 0; no reward if a score is missing",
}


class VerbatimField(forms.CharField):
    """A field that keeps text as it was typed. It converts line ends to LF, since browsers always send CR LF."""

    def clean(self, value: Any) -> str:
        return super().clean(_plain(value) if isinstance(value, str) else value)


def _text(label: str, rows: int = 0, **more: Any) -> VerbatimField:
    widget = forms.Textarea(attrs={"rows": rows}) if rows else forms.TextInput()
    return VerbatimField(label=label, widget=widget, strip=False, **more)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


class TaskForm(BodyForm):
    """The form that creates or changes a task.

    `seen` identifies the state of the task when the form was opened. If the task has changed since, nothing is saved.
    """

    pointers: ClassVar[Mapping[str, str]] = {"panel": "/graders"}
    clears: ClassVar[frozenset[str]] = frozenset(
        {
            "description", "system_prompt", "response_schema", "metadata", "deadline_ms", "retry__max_attempts",
            "retry__backoff_ms", "retry__max_backoff_ms", "review__below_confidence", "review__blind",
            "retention__text_days",
        }
    )  # fmt: skip

    name = _text("Name", max_length=200, help_text="Must be unique in the organization.")
    description = _text("Description", 2, required=False, help_text="Graders do not receive it.")
    system_prompt = _text("System prompt", 4, required=False)
    prompt_template = _text(
        "Prompt template", 10, help_text="Write variables as {{name}}. Each completion supplies their values."
    )
    response_schema = JSONTextField(
        label="Response schema",
        required=False,
        help_text="A JSON Schema (draft 2020-12) for the answers.",
    )
    model__name = _text("Model", required=False, help_text="The model that generates answers in evaluation runs.")
    model__provider = _text("Provider", required=False, help_text="Required if there are parameters.")
    model__params = JSONTextField(label="Parameters", required=False, help_text='Example: {"temperature": 0.7}.')
    panel = forms.CharField(required=False, widget=forms.HiddenInput)
    aggregation = forms.ChoiceField(
        label="Aggregation", choices=[(str(key), label) for key, label in AGGREGATION_LABELS.items()]
    )
    retry__max_attempts = forms.IntegerField(label="Attempts", required=False, help_text="For each score, 1 to 20.")
    retry__backoff_ms = SpanField(
        label="First wait", required=False, help_text="Delay before the second attempt. It doubles each time."
    )
    retry__max_backoff_ms = SpanField(label="Longest wait", required=False, help_text="Upper limit of the delay.")
    deadline_ms = SpanField(label="Deadline", required=False, help_text="No attempt begins after it. 1 s to 30 d.")
    review__below_confidence = forms.FloatField(
        label="Review below confidence",
        required=False,
        help_text="0 to 1. Scores with a lower confidence wait for a reviewer. If empty, none do.",
    )
    review__blind = forms.BooleanField(
        label="Blind reviews", required=False,
        help_text="Reviewers see the grader’s score and reasoning only after their decision.",
    )  # fmt: skip
    options__include_dimensions = forms.BooleanField(label="Ask graders for dimensions", required=False)
    options__include_explanation = forms.BooleanField(label="Ask graders for an explanation", required=False)
    share_text = forms.BooleanField(
        label="Share prompts and responses with the graders’ owners", required=False,
        help_text="Owners can then read what their graders judged for this task. Graders receive it in any case.",
    )  # fmt: skip
    use_calibration = forms.BooleanField(
        label="Use calibrated values", required=False,
        help_text="Rewards use the calibrated value of a score where it has one.",
    )  # fmt: skip
    retention__text_days = forms.IntegerField(
        label="Keep text for (days)", required=False, help_text="If empty, the organization’s retention applies."
    )
    metadata = JSONTextField(label="Metadata", required=False, help_text="A JSON object for your own use.")
    archived = forms.BooleanField(
        label="Archived", required=False, help_text="Hides the task from the usual list. You can undo this."
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(
        self, data: Any = None, *, choices: Choices, task: Task | None = None, grader: str = "", more_rows: int = 0
    ) -> None:
        """Create the form. `grader` is the public id of the grader with which a new task's panel begins."""
        super().__init__(data, initial=initial_values(task, grader))
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
        """The JSON pointer of a field in the request body, in which the panel has no empty rows."""
        member, _, row = name.partition("_")
        if member in ROW and row.isdigit():
            chosen = self._chosen()
            position = chosen.index(int(row)) if int(row) in chosen else MAX_PANEL + int(row)
            return f"/graders/{position}/{ROW[member]}"
        return super().pointer(name)

    def values(self) -> dict[str, Any]:
        """The request body. The model is an object if it has a provider, else a name. It omits an unchanged panel."""
        body = super().values()
        for name in ("seen", "panel"):
            body.pop(name, None)
        body.pop("graders", None)
        entries = [self._entry(row) for row in self._chosen()]
        if self.task is None or entries != _present(self.task):
            body["graders"] = entries
        body["model"] = _model(body.get("model", {}))
        for member, text in text_members(self.task).items():
            if _plain(text) == (body.get(member) or ""):
                del body[member]  # it stays exactly as it is, with its line ends
        return body

    def refuse(self, error: AutotuneError) -> None:
        """Add the errors to the form, each with its place within a field's JSON."""
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
            "part": cleaned[f"part_{at}"] or str(PanelPart.SCORING),
        }

    def _chosen(self) -> list[int]:
        """The rows in which a grader is chosen."""
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
            label="Part", required=False, choices=[(str(part), str(part)) for part in PanelPart]
        ),
    }  # fmt: skip


def _row_count(data: Any, filled: int) -> int:
    """The number of rows of the submitted form; a new form has those of the panel and some empty ones."""
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
