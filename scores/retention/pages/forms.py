"""The forms of retention: days, what is held, what is erased."""

from typing import Any, Final

from django import forms

from autotune.access.requests import MAX_DAYS
from autotune.core.pages.forms import BodyForm

KINDS: Final = {"completionId": "one completion", "taskId": "a task", "modelId": "a model"}
WHOLE: Final = ""


class DaysForm(BodyForm):
    text_days = forms.IntegerField(
        min_value=1,
        max_value=MAX_DAYS,
        required=False,
        label="Days that texts are kept",
        help_text="From the submission until prompt, messages, response, metadata and reasoning are erased. Scores, "
        "rewards and times stay. A task may say other days. Empty: until somebody erases them.",
    )
    score_days = forms.IntegerField(
        min_value=1,
        max_value=MAX_DAYS,
        required=False,
        label="Days that scores are kept",
        help_text="Until completions are deleted with their scores, runs, rewards and reviews: they are in no list, "
        "figure or export any more. Empty: for good.",
    )
    pointers = {"text_days": "/retention/textDays", "score_days": "/retention/scoreDays"}
    clears = frozenset({"text_days", "score_days"})


class ScopeForm(BodyForm):
    """`what` is the member of the body, `which` its value."""

    what = forms.ChoiceField(label="What", widget=forms.RadioSelect)
    which = forms.CharField(
        max_length=200, required=False, label="Which", help_text="The id (comp_… or task_…), or the model's name."
    )

    def pointer(self, name: str) -> str:
        if name == "which":
            what = self.data.get("what", "")
            return f"/{what}" if what in KINDS else "/which"
        return super().pointer(name)

    def values(self) -> dict[str, Any]:
        """The body: `what` names the member."""
        values = super().values()
        values.pop("what", None)
        values.pop("again", None)
        return values

    def clean(self) -> None:
        super().clean()
        what, which = self.cleaned_data.get("what"), self.cleaned_data.get("which", "")
        if what in KINDS and not which:
            self.add_error("which", "Say which.")
        if what == WHOLE and which:
            self.add_error("which", "Leave this empty for the whole organization.")


class ErasureForm(ScopeForm):
    again = forms.CharField(
        max_length=200,
        label="The same once more",
        help_text="Type the id or the name again: what is erased cannot be had back.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.fields["what"].choices = list(KINDS.items())  # type: ignore[attr-defined]
        self.fields["which"].required = True

    def clean(self) -> None:
        super().clean()
        which, again = self.cleaned_data.get("which"), self.cleaned_data.get("again")
        if which and again and which != again:
            self.add_error("again", "This is not the same as above. Nothing is erased.")


class HoldForm(ScopeForm):
    reason = forms.CharField(
        max_length=2_000,
        label="Why",
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Stored encrypted, and shown to who may read retention: “case 12, until the court has decided”.",
    )
    field_order = ("what", "which", "reason")

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        choices = [*KINDS.items(), (WHOLE, "the whole organization")]
        self.fields["what"].choices = choices  # type: ignore[attr-defined]
        self.fields["what"].required = False
