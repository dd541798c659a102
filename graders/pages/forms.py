"""Forms of the grader pages, which fill the bodies of the API."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from django import forms

from autotune.core.errors import Conflict
from autotune.core.pages.forms import BodyForm, JSONTextField, LinesField
from graders import requests, trying
from graders.credentials import DEFAULT_GRACE_HOURS, MAX_GRACE_HOURS
from graders.models import Grader
from graders.pages.explanations import VISIBILITIES

CAPABILITY: Final = "capabilities__"
TAKEN: Final = "Another grader of the organization has this name. Enter another."


class MultilineField(forms.CharField):
    """A field for text of several lines. It replaces the browser's CR LF line ends with LF."""

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value) or "").replace("\r\n", "\n")


class GraderForm(BodyForm):
    """The form that registers a grader."""

    clears: ClassVar[frozenset[str]] = frozenset(
        {
            "description", "pins", "limits__rate_per_minute", "limits__max_concurrency", "limits__timeout_ms",
            "limits__batch_timeout_ms",
        }
    )  # fmt: skip

    name = forms.CharField(max_length=200, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    endpoint = forms.CharField(
        max_length=2048, label="Address",
        help_text="The base URL, with https. Autotune appends /score, /score/batch and /health to it.",
        widget=forms.URLInput(
            attrs={"placeholder": "https://grader.example.org", "autocomplete": "off", "class": "code"}
        ),
    )  # fmt: skip
    description = MultilineField(
        required=False, max_length=10_000,
        help_text="What the grader judges, and on which scale. Everybody who may use it can read this.",
        widget=forms.Textarea(attrs={"rows": 4}),
    )  # fmt: skip
    capabilities__domains = LinesField(
        required=False, label="Domains",
        help_text="One on each line, such as law or maths. People can filter the marketplace by them.",
    )  # fmt: skip
    visibility = forms.ChoiceField(
        label="Who may use it in tasks", choices=list(VISIBILITIES.items()), initial="private",
        widget=forms.RadioSelect,
    )  # fmt: skip
    capabilities__max_batch_size = forms.IntegerField(
        required=False, min_value=1, max_value=1000, label="Completions per call",
        help_text="Maximum in one call, 1 to 1000. Default: 1. More than 1 requires /score/batch.",
    )  # fmt: skip
    capabilities__avg_latency_ms = forms.IntegerField(
        required=False, min_value=0, max_value=600_000, label="Usual latency (ms)",
        help_text="The latency that you expect, for estimates. Default: 1000. Pages show it beside the measured one.",
    )  # fmt: skip
    capabilities__supports_dimensions = forms.BooleanField(required=False, label="It can score by dimensions")
    capabilities__supports_explanations = forms.BooleanField(required=False, label="It can explain its scores")
    capabilities__supports_async = forms.BooleanField(
        required=False, label="It can answer later, with a callback",
        help_text="It may then answer 202 and send the result to the callbackUrl of the request.",
    )  # fmt: skip
    limits__rate_per_minute = forms.IntegerField(
        required=False, min_value=1, max_value=10_000_000, label="Completions per minute",
        help_text="Maximum number of completions, not calls: a batch of 10 counts as 10. Leave it empty for no limit.",
    )  # fmt: skip
    limits__max_concurrency = forms.IntegerField(
        required=False, min_value=1, max_value=1024, label="Concurrent calls", help_text="1 to 1024. Default: 16."
    )
    limits__timeout_ms = forms.IntegerField(
        required=False, min_value=100, max_value=30_000, label="Call timeout (ms)",
        help_text="100 to 30,000. Default: 4000.",
    )  # fmt: skip
    limits__batch_timeout_ms = forms.IntegerField(
        required=False, min_value=100, max_value=120_000, label="Batch timeout (ms)",
        help_text="100 to 120,000. Default: 30,000.",
    )  # fmt: skip
    pins = LinesField(
        required=False, label="Certificate pins",
        help_text="SHA-256 of public keys (SPKI) in base64, one on each line, up to 8. Its certificate must match one.",
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
        """The fields by part of the page, for the template."""
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
    """The form that changes a grader. It sends only changed fields, so that other people's changes of others stay.

    Hidden inputs carry the initial values, so that the form finds the changed fields.
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
    """Return the grader's values as the form shows them."""
    initial: dict[str, Any] = {"name": grader.name, "endpoint": grader.endpoint, "description": grader.description}
    initial |= {"visibility": grader.visibility, "pins": grader.pins}
    initial |= {"redaction__reasoning": grader.redact_reasoning, "redaction__dimensions": grader.redact_dimensions}
    for prefix, shape in ((CAPABILITY, requests.CapabilitiesIn), ("limits__", requests.LimitsIn)):
        initial |= {f"{prefix}{name}": getattr(grader, name) for name in shape.__struct_fields__}
    return initial


class SecretRotationForm(BodyForm):
    """The form that rotates a secret, with the grace period of the previous one."""

    grace_hours = forms.FloatField(
        min_value=0, max_value=MAX_GRACE_HOURS, initial=DEFAULT_GRACE_HOURS,
        label="Grace period of the previous secret (hours)",
        help_text="With 0 it is no longer valid at once, and calls fail until the grader has the new secret.",
    )  # fmt: skip
    force = forms.BooleanField(
        required=False, label="Rotate even within the grace period of the last rotation",
        help_text="The oldest of the three secrets is then no longer valid.",
    )  # fmt: skip


class GraderTryForm(BodyForm):
    """The form that sends one sample to a grader."""

    system_prompt = MultilineField(
        max_length=trying.MAX_TEXT, required=False, strip=False, widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Sent as completion.systemPrompt. Leave it empty to test a task without a system prompt.",
    )  # fmt: skip
    prompt = MultilineField(
        max_length=trying.MAX_TEXT, strip=False, initial="What is 2 + 2?", widget=forms.Textarea(attrs={"rows": 4})
    )
    response = MultilineField(
        max_length=trying.MAX_TEXT, strip=False, initial="4", widget=forms.Textarea(attrs={"rows": 6})
    )
    metadata = JSONTextField(
        required=False, help_text='A JSON object, such as {"difficulty": "easy"}, as your completions carry it.',
        widget=forms.Textarea(attrs={"rows": 3, "class": "code", "spellcheck": "false"}),
    )  # fmt: skip


class GraderDeletionForm(forms.Form):
    """The form that deletes a grader. The person types its name, so that nobody deletes the wrong grader."""

    name = forms.CharField(
        label="Type its name to delete it", strip=False, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )

    def __init__(self, data: Any, grader: Grader) -> None:
        super().__init__(data, label_suffix="")
        self.grader = grader

    def clean_name(self) -> str:
        typed: str = self.cleaned_data["name"]
        if _plain(typed) != _plain(self.grader.name):
            raise forms.ValidationError("This is not the grader's name. Type the name exactly as shown.")
        return typed


def _plain(name: str) -> str:
    """Return a name as an input field returns it: browsers remove line breaks."""
    return " ".join(name.split())
