"""Erasure clears the explanations of feedback and keeps its values; a purge deletes it with its completion."""

from datetime import timedelta

import pytest
from django.utils import timezone

from scores.feedback.models import Feedback
from scores.models import Review, Score, WorkflowRun
from scores.retention import deleting, erasing, purging
from tasks.models import Completion
from tests.factories import FeedbackFactory, LegalHoldFactory, ReviewFactory

pytestmark = pytest.mark.django_db


def stored():
    return list(Feedback.objects.order_by("pk").values_list("value", "explanation"))


@pytest.fixture
def decided(api_for):
    """A review that a person has approved, with an explanation."""
    review = ReviewFactory()
    api = api_for(role="reviewer", organization=review.organization)
    body = {"approved": True, "explanation": "the customer's text"}
    assert api.post(f"/reviews/{review.public_id}/decision", body).status_code == 200
    return review


def test_an_erasure_keeps_values_and_clears_explanations(decided):
    other = FeedbackFactory(completion=decided.completion, value=None, raw_value=None, replaced_at=timezone.now())
    untouched = FeedbackFactory()
    erasing.erase([decided.completion_id], end_unfinished=True)
    rows = Feedback.objects.in_bulk()
    assert (rows[other.pk].value, rows[other.pk].explanation) == (None, None)
    assert rows.pop(untouched.pk).explanation == "Right."
    assert {row.explanation for row in rows.values()} == {None}
    assert Feedback.objects.get(review=decided).value == 0.25


def test_a_legal_hold_keeps_explanations(decided):
    LegalHoldFactory(organization=decided.organization)
    erasing.erase([decided.completion_id], end_unfinished=True)
    assert Feedback.objects.get().explanation == "the customer's text"


def test_a_purge_deletes_it_before_its_review(decided):
    FeedbackFactory(completion=decided.completion)
    later = timezone.now() + timedelta(days=1)
    assert purging.purge([decided.completion_id], scored_before=later) == 1
    assert (Feedback.objects.count(), Review.objects.count(), WorkflowRun.objects.count()) == (0, 0, 0)
    assert not Completion.objects.exists()


def test_deleting_the_score_of_a_review_clears_what_the_reviewer_wrote_and_keeps_the_value(decided):
    deleting.delete_score(Score.objects.get().pk)
    assert stored() == [(0.25, None)]


def test_deleting_another_score_leaves_it(decided):
    other = FeedbackFactory(completion=decided.completion)
    deleting.delete_score(Score.objects.get().pk)
    other.refresh_from_db()
    assert other.explanation == "Right."
