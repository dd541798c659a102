"""The form that adds or changes a webhook."""

from collections.abc import Iterable
from typing import Any

from django import forms

from autotune.access.principal import Principal
from autotune.core.pages.forms import BodyForm
from autotune.webhooks import rules
from autotune.webhooks.states import EventKind

ABOUT = {
    EventKind.SCORE_COMPLETED: "a completion has its final reward",
    EventKind.SCORE_FAILED: "a completion received no reward; the event says why",
    EventKind.GRADER_STATUS_CHANGED: "a grader became active, degraded or inactive",
    EventKind.REVIEW_REQUESTED: "a review waits for a person's decision",
    EventKind.EXPORT_COMPLETED: "an export has ended",
}


class WebhookForm(BodyForm):
    """The form of a webhook. `held` are the kinds that it already has; every editor is offered them."""

    url = forms.CharField(
        max_length=2_000,
        label="Address",
        widget=forms.URLInput(attrs={"placeholder": "https://hooks.example.com/autotune", "class": "code"}),
        help_text="Enter an https URL that this server can reach. Its query may contain a secret: lists mask it.",
    )
    events = forms.MultipleChoiceField(widget=forms.CheckboxSelectMultiple, label="Events")
    description = forms.CharField(
        max_length=1_000, required=False, label="Description", widget=forms.Textarea(attrs={"rows": 2})
    )
    clears = frozenset({"description"})

    def __init__(self, principal: Principal, *args: Any, subscribed: Iterable[str] = (), **more: Any) -> None:
        super().__init__(*args, **more)
        self.subscribed = list(subscribed)
        offered = [
            kind for kind in rules.SUBSCRIBABLE if kind in self.subscribed or not rules.refused(principal, [kind])
        ]
        self.fields["events"].choices = [  # type: ignore[attr-defined]
            (kind.value, f"{kind.value}: {ABOUT[kind]}") for kind in offered
        ]
        self.offered = [kind.value for kind in offered]
        self.withheld = len(rules.SUBSCRIBABLE) - len(offered)

    def values(self) -> dict[str, Any]:
        """Leave out events that did not change: a person who edits the address may not be allowed to read them."""
        values = super().values()
        if self.subscribed and sorted(values.get("events", [])) == sorted(self.subscribed):
            values.pop("events", None)
        return values
