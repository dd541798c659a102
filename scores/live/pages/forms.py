"""Forms that create, change and try a reward endpoint."""

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
from scores.states import RewardProtocol

PROTOCOLS: dict[str, tuple[str, str, str]] = {  # name, what calls it, and the trainer's own setting
    RewardProtocol.OPENRLHF: ("OpenRLHF", "Its remote reward model:", "--reward.remote_url"),
    RewardProtocol.SLIME: ("slime", "Its remote reward model:", "--rm-type remote_rm"),
    RewardProtocol.VERIFY: ("NeMo Gym", "A resources server that forwards its body to", "/verify"),
    RewardProtocol.FOUNDRY: ("Foundry", "The endpoint grader of Microsoft Foundry", ""),
}
POLICIES = {
    "hold": ("Hold", "Answers 503, so that the trainer retries. Use it for graders that are sometimes slow."),
    "neutral": ("Neutral value", "Answers a number that you choose, and counts it as a stand-in. No grader gave it."),
    "error": ("Error", "Answers 503 while scoring is pending and 502 after a failure. The trainer may stop."),
}
WITHOUT_TEXT = {
    "unscored": ("Do not judge it", "It gets no score. An empty text that was sent as text is judged."),
    "empty": ("Judge an empty text", "Graders see in the conversation what the model did instead."),
    "strict": ("Do not judge it or blank text", "A text of only spaces gets no score either."),
}
NUMBER = forms.NumberInput(attrs={"step": "any", "min": "0", "max": "1", "inputmode": "decimal"})


class RewardEndpointForm(BodyForm):
    """The fields that creation and change share."""

    clears: ClassVar[frozenset[str]] = frozenset()

    unscored = forms.ChoiceField(
        label="Answer without a score", choices=[(name, title) for name, (title, _) in POLICIES.items()],
        widget=forms.RadioSelect,
    )  # fmt: skip
    without_text = forms.ChoiceField(
        label="Response without text", choices=[(name, title) for name, (title, _) in WITHOUT_TEXT.items()],
        widget=forms.RadioSelect, required=False, initial="unscored",
    )  # fmt: skip
    neutral_value = forms.FloatField(
        label="Neutral value", required=False, min_value=0, max_value=1, widget=NUMBER,
        help_text="A number from 0 to 1, such as 0.5. Required for Neutral value; with Hold it replaces failed scores.",
    )  # fmt: skip
    model_id = forms.CharField(
        label="Model", required=False, max_length=200,
        help_text="The model of the completions that this endpoint receives. Default: live.",
    )  # fmt: skip
    deadline_ms = forms.IntegerField(
        label="Deadline (ms)", required=False, min_value=1,
        help_text="How long a call may take. Default: a little less than the trainer's own timeout.",
    )  # fmt: skip


class NewRewardEndpointForm(RewardEndpointForm):
    """`POST /reward-endpoints`."""

    task_id = IdField(label="Task")
    protocol = forms.ChoiceField(label="Trainer", widget=forms.RadioSelect)

    def __init__(self, data: Mapping[str, Any] | None, principal: Principal, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        task: Any = self.fields["task_id"]
        task.offer(choices.tasks(principal), none="Choose a task")
        task.keep(str((data or kwargs.get("initial", {})).get("task_id", "")))
        self.fields["protocol"].choices = [(name, PROTOCOLS[name][0]) for name in offered()]  # type: ignore[attr-defined]


class RewardEndpointChangeForm(RewardEndpointForm):
    """`PATCH /reward-endpoints/:id`; an emptied field returns to its default."""

    clears = frozenset({"neutral_value", "model_id", "deadline_ms"})

    @classmethod
    def of(cls, endpoint: RewardEndpoint) -> "RewardEndpointChangeForm":
        names = ("unscored", "without_text", "neutral_value", "model_id", "deadline_ms")
        return cls(initial={name: getattr(endpoint, name) for name in names})


class EndpointTryForm(BodyForm):
    """A prompt and a response to score."""

    pointers: ClassVar[Mapping[str, str]] = {"prompt": "/0/prompt", "response": "/0/response", "label": "/0/metadata"}

    prompt = forms.CharField(widget=forms.Textarea(attrs={"rows": 3}), strip=False)
    response = forms.CharField(widget=forms.Textarea(attrs={"rows": 3}), strip=False)
    label = forms.CharField(label="Reference answer", required=False, help_text="Graders see it as metadata.")


def offered() -> list[str]:
    """Return the protocols that this server supports."""
    return [protocol for protocol in PROTOCOLS if protocol != RewardProtocol.FOUNDRY or settings.FOUNDRY_GRADER]


def deadlines() -> list[tuple[str, int, int]]:
    """Return (trainer, default, maximum) in milliseconds for each protocol."""
    return [(PROTOCOLS[protocol][0], *DEADLINES_MS[protocol]) for protocol in offered()]
