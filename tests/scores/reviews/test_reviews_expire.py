"""A review without a decision expires: its run fails with a reason."""

from datetime import timedelta

import pytest
from django.utils import timezone

from scores.engine.sweep import sweep
from scores.models import Review, Reward, Score, WorkflowRun
from scores.reviews import decisions
from tests.factories import ReviewFactory, UserFactory
from tests.support.results import state


@pytest.fixture
def review(db):
    return ReviewFactory()


def past(review):
    return review.expires_at + timedelta(seconds=1)


def test_a_review_past_its_time_fails_the_run(review):
    Review.objects.update(claimed_by=UserFactory(), claimed_until=past(review))
    assert decisions.expire(past(review)) == 1
    assert state(review.run)[:2] == ("failed", "review_expired")
    assert (review.run.waits_for, review.run.wake_at) == ("", None)
    review.refresh_from_db()
    assert (review.status, review.claimed_by, review.decided_by) == ("expired", None, None)
    assert (Score.objects.count(), Reward.objects.get().error_code) == (0, "review_expired")


def test_a_review_expires_once(review):
    assert decisions.expire(past(review)) == 1
    assert decisions.expire(past(review)) == 0
    assert Reward.objects.count() == 1


def test_a_review_does_not_expire_early(review):
    assert decisions.expire(timezone.now()) == 0
    assert (state(review.run)[0], Review.objects.get().status) == ("waiting", "open")


@pytest.mark.parametrize("status", ["failed", "pending", "completed"])
def test_a_run_that_no_longer_waits_is_unchanged(review, status):
    WorkflowRun.objects.update(status=status, waits_for="")
    assert decisions.expire(past(review)) == 0
    assert (state(review.run)[0], Review.objects.get().status) == (status, "cancelled")


def test_the_sweep_expires_reviews(review):
    Review.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    sweep()
    assert (state(review.run)[1], Review.objects.get().status) == ("review_expired", "expired")
