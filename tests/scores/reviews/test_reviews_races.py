"""Reviews that several end at once: one wins, and the others learn what was decided."""

from datetime import timedelta

import pytest
from django.utils import timezone

from scores.models import Review, Reward, Score
from scores.reviews import decisions
from tests.conftest import Api
from tests.factories import (
    ApiKeyFactory,
    CompletionFactory,
    GraderFactory,
    ReviewFactory,
    RunFactory,
    TaskFactory,
    public,
)
from tests.support.concurrency import together
from tests.support.results import state

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)


@pytest.mark.parametrize("approved", [(True, True), (True, False)], ids=["same", "opposite"])
def test_of_two_concurrent_decisions_one_wins(approved):
    review = ReviewFactory()
    keys = [ApiKeyFactory(role="reviewer", organization=review.organization) for _ in approved]
    path = f"/reviews/{review.public_id}/decision"
    answers = together(
        *(
            lambda key=key, value=value: Api(key.text).post(path, {"approved": value})
            for key, value in zip(keys, approved, strict=True)
        )
    )
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    winner, loser = sorted(answers, key=lambda answer: answer.status_code)
    assert loser.json()["current"]["review"]["status"] == winner.json()["review"]["status"]
    approved_it = winner.json()["review"]["status"] == "approved"
    assert (Score.objects.count(), Reward.objects.count()) == (int(approved_it), 1)
    assert state(review.run)[0] == ("completed" if approved_it else "failed")


def test_of_a_concurrent_decision_and_expiry_one_wins():
    review = ReviewFactory()
    key = ApiKeyFactory(role="reviewer", organization=review.organization)
    past = review.expires_at + timedelta(seconds=1)
    answer, expired = together(
        lambda: Api(key.text).post(f"/reviews/{review.public_id}/decision", {"approved": True}),
        lambda: decisions.expire(past),
    )
    assert (answer.status_code, expired) in [(200, 0), (409, 1)]
    assert Reward.objects.get().error_code == ("" if expired == 0 else "review_expired")
    assert Score.objects.count() == 1 - expired


def test_of_a_concurrent_decision_and_cancel_one_wins():
    review = ReviewFactory()
    reviewer, operator = (
        Api(ApiKeyFactory(role=role, organization=review.organization).text)
        for role in ("reviewer", "training_operator")
    )
    decided, cancelled = together(
        lambda: reviewer.post(f"/reviews/{review.public_id}/decision", {"approved": True}),
        lambda: operator.post(f"/workflow-runs/{public('run', review.run)}/cancel"),
    )
    assert sorted([decided.status_code, cancelled.status_code]) == [200, 409]
    review.refresh_from_db()
    if decided.status_code == 200:
        assert (state(review.run)[0], review.status, Reward.objects.get().value) == ("completed", "approved", 0.25)
    else:
        assert (state(review.run)[1], review.status) == ("cancelled", "cancelled")
        assert Reward.objects.get().error_code == "cancelled"


def test_of_two_concurrent_claims_one_wins():
    review = ReviewFactory()
    keys = [ApiKeyFactory(role="reviewer", organization=review.organization) for _ in range(2)]
    answers = together(*(lambda key=key: Api(key.text).post(f"/reviews/{review.public_id}/claim") for key in keys))
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    (won,) = (key for key, answer in zip(keys, answers, strict=True) if answer.status_code == 200)
    assert Review.objects.get().claimed_by == won.user


def test_concurrent_decisions_on_a_panel_make_one_reward():
    """Each sees the other's score: the completion is locked first."""
    graders = [GraderFactory(), GraderFactory()]
    completion = CompletionFactory(task=TaskFactory(graders=graders))
    runs = [
        RunFactory(completion=completion, grader=grader, panel_size=2, status="waiting", waits_for="review")
        for grader in graders
    ]
    later = timezone.now() + timedelta(days=1)
    reviews = [ReviewFactory(run=run, expires_at=later) for run in runs]
    key = ApiKeyFactory(role="reviewer", organization=completion.organization)
    answers = together(
        *(
            lambda review=review, value=value: Api(key.text).post(
                f"/reviews/{review.public_id}/decision", {"approved": True, "value": value}
            )
            for review, value in zip(reviews, (0.0, 1.0), strict=True)
        )
    )
    assert [answer.status_code for answer in answers] == [200, 200]
    assert (Reward.objects.get().value, Reward.objects.get().used) == (0.5, 2)
