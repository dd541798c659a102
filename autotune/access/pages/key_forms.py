"""The forms of API keys."""

from typing import Any

from django import forms

from autotune.access.pages import role_choices
from autotune.access.principal import Principal
from autotune.access.requests import MAX_GRACE_HOURS, MAX_NETWORKS
from autotune.core.pages.forms import BodyForm, LinesField

NETWORKS = (
    "The only networks from which the key works: one on each line, such as 192.0.2.0/24 or 2001:db8::/32. "
    "Empty: it works from everywhere."
)


class NewKeyForm(BodyForm):
    name = forms.CharField(
        max_length=200, label="Name", help_text="The program that uses it, such as “nightly training”."
    )
    role = forms.ChoiceField(label="Role", help_text="Limits what the key may do. It never may do more than you.")
    kind = forms.ChoiceField(
        choices=[("live", "live"), ("test", "test: only graders of your own organization")], label="Kind"
    )
    expires_at = forms.CharField(
        max_length=40,
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        label="Last valid day (UTC)",
        help_text="The key works until the end of this day. Empty: it works until it is revoked.",
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


class KeyRotationForm(BodyForm):
    grace_hours = forms.TypedChoiceField(
        coerce=int,
        choices=[
            (0, "none: revoke it at once"),
            (1, "1 hour"),
            (24, "1 day"),
            (72, "3 days"),
            (MAX_GRACE_HOURS, "7 days"),
        ],
        initial=24,
        label="Grace period of the old key",
    )
