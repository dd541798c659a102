"""Forms of graders, over the API's bodies."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from django import forms

from autotune.core.errors import Conflict
from autotune.core.pages.forms import BodyForm, JSONTextField, LinesField
from graders import requests, trying
from graders.credentials import DEFAULT_GRACE_HOURS, MAX_GRACE_HOURS
from graders.models import Grader
from graders.templatetags.grader_parts import VISIBILITIES

CAPABILITY: Final = "capabilities__"
TAKEN: Final = "Another grader of the organization has this name."


class TextField(forms.CharField):
    """A text of several lines, with the line ends that everybody but a browser sends."""

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value) or "").replace("\r\n", "\n")


class GraderForm(BodyForm):
    """What a grader is registered with."""

    clears: ClassVar[frozenset[str]] = frozenset(
        {
            "description", "pins", "limits__rate_per_minute", "limits__max_concurrency", "limits__timeout_ms",
            "limits__batch_timeout_ms",
        }
    )  # fmt: skip

    name = forms.CharField(max_length=200, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    endpoint = forms.CharField(
        max_length=2048, label="Address",
        help_text="The base URL, on https. /score, /score/batch and /health are appended to it.",
        widget=forms.URLInput(
            attrs={"placeholder": "https://grader.example.org", "autocomplete": "off", "class": "code"}
        ),
    )  # fmt: skip
    description = TextField(
        required=False, max_length=10_000,
        help_text="What it judges, and by which scale. Whoever may use it reads this.",
        widget=forms.Textarea(attrs={"rows": 4}),
    )  # fmt: skip
    capabilities__domains = LinesField(
        required=False, label="Domains",
        help_text="One on each line, such as law or maths. The marketplace finds it by them.",
    )  # fmt: skip
    visibility = forms.ChoiceField(
        label="Who may put it into tasks", choices=list(VISIBILITIES.items()), initial="private",
        widget=forms.RadioSelect,
    )  # fmt: skip
    capabilities__max_batch_size = forms.IntegerField(
        required=False, min_value=1, max_value=1000, label="Completions in one call",
        help_text="1 to 1000; without it 1. More than one needs /score/batch.",
    )  # fmt: skip
    capabilities__avg_latency_ms = forms.IntegerField(
        required=False, min_value=0, max_value=600_000, label="Usual latency in ms",
        help_text="What you expect, for estimates; without it 1000. What is measured stands beside it.",
    )  # fmt: skip
    capabilities__supports_dimensions = forms.BooleanField(required=False, label="It can score by dimensions")
    capabilities__supports_explanations = forms.BooleanField(required=False, label="It can explain its scores")
    capabilities__supports_async = forms.BooleanField(
        required=False, label="It may answer later, by a callback",
        help_text="Then it may answer 202 and send the result to the callbackUrl of the request.",
    )  # fmt: skip
    limits__rate_per_minute = forms.IntegerField(
        required=False, min_value=1, max_value=10_000_000, label="Calls a minute",
        help_text="Empty for no limit.",
    )  # fmt: skip
    limits__max_concurrency = forms.IntegerField(
        required=False, min_value=1, max_value=1024, label="Calls at once", help_text="1 to 1024; without it 16."
    )
    limits__timeout_ms = forms.IntegerField(
        required=False, min_value=100, max_value=30_000, label="Time limit of a call in ms",
        help_text="100 to 30,000; without it 4000.",
    )  # fmt: skip
    limits__batch_timeout_ms = forms.IntegerField(
        required=False, min_value=100, max_value=120_000, label="Time limit of a batch in ms",
        help_text="100 to 120,000; without it 30,000.",
    )  # fmt: skip
    pins = LinesField(
        required=False, label="Pins of its certificate",
        help_text="SHA-256 of public keys (SPKI) in base64, one on each line, up to 8. Its certificate must have one.",
        widget=forms.Textarea(attrs={"rows": 2, "class": "code", "spellcheck": "false"}),
    )  # fmt: skip
    redaction__reasoning = forms.BooleanField(required=False, label="Only your organization reads its reasoning")
    redaction__dimensions = forms.BooleanField(required=False, label="Only your organization reads its dimensions")

    basics: ClassVar[tuple[str, ...]] = ("name", "endpoint", "description", "capabilities__domains")
    abilities: ClassVar[tuple[str, ...]] = (
        "capabilities__max_batch_size", "capabilities__avg_latency_ms", "capabilities__supports_dimensions",
        "capabilities__supports_explanations", "capabilities__supports_async",
    )  # fmt: skip
    limits: ClassVar[tuple[str, ...]] = (
        "limits__rate_per_minute", "limits__max_concurrency", "limits__timeout_ms", "limits__batch_timeout_ms",
    )  # fmt: skip
    privacy: ClassVar[tuple[str, ...]] = ("visibility", "redaction__reasoning", "redaction__dimensions")

    def group(self, names: tuple[str, ...]) -> list[forms.BoundField]:
        """The fields of one part of the page."""
        return [self[name] for name in names]

    @property
    def groups(self) -> Mapping[str, list[forms.BoundField]]:
        """The fields by part, for the template."""
        return {
            "basics": self.group(self.basics),
            "privacy": self.group(self.privacy),
            "numbers": [self[name] for name in self.abilities[:2]],
            "abilities": self.group(self.abilities[2:]),
            "limits": self.group(self.limits),
            "pins": self.group(("pins",)),
        }

    def refuse(self, error: Exception) -> None:
        if isinstance(error, Conflict) and error.code == "name_taken":
            self.is_valid()
            self.add_error("name", TAKEN)
        else:
            super().refuse(error)  # type: ignore[arg-type]


class GraderEditForm(GraderForm):
    """The same for a change: what the person did not change is not sent, so that a rival's change of it stays.

    What a field held when the form was shown comes back with it, hidden.
    """

    def __init__(self, data: Any, grader: Grader) -> None:
        super().__init__(data, initial=_initial(grader))
        for field in self.fields.values():
            field.show_hidden_initial = True

    def values(self) -> dict[str, Any]:
        changed = set(self.changed_data)
        if any(name.startswith(CAPABILITY) for name in changed):  # they are replaced as a whole
            changed |= {name for name in self.fields if name.startswith(CAPABILITY)}
        all_cleaned_data, self.cleaned_data = (
            self.cleaned_data,
            {k: v for k, v in self.cleaned_data.items() if k in changed},
        )
        try:
            return super().values()
        finally:
            self.cleaned_data = all_cleaned_data


def _initial(grader: Grader) -> dict[str, Any]:
    """The grader as the form shows it."""
    initial: dict[str, Any] = {"name": grader.name, "endpoint": grader.endpoint, "description": grader.description}
    initial |= {"visibility": grader.visibility, "pins": grader.pins}
    initial |= {"redaction__reasoning": grader.redact_reasoning, "redaction__dimensions": grader.redact_dimensions}
    for prefix, shape in ((CAPABILITY, requests.CapabilitiesIn), ("limits__", requests.LimitsIn)):
        initial |= {f"{prefix}{name}": getattr(grader, name) for name in shape.__struct_fields__}
    return initial


class RotateForm(BodyForm):
    """A new secret, and how long the one before stays valid."""

    grace_hours = forms.FloatField(
        min_value=0, max_value=MAX_GRACE_HOURS, initial=DEFAULT_GRACE_HOURS,
        label="Hours for which the secret before stays valid",
        help_text="0 refuses it at once: then calls fail until the grader has the new one.",
    )  # fmt: skip
    force = forms.BooleanField(
        required=False, label="Also within the grace period of the last rotation",
        help_text="Then the oldest of the three secrets is refused at once.",
    )  # fmt: skip


class TryForm(BodyForm):
    """One sample for a grader."""

    system_prompt = TextField(
        max_length=trying.MAX_TEXT, required=False, strip=False, widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Sent as completion.systemPrompt. Leave it empty to test a task without a system prompt.",
    )  # fmt: skip
    prompt = TextField(
        max_length=trying.MAX_TEXT, strip=False, initial="What is 2 + 2?", widget=forms.Textarea(attrs={"rows": 4})
    )
    response = TextField(max_length=trying.MAX_TEXT, strip=False, initial="4", widget=forms.Textarea(attrs={"rows": 6}))
    metadata = JSONTextField(
        required=False, help_text="A JSON object, as completions of your tasks carry it.",
        widget=forms.Textarea(attrs={"rows": 3, "class": "code", "spellcheck": "false"}),
    )  # fmt: skip


class DeleteForm(forms.Form):
    """The name, typed, so that nobody deletes what they did not mean."""

    name = forms.CharField(
        label="Type its name to delete it", strip=False, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )

    def __init__(self, data: Any, grader: Grader) -> None:
        super().__init__(data, label_suffix="")
        self.grader = grader

    def clean_name(self) -> str:
        typed: str = self.cleaned_data["name"]
        if _plain(typed) != _plain(self.grader.name):
            raise forms.ValidationError("This is not its name.")
        return typed


def _plain(name: str) -> str:
    """As an input line gives it back: browsers take line breaks out."""
    return " ".join(name.split())
