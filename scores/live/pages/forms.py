"""The forms of reward endpoints: made, changed, tried."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.conf import settings

from autotune.access.principal import Principal
from autotune.core.pages.forms import BodyForm
from scores.live.endpoints import DEADLINES_MS
from scores.models import RewardEndpoint
from scores.results import choices
from scores.results.choices import IdField
from scores.states import Protocol

PROTOCOLS: dict[str, tuple[str, str, str]] = {  # name, what calls, and the word of the trainer's that names it
    Protocol.OPENRLHF: ("OpenRLHF", "Its remote reward model:", "--reward.remote_url"),
    Protocol.SLIME: ("slime", "Its remote reward model:", "--rm-type remote_rm"),
    Protocol.VERIFY: ("NeMo Gym", "A resources server that passes its body on to", "/verify"),
    Protocol.FOUNDRY: ("Foundry", "The endpoint grader of Microsoft Foundry", ""),
}
POLICIES = {
    "hold": ("Hold", "503, so that the trainer asks again; for graders that take longer now and then."),
    "neutral": ("Neutral value", "A number of yours stands in, and is counted. It is nobody's judgement."),
    "error": ("Error", "503 while pending, 502 once it failed; the trainer may stop."),
}
WITHOUT_TEXT = {
    "unscored": ("Do not judge it", "It has no score. An empty text that was sent as text is judged."),
    "empty": ("Judge an empty text", "Graders find what the answer did instead in the conversation."),
    "strict": ("Do not judge it, nor blank text", "A text of nothing but spaces has no score either."),
}
NUMBER = forms.NumberInput(attrs={"step": "any", "min": "0", "max": "1", "inputmode": "decimal"})


class PolicyForm(BodyForm):
    """What both creation and change ask."""

    clears: ClassVar[frozenset[str]] = frozenset()

    unscored = forms.ChoiceField(
        label="What is answered without a score", choices=[(name, title) for name, (title, _) in POLICIES.items()],
        widget=forms.RadioSelect,
    )  # fmt: skip
    without_text = forms.ChoiceField(
        label="An answer that holds no text", choices=[(name, title) for name, (title, _) in WITHOUT_TEXT.items()],
        widget=forms.RadioSelect, required=False, initial="unscored",
    )  # fmt: skip
    neutral_value = forms.FloatField(
        label="Neutral value", required=False, min_value=0, max_value=1, widget=NUMBER,
        help_text="0 to 1. The neutral policy needs one; with Hold it stands in for what failed.",
    )  # fmt: skip
    model_id = forms.CharField(
        label="Model", required=False, max_length=200,
        help_text="Of the completions that come in here, as you will find them later; live unless given.",
    )  # fmt: skip
    deadline_ms = forms.IntegerField(
        label="Deadline in milliseconds", required=False, min_value=1,
        help_text="How long a call may take. Unless given, a little less than the trainer's own patience.",
    )  # fmt: skip


class NewForm(PolicyForm):
    """`POST /reward-endpoints`."""

    task_id = IdField(label="Task")
    protocol = forms.ChoiceField(label="Who calls it", widget=forms.RadioSelect)

    def __init__(self, data: Mapping[str, Any] | None, principal: Principal, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        task: Any = self.fields["task_id"]
        task.offer(choices.tasks(principal), none="Choose a task")
        task.keep(str((data or kwargs.get("initial", {})).get("task_id", "")))
        self.fields["protocol"].choices = [(name, PROTOCOLS[name][0]) for name in offered()]  # type: ignore[attr-defined]


class ChangeForm(PolicyForm):
    """`PATCH /reward-endpoints/:id`; a field that is emptied is as it would be by default."""

    clears = frozenset({"neutral_value", "model_id", "deadline_ms"})

    @classmethod
    def of(cls, endpoint: RewardEndpoint) -> "ChangeForm":
        names = ("unscored", "without_text", "neutral_value", "model_id", "deadline_ms")
        return cls(initial={name: getattr(endpoint, name) for name in names})


class TryForm(BodyForm):
    """One answer of a model."""

    pointers: ClassVar[Mapping[str, str]] = {"prompt": "/0/prompt", "response": "/0/response", "label": "/0/metadata"}

    prompt = forms.CharField(widget=forms.Textarea(attrs={"rows": 3}), strip=False)
    response = forms.CharField(widget=forms.Textarea(attrs={"rows": 3}), strip=False)
    label = forms.CharField(label="Reference answer", required=False, help_text="Graders see it as metadata.")


def offered() -> list[str]:
    """The protocols that this server speaks."""
    return [protocol for protocol in PROTOCOLS if protocol != Protocol.FOUNDRY or settings.FOUNDRY_GRADER]


def deadlines() -> list[tuple[str, int, int]]:
    """(who calls, default, most) in milliseconds."""
    return [(PROTOCOLS[protocol][0], *DEADLINES_MS[protocol]) for protocol in offered()]
