"""A score under the task's `review.belowConfidence` is no score yet: the run waits for a person."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from autotune.webhooks.models import Event
from graders.models import Tally
from graders.verdicts import Dimension
from scores.models import Review, Reward, Score, WorkflowRun
from tests.factories import GraderFactory, public
from tests.scores.reviewing import subscribe
from tests.support.results import Bench, claim, judged, missed, save, state


@pytest.fixture
def bench(db):
    return Bench(review_below_confidence=0.6)


def test_a_score_of_low_confidence_opens_a_review_and_the_run_waits(bench):
    run = bench.run(error_code="timeout", error_message="No answer.", error_repeats=1)
    bench.save([bench.judged(claim(run), 0.25, 0.59, reasoning="Hm.", dimensions=(Dimension("tone", 0.5, 1.0),))])

    assert state(run)[:3] == ("waiting", "", 1)
    assert (run.waits_for, run.leased_until, run.completed_at, run.error_message) == ("review", None, None, "")
    review = Review.objects.get()
    assert (review.run_id, review.completion_id, review.task_id) == (run.pk, run.completion_id, run.task_id)
    assert (review.organization_id, review.grader_id) == (run.organization_id, run.grader_id)
    assert (review.grader_version_id, review.status) == (bench.grader.version_id, "open")
    assert (review.value, review.confidence, review.reasoning) == (0.25, 0.59, "Hm.")
    assert review.dimensions == [{"name": "tone", "value": 0.5, "weight": 1.0}]
    assert review.expires_at == run.wake_at
    assert abs(review.expires_at - datetime.now(UTC) - timedelta(days=30)) < timedelta(minutes=1)
    assert (Score.objects.count(), Reward.objects.count()) == (0, 0)


def test_the_time_for_a_review_is_a_setting(bench, settings):
    settings.REVIEW_DAYS = 2
    bench.save([bench.judged(claim(bench.run()), 0.25, 0.1)])
    assert abs(Review.objects.get().expires_at - datetime.now(UTC) - timedelta(days=2)) < timedelta(minutes=1)


@pytest.mark.parametrize("confidence", [0.6, 1.0])
def test_a_confident_score_needs_no_review(bench, confidence):
    run = bench.run()
    bench.save([bench.judged(claim(run), 0.25, confidence)])
    assert (state(run)[0], Review.objects.count(), Score.objects.count()) == ("completed", 0, 1)


def test_without_a_review_policy_no_score_waits(db):
    bench = Bench()
    bench.save([bench.judged(claim(bench.run()), 0.25, 0.0)])
    assert (Review.objects.count(), Score.objects.count()) == (0, 1)


def test_a_shadow_score_is_never_reviewed(bench):
    bench.save([bench.judged(claim(bench.run(panel_size=0)), 0.25, 0.0)])
    assert (Review.objects.count(), Score.objects.get().purpose) == (0, "shadow")


def test_scores_failures_and_reviews_are_saved_in_one_group(bench):
    sure, unsure, bad = (bench.run() for _ in range(3))
    bench.save([bench.judged(claim(sure), 0.5, 0.9), bench.judged(claim(unsure), 0.5, 0.1)], [missed(claim(bad))])
    assert [state(run)[0] for run in (sure, unsure, bad)] == ["completed", "waiting", "failed"]


def test_the_grader_is_counted_once_when_it_answers(bench):
    bench.save([bench.judged(claim(bench.run()), 0.25, 0.1)])
    tally = Tally.objects.get()
    assert (tally.scored, tally.value_sum) == (1, 0.25)


def test_a_second_answer_of_a_waiting_run_is_dropped(bench):
    """Its lease ran out, a rival took it: both answer, in either order of confidence."""
    run = bench.run()
    first, second = claim(run), claim(run)
    bench.save([bench.judged(first, 0.25, 0.1)])
    bench.save([bench.judged(second, 0.75, 0.2)])
    bench.save([bench.judged(second, 0.75, 0.9)])
    bench.save(bad=[missed(second)])
    assert state(run)[0] == "waiting"
    assert (Review.objects.get().value, Score.objects.count(), Tally.objects.count()) == (0.25, 0, 2)
    assert [tally.scored for tally in Tally.objects.order_by("id")] == [1, 0]


def test_a_run_that_has_ended_opens_no_review(bench):
    run = bench.run()
    held = claim(run)
    WorkflowRun.objects.filter(pk=run.pk).update(status="failed")
    bench.save([bench.judged(held, 0.25, 0.1)])
    assert (state(run)[0], Review.objects.count()) == ("failed", 0)


@pytest.mark.parametrize("status", ["pending", "sleeping", "running", "waiting"])
def test_a_late_response_opens_a_review_in_any_state_of_the_run(bench, status):
    run = bench.run()
    held = claim(run)
    WorkflowRun.objects.filter(pk=run.pk).update(
        status=status, attempt=7, waits_for="callback" if status == "waiting" else ""
    )
    bench.save([bench.judged(held, 0.25, 0.1)])
    assert (state(run)[0], run.waits_for, Review.objects.count()) == ("waiting", "review", 1)


def test_a_retried_run_may_be_reviewed_again(bench):
    run = bench.run()
    bench.save([bench.judged(claim(run), 0.25, 0.1)])
    Review.objects.update(status="rejected")
    bench.save([bench.judged(claim(run), 0.5, 0.2)])
    assert list(Review.objects.order_by("id").values_list("status", "value")) == [("rejected", 0.25), ("open", 0.5)]


def test_a_run_has_at_most_one_open_review(bench):
    run = bench.run()
    bench.save([bench.judged(claim(run), 0.25, 0.1)])
    bench.save([bench.judged(claim(run), 0.5, 0.2)])  # the run was taken up again, and its review not closed
    assert list(Review.objects.order_by("id").values_list("status", flat=True)) == ["cancelled", "open"]


def test_a_batch_of_reviews_costs_few_queries(bench, django_assert_max_num_queries):
    claimed = [claim(bench.run()) for _ in range(20)]
    bench.save([bench.judged(claim(bench.run()), 0.25, 0.1)])  # the data key is made
    with django_assert_max_num_queries(22):
        bench.save([bench.judged(each_claim, 0.25, 0.1) for each_claim in claimed])
    assert Review.objects.count() == 21


def test_the_preliminary_reasoning_is_encrypted(bench):
    bench.save([bench.judged(claim(bench.run()), 0.25, 0.1, reasoning="a secret thought")])
    with connection.cursor() as cursor:
        cursor.execute("select reasoning from scores_review")
        assert b"secret" not in bytes(cursor.fetchone()[0])


# --- the event ------------------------------------------------------------------------------------------------------


def test_subscribers_get_an_event_with_a_link_to_the_page(bench, settings, visitor):
    settings.PUBLIC_URL = "https://autotune.example.org"
    subscribe(bench.task.organization, "review.requested")
    run = bench.run()
    bench.save([bench.judged(claim(run), 0.25, 0.1)])
    event, review = Event.objects.get(), Review.objects.get()
    assert (event.kind, event.organization_id) == ("review.requested", bench.task.organization_id)
    assert event.data == {
        "reviewId": public("rev", review),
        "completionId": public("comp", run.completion),
        "preliminaryScore": 0.25,
        "reviewUrl": f"https://autotune.example.org/reviews/{public('rev', review)}",
    }
    reviewer = visitor("reviewer", bench.task.organization)
    page = reviewer.get(event.data["reviewUrl"].removeprefix("https://autotune.example.org"))
    assert (page.status_code, public("rev", review) in page.content.decode()) == (200, True)


def test_a_rolled_back_review_emits_no_event(bench, monkeypatch):
    from scores.engine import recording

    subscribe(bench.task.organization, "review.requested")
    run = bench.run()
    held = claim(run)
    with monkeypatch.context() as patched:
        patched.setattr(recording.tallies, "record", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            bench.save([bench.judged(held, 0.25, 0.1)])
    assert (state(run)[0], Review.objects.count(), Event.objects.count()) == ("running", 0, 0)


def test_a_panel_waits_for_its_one_review(db):
    from tests.factories import CompletionFactory, RunFactory, TaskFactory

    graders = [GraderFactory(), GraderFactory()]
    task = TaskFactory(graders=graders, review_below_confidence=0.6)
    completion = CompletionFactory(task=task)
    sure, unsure = (RunFactory(completion=completion, grader=grader, panel_size=2) for grader in graders)
    save(graders[1], [judged(claim(unsure), 0.5, 0.1, version_id=task.version_id)])
    save(graders[0], [judged(claim(sure), 0.5, 0.9, version_id=task.version_id)])
    assert (state(sure)[0], state(unsure)[0], Reward.objects.count()) == ("completed", "waiting", 0)
