"""The form of an export: the members of `POST /exports` as fields, named in the address as the API names them."""

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

FIRST = {"layout": "records", "format": "jsonl", "per": "completion", "naming": "snake", "strategy": "best_worst"}
FORMATS = {**words.FORMATS, "json": "JSON, up to 10,000 rows"}
INCLUDES = {
    "": "Nothing",
    "metadata": "Metadata",
    "variables": "Prompt variables",
    "metadata,variables": "Metadata and variables",
}
STRATEGIES = {
    "best_worst": "Best against worst of each prompt",
    "all": "Each two answers that differ enough",
    "random": "Drawn at random",
}


class Unit(forms.FloatField):
    """A number from 0 to 1."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.NumberInput(attrs={"step": "any", "min": "0", "max": "1", "inputmode": "decimal"})
        super().__init__(required=False, widget=widget, **kwargs)


class Whole(forms.IntegerField):
    """A whole number that may be left empty."""

    def __init__(self, most: int | None = None, **kwargs: Any) -> None:
        attrs = {"min": "0", "inputmode": "numeric", **({"max": str(most)} if most else {})}
        super().__init__(required=False, widget=forms.NumberInput(attrs=attrs), **kwargs)


class ExportForm(BodyForm):
    """All that an export can be asked for. What does not go with the layout is hidden, and counts for nothing."""

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
    min_score = Unit(label="Score from", help_text="0 to 1.")
    max_score = Unit(label="Score to", help_text="0 to 1.")
    min_confidence = Unit(label="Confidence from", help_text="0 to 1.")
    min_reward = Unit(label="Reward from", help_text="0 to 1, of the whole panel.")
    start_date = forms.CharField(label="Scored from", required=False, help_text="Days are those of UTC.")
    end_date = forms.CharField(label="Scored until", required=False, help_text="This day is counted too.")
    per = forms.ChoiceField(
        label="A row for each", required=False,
        choices=[("completion", "completion, with its reward"), ("grader", "score of a grader")],
    )  # fmt: skip
    dimensions = forms.BooleanField(label="Dimensions as an object on each row", required=False)
    dimension_columns = forms.BooleanField(label="Each dimension as a column", required=False)
    threshold = Unit(label="Good from", help_text="0.5 unless given.")
    conversational = forms.BooleanField(label="Messages (role and content) in place of texts", required=False)
    tools = forms.BooleanField(label="Include rows with tool calls (requires messages)", required=False)
    include = forms.ChoiceField(
        label="Include data of the completion", required=False, choices=list(INCLUDES.items()),
        help_text="Adds columns of JSON text.",
    )  # fmt: skip
    min_score_delta = Unit(label="Rewards apart by at least", help_text="0 unless given; equal rewards make no pair.")
    strategy = forms.ChoiceField(label="Which pairs", choices=list(STRATEGIES.items()), required=False)
    cap_per_prompt = Whole(label="Pairs of a prompt at most", most=MAX_CAP, help_text="1,000 with all, 1 at random.")
    seed = Whole(label="Seed", help_text="Another seed, another draw.")
    format = forms.ChoiceField(label="Format", choices=list(FORMATS.items()), required=False)
    compression = forms.ChoiceField(
        label="Compression", choices=choices_of(*CHOICES["compression"], none="none"), required=False
    )
    naming = forms.ChoiceField(
        label="Column names", choices=[("snake", "chosen_score"), ("camel", "chosenScore")], required=False
    )

    def __init__(self, parameters: Mapping[str, Any] | QueryDict, principal: Principal) -> None:
        """Always bound: an address is a form that was filled in, and an empty one asks for everything."""
        plain = {name: str(value) for name, value in parameters.items()}
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
            kind = "date" if not text or _is_day(text) else "text"  # a moment that an address names is kept
            self.fields[name].widget = forms.TextInput(attrs={"autocomplete": "off"})
            self.fields[name].widget.input_type = kind

    def add_prefix(self, field_name: str) -> str:
        """A field is called as the member is on the wire, so that `/exports/new?taskId=…` fills it in."""
        return self.pointer(field_name).removeprefix("/")

    def values(self) -> dict[str, Any]:
        """Without what belongs to other layouts or strategies, whose fields are not to be seen."""
        values = super().values()
        layout, strategy = values.get("layout"), values.get("strategy")
        for name, layouts in LAYOUTS_OF.items():
            if layout not in layouts:
                values.pop(self.add_prefix(name), None)
        if strategy == FIRST["strategy"]:  # as it is unless given
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
