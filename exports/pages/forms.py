"""The form of an export: the members of `POST /exports` as fields, with the API's names in the address."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import QueryDict

from autotune.access.principal import Principal
from autotune.core.pages.forms import BodyForm, choices_of
from exports.pages import words
from exports.pages.words import LAYOUTS
from exports.requests import CAPPED, CHOICES, LAYOUTS_OF, MAX_CAP
from scores.results import choices as results_choices
from scores.results.choices import IdField
from tasks.states import LISTED_SOURCES, CompletionSource

FIRST = {"layout": "records", "format": "jsonl", "per": "completion", "naming": "snake", "strategy": "best_worst"}
FORMATS = {**words.FORMATS, "json": "JSON, up to 10,000 rows"}
INCLUDES = {
    "": "Nothing",
    "metadata": "Metadata",
    "variables": "Prompt variables",
    "metadata,variables": "Metadata and variables",
}
SOURCES = {
    "": "API and manual",
    **{source: source.capitalize() for source in CompletionSource.values},
    ",".join(LISTED_SOURCES): "All but evaluation",
    ",".join(CompletionSource.values): "All",
}
STRATEGIES = {
    "best_worst": "Best and worst answer to each prompt",
    "all": "All pairs that differ enough",
    "random": "Random pairs",
}


class UnitIntervalField(forms.FloatField):
    """A number from 0 to 1."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.NumberInput(attrs={"step": "any", "min": "0", "max": "1", "inputmode": "decimal"})
        super().__init__(required=False, widget=widget, **kwargs)


class WholeNumberField(forms.IntegerField):
    """A whole number that may be left empty."""

    def __init__(self, most: int | None = None, **kwargs: Any) -> None:
        attrs = {"min": "0", "inputmode": "numeric", **({"max": str(most)} if most else {})}
        super().__init__(required=False, widget=forms.NumberInput(attrs=attrs), **kwargs)


class SourceField(forms.ChoiceField):
    """One of SOURCES: a list of sources, separated by commas; none if it is left empty."""

    def clean(self, value: Any) -> list[str]:
        text = super().clean(value)
        return text.split(",") if text else []


class ExportForm(BodyForm):
    """All options of an export. Fields that do not fit the layout are hidden and ignored."""

    layout = forms.ChoiceField(
        choices=[(layout.name, layout.title) for layout in LAYOUTS.values()], widget=forms.RadioSelect, required=False
    )
    task_id = IdField(label="Task", required=False)
    model_id = forms.CharField(
        label="Model",
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"list": "models", "spellcheck": "false"}),
    )
    grader_id = IdField(label="Grader", required=False)
    grader_version = IdField(label="Grader version", required=False)
    min_score = UnitIntervalField(label="Score from", help_text="0 to 1.")
    max_score = UnitIntervalField(label="Score to", help_text="0 to 1.")
    min_confidence = UnitIntervalField(label="Confidence from", help_text="0 to 1.")
    min_reward = UnitIntervalField(label="Reward from", help_text="0 to 1, for the whole panel.")
    start_date = forms.CharField(label="Scored from", required=False, help_text="In UTC, from the start of this day.")
    end_date = forms.CharField(label="Scored until", required=False, help_text="In UTC, including this day.")
    source = SourceField(
        label="Source", required=False, choices=list(SOURCES.items()),
        help_text="How Autotune received the completions. Held-out completions are never exported.",
    )  # fmt: skip
    per = forms.ChoiceField(
        label="One row per", required=False,
        choices=[("completion", "Completion, with its reward"), ("grader", "Score of a grader")],
    )  # fmt: skip
    dimensions = forms.BooleanField(label="Add dimensions as one object", required=False)
    dimension_columns = forms.BooleanField(label="Add each dimension as a column", required=False)
    threshold = UnitIntervalField(label="Good at or above", help_text="A reward from 0 to 1. Default: 0.5.")
    conversational = forms.BooleanField(label="Write messages (role and content) instead of plain text", required=False)
    tools = forms.BooleanField(label="Include rows with tool calls (requires messages)", required=False)
    include = forms.ChoiceField(
        label="Include completion data", required=False, choices=list(INCLUDES.items()),
        help_text="Adds columns that hold JSON text.",
    )  # fmt: skip
    min_score_delta = UnitIntervalField(
        label="Minimum reward difference", help_text="0 to 1. Default: 0; equal rewards never make a pair."
    )
    strategy = forms.ChoiceField(label="Which pairs", choices=list(STRATEGIES.items()), required=False)
    cap_per_prompt = WholeNumberField(
        label="Maximum pairs per prompt", most=MAX_CAP, help_text="Default: 1,000; random: 1."
    )
    seed = WholeNumberField(label="Seed", help_text="Change it to draw other pairs.")
    format = forms.ChoiceField(label="Format", choices=list(FORMATS.items()), required=False)
    compression = forms.ChoiceField(
        label="Compression", choices=choices_of(*CHOICES["compression"], none="none"), required=False
    )
    naming = forms.ChoiceField(
        label="Column names", choices=[("snake", "chosen_score"), ("camel", "chosenScore")], required=False
    )

    def __init__(self, parameters: Mapping[str, Any] | QueryDict, principal: Principal) -> None:
        """Bind the form to the address's parameters; without any, the export has no filters."""
        plain = {name: str(value) for name, value in parameters.items()}
        if isinstance(parameters, QueryDict) and "source" in plain:  # an address may repeat it
            plain["source"] = ",".join(parameters.getlist("source"))
        super().__init__({**FIRST, **{name: value for name, value in plain.items() if value}})
        choices_of_names = {
            "task_id": (results_choices.tasks(principal), "All tasks"),
            "grader_id": (results_choices.graders(principal), "Any grader"),
            "grader_version": (results_choices.versions(principal, plain.get("graderId", "")), "Any version"),
        }
        for name, (choices, none) in choices_of_names.items():
            field: Any = self.fields[name]
            field.offer(choices, none=none)
            field.keep(plain.get(self.add_prefix(name), ""))
        for name in ("start_date", "end_date"):
            text = plain.get(self.add_prefix(name), "")
            kind = "date" if not text or _is_day(text) else "text"  # keep a date and time from the address
            self.fields[name].widget = forms.TextInput(attrs={"autocomplete": "off"})
            self.fields[name].widget.input_type = kind

    def add_prefix(self, field_name: str) -> str:
        """Return the field's API name, so that `/exports/new?taskId=…` fills it in."""
        return self.pointer(field_name).removeprefix("/")

    def values(self) -> dict[str, Any]:
        """Drop values of other layouts or strategies, whose fields are hidden."""
        values = super().values()
        layout, strategy = values.get("layout"), values.get("strategy")
        for name, layouts in LAYOUTS_OF.items():
            if layout not in layouts:
                values.pop(self.add_prefix(name), None)
        if strategy == FIRST["strategy"]:  # equal to the default
            values.pop("strategy", None)
        if strategy not in CAPPED:
            values.pop("capPerPrompt", None)
        if strategy != "random":
            values.pop("seed", None)
        if not values.get("conversational"):
            values.pop("tools", None)
        return values


def _is_day(text: str) -> bool:
    return len(text) == 10 and text[4:5] == text[7:8] == "-"
