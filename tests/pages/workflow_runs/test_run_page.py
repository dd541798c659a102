"""One run: its timeline, what it waits for, and retry and cancel."""

from datetime import timedelta

import pytest
from django.utils import timezone

from scores.engine.timeline import entry
from tests.factories import GraderFactory, ReviewFactory, RunFactory, ScoreFactory, TaskFactory


@pytest.fixture
def world(visitor):
    client = visitor("training_operator")
    client.grader = GraderFactory(organization=client.organization, created_by=client.user, name="Judge one")
    client.task = TaskFactory(organization=client.organization, graders=[client.grader])
    return client


def test_the_timeline_shows_attempts_outcomes_and_latencies(world):
    now = timezone.now()
    steps = [
        entry(
            "call", 1, "timeout", started=now - timedelta(seconds=14), ended=now - timedelta(seconds=10), wake_at=now
        ),
        entry("hold", 1, "rate_limited", wake_at=now + timedelta(minutes=2)),
    ]
    run = RunFactory(
        completion__task=world.task,
        status="sleeping",
        attempt=1,
        error_code="timeout",
        steps=steps,
        wake_at=now + timedelta(minutes=2),
        started_at=now,
    )
    text = world.get(f"/workflow-runs/{run.public_id}").content.decode()
    assert "Call to the grader" in text
    assert "Timeout after 4.0 s" in text
    assert "Rate limit" in text
    assert "its grader is paused (rate limit)" in text
    assert "as attempt 2" in text
    assert 'data-live="5"' in text


def test_a_final_run_is_not_live_and_shows_its_score(world):
    score = ScoreFactory(run__completion__task=world.task, value=0.75)
    text = world.get(f"/workflow-runs/{score.run.public_id}").content.decode()
    assert "data-live" not in text
    assert "0.750" in text
    assert "Cancel this workflow run" not in text


def test_a_failed_run_says_what_to_change_and_is_retried(world):
    run = RunFactory(
        completion__task=world.task,
        status="failed",
        error_code="bad_signature",
        error_message="The signature is another one.",
        completed_at=timezone.now(),
    )
    text = world.get(f"/workflow-runs/{run.public_id}").content.decode()
    assert "The signature is another one." in text
    assert "Sign the exact bytes" in text
    assert world.post(f"/workflow-runs/{run.public_id}/retry").status_code == 302
    run.refresh_from_db()
    assert run.status == "pending"


def test_a_retry_of_an_unfailed_run_is_reported(world):
    run = RunFactory(completion__task=world.task)
    text = world.post(f"/workflow-runs/{run.public_id}/retry", follow=True).content.decode()
    assert "Only a failed run can be retried." in text


def test_an_unfinished_run_is_cancelled(world):
    run = RunFactory(completion__task=world.task)
    assert "Cancel this workflow run" in world.get(f"/workflow-runs/{run.public_id}").content.decode()
    world.post(f"/workflow-runs/{run.public_id}/cancel")
    run.refresh_from_db()
    assert (run.status, run.error_code) == ("failed", "cancelled")


def test_a_run_that_waits_for_a_person_links_to_its_review(world):
    review = ReviewFactory(run__completion__task=world.task)
    text = world.get(f"/workflow-runs/{review.run.public_id}").content.decode()
    assert "Waits for a reviewer" in text
    assert f"/reviews/{review.public_id}" in text


def test_a_grader_owner_can_only_read(visitor):
    owner = visitor("grader_owner")
    mine = GraderFactory(organization=owner.organization, created_by=owner.user)
    review = ReviewFactory(run__completion__task=TaskFactory(name="Not theirs", graders=[mine]))
    text = owner.get(f"/workflow-runs/{review.run.public_id}").content.decode()
    assert "Not theirs" not in text
    assert "Cancel this workflow run" not in text
    assert "/reviews/" not in text


def test_the_queries_are_few(world, django_assert_max_num_queries):
    score = ScoreFactory(run__completion__task=world.task)
    with django_assert_max_num_queries(20):
        assert world.get(f"/workflow-runs/{score.run.public_id}").status_code == 200
