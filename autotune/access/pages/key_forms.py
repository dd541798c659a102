"""The forms of API keys."""

from typing import Any

from django import forms

from autotune.access.pages import role_choices
from autotune.access.principal import Principal
from autotune.access.requests import MAX_GRACE_HOURS, MAX_NETWORKS
from autotune.core.pages.forms import BodyForm, LinesField

NETWORKS = (
    "One a line, such as 192.0.2.0/24 or 2001:db8::/32: elsewhere the key is refused. Empty: it works from everywhere."
)


class NewKeyForm(BodyForm):
    name = forms.CharField(
        max_length=200, label="Name", help_text="What uses it, so that you know it again: “nightly training”."
    )
    role = forms.ChoiceField(
        label="Role", help_text="What the key may do; never more than you may yourself at that moment."
    )
    kind = forms.ChoiceField(
        choices=[("live", "live"), ("test", "test: only graders of your own organization")], label="Kind"
    )
    expires_at = forms.CharField(
        max_length=40,
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        label="Ends after",
        help_text="The last day on which it works, in UTC. Empty: until it is revoked.",
    )
    networks = LinesField(required=False, label="Networks", help_text=NETWORKS)

    def __init__(self, principal: Principal, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        choices = role_choices.given_by(principal, principal.organization)
        self.fields["role"].choices = [role_choices.NONE, *choices]  # type: ignore[attr-defined]


class KeyForm(BodyForm):
    name = forms.CharField(max_length=200, label="Name")
    networks = LinesField(required=False, label="Networks", help_text=f"{NETWORKS} At most {MAX_NETWORKS}.")
    clears = frozenset({"networks"})


class RotateForm(BodyForm):
    grace_hours = forms.TypedChoiceField(
        coerce=int,
        choices=[
            (0, "not at all"),
            (1, "for an hour"),
            (24, "for a day"),
            (72, "for three days"),
            (MAX_GRACE_HOURS, "for a week"),
        ],
        initial=24,
        label="The old key works on",
    )
