"""`Score.details`: encrypted, private where the reasoning is, and gone wherever the reasoning goes."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from autotune.core.crypto import reencryption
from scores.models import Review, Score, WorkflowRun
from scores.results import privacy
from scores.retention import erasing, purging
from tests.factories import GraderFactory, ReviewFactory, ScoreFactory, UserFactory, public
from tests.support.results import Bench, claim

pytestmark = pytest.mark.django_db
MARK = "a-sample-of-the-judge"
DETAILS = {"criteria": [{"id": "tone", "explanation": MARK, "failed": False}], "n": 1e308, "ü": None}


def stored():
    return Score.objects.values_list("details", flat=True).get()


# --- save -------------------------------------------------------------------------------------------------------------


def test_details_of_a_verdict_are_stored_encrypted():
    bench = Bench()
    bench.save([bench.judged(claim(bench.run()), details=DETAILS)])
    assert Score.objects.get().details == DETAILS
    assert MARK.encode() not in bytes(stored())


def test_without_details_the_column_is_null_and_an_empty_object_is_not():
    bench = Bench()
    bench.save([bench.judged(claim(bench.run()), 0.1), bench.judged(claim(bench.run()), 0.2, details={})])
    assert [score.details for score in Score.objects.order_by("value")] == [None, {}]


@pytest.mark.parametrize(("body", "kept"), [({}, True), ({"explanation": "Right."}, True), ({"value": 0.25}, False)])
def test_a_review_keeps_them_for_an_approval_but_not_for_another_value(api_for, body, kept):
    bench = Bench(review_below_confidence=0.5)
    bench.save([bench.judged(claim(bench.run()), 0.25, 0.1, details=DETAILS)])
    review = Review.objects.get()
    assert review.details == DETAILS
    api = api_for(role="reviewer", organization=review.organization)
    assert api.post(f"/reviews/{review.public_id}/decision", {"approved": True, **body}).status_code == 200
    assert Score.objects.get().details == (DETAILS if kept else None)


def test_both_columns_are_in_the_reencryption():
    assert {"scores.Score.details", "scores.Review.details", "feedback.Feedback.explanation"} <= set(
        reencryption.columns()
    )


# --- erasure, purge and deletion --------------------------------------------------------------------------------------


@pytest.fixture
def scored():
    """A score and a review of one completion, with details and without reasoning."""
    review = ReviewFactory(reasoning=None, details=DETAILS)
    return ScoreFactory(run=review.run, details=DETAILS)


def test_an_erasure_clears_them_also_where_there_is_no_reasoning(scored):
    erasing.erase([scored.completion_id], end_unfinished=True)
    assert (Score.objects.get().details, Review.objects.get().details) == (None, None)


def test_a_deleted_score_has_none_left(api_for, scored):
    api = api_for(organization=scored.organization)
    assert api.delete(f"/scores/{public('score', scored)}").status_code == 204
    assert (Score.objects.get().details, Review.objects.get().details) == (None, None)


def test_a_purge_deletes_the_rows(scored):
    WorkflowRun.objects.update(status="completed", waits_for="")
    assert purging.purge([scored.completion_id], scored_before=timezone.now() + timedelta(days=1)) == 1
    assert (Score.objects.count(), Review.objects.count()) == (0, 0)


# --- who sees them ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("redacts", [False, True])
@pytest.mark.parametrize("kind", ["score", "review"])
def test_the_administration_shows_them_to_superusers_unless_the_grader_redacts_reasoning(client, kind, redacts):
    grader = GraderFactory(redact_reasoning=redacts)
    row = {"score": ScoreFactory, "review": ReviewFactory}[kind](
        run__completion__task__graders=[grader], reasoning=None, details=DETAILS
    )
    address = reverse(f"admin:scores_{kind}_change", args=[row.pk])
    client.force_login(UserFactory(is_staff=True, is_superuser=True))
    page = client.get(address).content.decode()
    assert (MARK in page, privacy.KEPT in page) == (not redacts, redacts)
    client.force_login(UserFactory(is_staff=True))
    assert MARK not in client.get(address).content.decode()


def test_no_list_loads_them(client):
    for n in range(3):
        ScoreFactory(details={**DETAILS, "n": n})
    client.force_login(UserFactory(is_staff=True, is_superuser=True))
    assert MARK not in client.get(reverse("admin:scores_score_changelist")).content.decode()


def test_the_api_shows_no_details(api_for, scored):
    api = api_for(organization=scored.organization)
    review = Review.objects.get().public_id
    for path in ("/scores", f"/scores/{public('score', scored)}", "/reviews", f"/reviews/{review}"):
        answer = api.get(path)
        assert answer.status_code == 200
        assert MARK.encode() not in answer.content
