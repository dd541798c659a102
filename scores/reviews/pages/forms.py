"""The form of a decision, and the names of the people who claimed or decided."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django import forms

from autotune.access.frame.people import EmailAddresses
from autotune.access.principal import Principal
from autotune.core.pages.forms import BodyForm
from scores.models import Review
from scores.reviews.decisions import ReviewDecision
from scores.reviews.requests import DecisionBody, decision_of


class ReviewDecisionForm(BodyForm):
    """The form of a decision: approve with the grader's score (no value) or another, or reject and ignore the value."""

    approved = forms.TypedChoiceField(
        choices=[("true", "Approve"), ("false", "Reject")], coerce=lambda text: text == "true", empty_value=None
    )
    value = forms.FloatField(min_value=0, max_value=1, required=False)
    explanation = forms.CharField(required=False, widget=forms.Textarea(attrs={"rows": 4}))

    def clean_explanation(self) -> str:
        """Normalize line ends: a browser sends two characters for each."""
        return self.cleaned_data["explanation"].replace("\r\n", "\n")

    def values(self) -> dict[str, Any]:
        values = super().values()
        if not values.get("approved"):
            values.pop("value", None)
        return values

    def decision(self) -> ReviewDecision:
        """Return the decision; raises Invalid as the API does."""
        return decision_of(self.body(DecisionBody))


def people(principal: Principal, reviews: Iterable[Review]) -> dict[UUID, str]:
    """Name the people who claimed or decided: `you`, the address of a member whom the reader may see, else the id."""
    user_ids = {pk for review in reviews for pk in (review.claimed_by_id, review.decided_by_id) if pk}
    names = EmailAddresses(principal, user_ids)
    return {pk: names.of(pk) for pk in user_ids}
