"""The form of a webhook."""

from collections.abc import Iterable
from typing import Any

from django import forms

from autotune.access.principal import Principal
from autotune.core.pages.forms import BodyForm
from autotune.webhooks import rules
from autotune.webhooks.states import EventKind

ABOUT = {
    EventKind.SCORE_COMPLETED: "a completion has its final reward",
    EventKind.SCORE_FAILED: "a completion got no reward, and why",
    EventKind.GRADER_STATUS_CHANGED: "a grader went active, degraded or out of service",
    EventKind.REVIEW_REQUESTED: "a person is asked to give a score",
    EventKind.EXPORT_COMPLETED: "an export is over",
}


class WebhookForm(BodyForm):
    """`held`: the kinds that the webhook has already; they are offered whoever edits it."""

    url = forms.CharField(
        max_length=2_000,
        label="Address",
        widget=forms.URLInput(attrs={"placeholder": "https://hooks.example.com/autotune", "class": "code"}),
        help_text="https, reachable from this server. Its query may hold a secret of yours: lists mask it.",
    )
    events = forms.MultipleChoiceField(widget=forms.CheckboxSelectMultiple, label="Events")
    description = forms.CharField(
        max_length=1_000, required=False, label="Description", widget=forms.Textarea(attrs={"rows": 2})
    )
    clears = frozenset({"description"})

    def __init__(self, principal: Principal, *args: Any, held: Iterable[str] = (), **more: Any) -> None:
        super().__init__(*args, **more)
        self.held = list(held)
        offered = [kind for kind in rules.SUBSCRIBABLE if kind in self.held or not rules.refused(principal, [kind])]
        self.fields["events"].choices = [  # type: ignore[attr-defined]
            (kind.value, f"{kind.value}: {ABOUT[kind]}") for kind in offered
        ]
        self.offered = [kind.value for kind in offered]
        self.withheld = len(rules.SUBSCRIBABLE) - len(offered)

    def values(self) -> dict[str, Any]:
        """Events that are as they were are not set anew: who edits an address need not be allowed to read them."""
        values = super().values()
        if self.held and sorted(values.get("events", [])) == sorted(self.held):
            values.pop("events", None)
        return values
