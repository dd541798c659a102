"""The form of a decision, and the people that reviews name."""

from collections.abc import Iterable
from typing import Any, Final
from uuid import UUID

from django import forms

from autotune.access.pages.people import Names
from autotune.access.principal import Principal
from autotune.core.pages.forms import BodyForm
from scores.models import Review
from scores.reviews.decisions import Decision
from scores.reviews.requests import DecisionBody, decision_of

MAX_EXPLANATION: Final = 20_000


class DecisionForm(BodyForm):
    """Approves with the grader's score (no value) or another one, or rejects: then a value counts for nothing."""

    approved = forms.TypedChoiceField(
        choices=[("true", "Approve"), ("false", "Reject")], coerce=lambda text: text == "true", empty_value=None
    )
    value = forms.FloatField(min_value=0, max_value=1, required=False)
    explanation = forms.CharField(required=False, widget=forms.Textarea(attrs={"rows": 4}))

    def clean_explanation(self) -> str:
        """Line ends as they were typed: a form sends two characters for each."""
        return self.cleaned_data["explanation"].replace("\r\n", "\n")

    def values(self) -> dict[str, Any]:
        values = super().values()
        if not values.get("approved"):
            values.pop("value", None)
        return values

    def decision(self) -> Decision:
        """raises Invalid, as the API does"""
        return decision_of(self.body(DecisionBody))


def people(principal: Principal, reviews: Iterable[Review]) -> dict[UUID, str]:
    """The people who claimed or decided: `you`, the address of a member whom the reader may see, else only the id."""
    user_ids = {pk for review in reviews for pk in (review.claimed_by_id, review.decided_by_id) if pk}
    names = Names(principal, user_ids)
    return {pk: names.of(pk) for pk in user_ids}
