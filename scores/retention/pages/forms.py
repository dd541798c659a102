"""Forms of retention: days, legal holds and erasures."""

from typing import Any, Final

from django import forms

from autotune.access.requests import MAX_DAYS
from autotune.core.pages.forms import BodyForm

KINDS: Final = {"completionId": "one completion", "taskId": "a task", "modelId": "a model"}
WHOLE: Final = ""


class RetentionDaysForm(BodyForm):
    """The days for which an organization keeps text and scores."""

    text_days = forms.IntegerField(
        min_value=1,
        max_value=MAX_DAYS,
        required=False,
        label="Keep text (days)",
        help_text="Days from submission until prompt, messages, response, metadata and reasoning are erased, such as "
        "90. Scores, rewards and times stay. A task can have its own days. Empty: text stays until somebody erases it.",
    )
    score_days = forms.IntegerField(
        min_value=1,
        max_value=MAX_DAYS,
        required=False,
        label="Keep scores (days)",
        help_text="Days after submission and the newest score until a completion is deleted with its scores, workflow "
        "runs, rewards and reviews, such as 365. No list, chart or export shows it afterwards. Empty: scores stay "
        "forever.",
    )
    pointers = {"text_days": "/retention/textDays", "score_days": "/retention/scoreDays"}
    clears = frozenset({"text_days", "score_days"})


class RetentionScopeForm(BodyForm):
    """A form with a scope: `what` is the member of the body, `which` its value."""

    what = forms.ChoiceField(label="Scope", widget=forms.RadioSelect)
    which = forms.CharField(
        max_length=200, required=False, label="Id or model", help_text="The id (comp_… or task_…), or the model's name."
    )

    def pointer(self, name: str) -> str:
        if name == "which":
            what = self.data.get("what", "")
            return f"/{what}" if what in KINDS else "/which"
        return super().pointer(name)

    def values(self) -> dict[str, Any]:
        """Return the body, in which `what` names the member."""
        values = super().values()
        values.pop("what", None)
        values.pop("again", None)
        return values

    def clean(self) -> None:
        super().clean()
        what, which = self.cleaned_data.get("what"), self.cleaned_data.get("which", "")
        if what in KINDS and not which:
            self.add_error("which", "Enter the id or the name of the model.")
        if what == WHOLE and which:
            self.add_error("which", "Leave this empty for the whole organization.")


class ErasureForm(RetentionScopeForm):
    """What to erase, typed twice."""

    again = forms.CharField(
        max_length=200,
        label="Type it again to confirm",
        help_text="Enter the same id or name as above: erased text cannot be recovered.",
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
            self.add_error("again", "This differs from the value above. Nothing was erased.")


class LegalHoldForm(RetentionScopeForm):
    """What to hold, and the reason."""

    reason = forms.CharField(
        max_length=2_000,
        label="Reason",
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Stored encrypted. People who may read retention can see it. Example: “case 12, until the verdict”.",
    )
    field_order = ("what", "which", "reason")

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        choices = [*KINDS.items(), (WHOLE, "the whole organization")]
        self.fields["what"].choices = choices  # type: ignore[attr-defined]
        self.fields["what"].required = False
