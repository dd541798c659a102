"""From a submitted completion to its score: the drain against a grader in another thread, over real HTTP."""

from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone

from autotune.core.clock import database_now
from graders.models import Tally
from scores.engine import sweep
from scores.models import Reward, Score, WorkflowRun
from tests.factories import CompletionFactory, GraderFactory, RunFactory, TaskFactory, public
from tests.support.fakes import refuse


def runs_of(task, count):
    return [RunFactory(completion=CompletionFactory(task=task, response=str(n))) for n in range(count)]


# --- what graders say -----------------------------------------------------------------------------------------------


def test_a_batch_grader_scores_everything_once(task, grader, fake, drain):
    runs = runs_of(task, 25)
    drain(grader)
    assert Score.objects.count() == Reward.objects.count() == 25
    assert {run.status for run in WorkflowRun.objects.all()} == {"completed"}
    assert sorted(fake.items) == sorted(public("comp", run.completion) for run in runs)
    assert all(path == "/score/batch" for path, _ in fake.calls)


def test_each_score_is_that_of_its_own_completion(task, grader, fake, drain):
    fake.judge = lambda completion: int(completion["response"]) / 100
    runs_of(task, 25)
    drain(grader)
    for score in Score.objects.select_related("completion"):
        assert score.value == int(score.completion.response) / 100


def test_a_grader_without_batches_is_called_for_each(db, fake, drain):
    grader = GraderFactory(endpoint=fake.url, max_batch_size=1, max_concurrency=4)
    runs_of(TaskFactory(organization=grader.organization, graders=[grader]), 9)
    drain(grader)
    assert Score.objects.count() == 9
    assert {path for path, _ in fake.calls} == {"/score"}


def test_dimensions_and_reasoning_are_stored(task, grader, fake, drain):
    fake.judge = lambda completion: {
        "value": 1, "confidence": 0.5, "reasoning": "<b>because</b>",
        "dimensions": [{"name": "style", "value": 0.25, "weight": 1}],
    }  # fmt: skip
    runs_of(task, 1)
    drain(grader)
    score = Score.objects.get()
    assert (score.value, score.reasoning) == (1.0, "<b>because</b>")
    assert score.dimensions == [{"name": "style", "value": 0.25, "weight": 1.0}]


def test_reasoning_is_ciphertext_in_the_table(task, grader, fake, drain):
    fake.judge = lambda completion: {"value": 1, "confidence": 1, "reasoning": "a secret thought"}
    runs_of(task, 1)
    drain(grader)
    assert b"secret" not in bytes(Score.objects.values_list("reasoning", flat=True).get())


def test_members_that_were_not_requested_are_dropped(task, grader, fake, drain):
    type(task).objects.update(include_dimensions=False, include_explanation=False)
    fake.judge = lambda completion: {
        "value": 1, "confidence": 1, "reasoning": "r", "dimensions": [{"name": "a", "value": 1, "weight": 1}],
    }  # fmt: skip
    runs_of(task, 1)
    drain(grader)
    score = Score.objects.get()
    assert (score.reasoning, score.dimensions) == (None, None)


def test_an_error_of_the_grader_is_a_failure_and_not_a_zero(task, grader, fake, drain):
    fake.judge = lambda completion: "no reference answer"
    (run,) = runs_of(task, 1)
    drain(grader)
    run.refresh_from_db()
    assert (run.status, run.error_code, Score.objects.count()) == ("failed", "grader_error", 0)
    assert "no reference answer" in run.error_message
    reward = Reward.objects.get()
    assert (reward.value, reward.error_code, reward.failed) == (None, "grader_error", 1)


def test_one_invalid_item_fails_without_the_others(task, grader, fake, drain):
    fake.judge = lambda completion: {"value": 7 if completion["response"] == "3" else 0.5, "confidence": 1}
    runs_of(task, 8)
    drain(grader)
    failed = WorkflowRun.objects.get(status="failed")
    assert (failed.error_code, Score.objects.count()) == ("out_of_range", 7)


def test_a_retryable_failure_sleeps_and_no_attempt_is_lost(task, grader, fake, drain):
    fake.script = refuse(503)
    (run,) = runs_of(task, 1)
    drain(grader)
    run.refresh_from_db()
    assert (run.status, run.failures, run.error_code) == ("sleeping", 1, "grader_unavailable")
    assert run.wake_at is not None
    assert Reward.objects.count() == 0


def test_retries_end_at_the_tasks_limit(task, grader, fake, drain):
    type(task).objects.update(max_attempts=2)
    (run,) = runs_of(task, 1)
    for _ in range(2):
        fake.script = refuse(500)
        WorkflowRun.objects.update(status="pending")
        drain(grader)
    run.refresh_from_db()
    assert (run.status, run.failures, run.error_code) == ("failed", 2, "grader_unavailable")


def test_retry_after_is_honoured(task, grader, fake, drain):
    def busy(handler, path, request):
        return 429, {"error": "slow down"}, False, {"Retry-After": "120"}

    fake.script = [busy]
    (run,) = runs_of(task, 1)
    drain(grader)
    run.refresh_from_db()
    wait = run.wake_at - database_now()
    assert (run.status, run.error_code) == ("sleeping", "rate_limited")
    assert timedelta(seconds=110) < wait <= timedelta(seconds=120)


def test_a_missing_item_is_requested_again(task, grader, fake, drain):
    def half(handler, path, body):
        item = body["completions"][0]
        score = {"completionId": item["id"], "score": {"value": 1, "confidence": 1}}
        return 200, {"requestId": body["requestId"], "scores": [score]}, True

    fake.script = [half]
    runs_of(task, 2)
    drain(grader)
    assert sorted(WorkflowRun.objects.values_list("status", "error_code")) == [
        ("completed", ""), ("sleeping", "missing_item"),
    ]  # fmt: skip


def test_too_many_items_are_sent_in_halves(task, grader, fake, drain):
    fake.script = refuse(413)
    runs_of(task, 8)
    drain(grader)
    assert Score.objects.count() == 8
    assert [len(body["completions"]) for _, body in fake.calls] == [8, 4, 4]


@pytest.mark.parametrize("status", [301, 302, 307])
def test_a_redirect_is_not_followed(task, grader, fake, drain, status):
    fake.script = refuse(status, signed=False)
    (run,) = runs_of(task, 1)
    drain(grader)
    run.refresh_from_db()
    assert (run.status, run.error_code) == ("failed", "redirect_refused")


def test_a_signed_410_makes_the_grader_inactive_and_fails_waiting_runs(task, grader, fake, drain):
    type(grader).objects.update(max_concurrency=1)
    fake.script = refuse(410)
    runs_of(task, 30)
    work = drain(grader)
    assert work.gone
    sweep.fail_gone(grader.pk)
    grader.refresh_from_db()
    assert grader.status == "inactive"
    assert set(WorkflowRun.objects.values_list("status", flat=True)) == {"failed"}
    assert Reward.objects.filter(value=None).count() == 30


def test_an_answer_with_another_secret_is_never_recorded(task, grader, fake, drain):
    fake.secret = "atgs_somebodyelse00000000000000000000000000000000000"
    (run,) = runs_of(task, 1)
    drain(grader)
    run.refresh_from_db()
    assert (run.status, run.error_code, Score.objects.count()) == ("sleeping", "bad_signature", 0)
    WorkflowRun.objects.update(status="pending")
    drain(grader)
    run.refresh_from_db()
    assert (run.status, run.error_code) == ("failed", "bad_signature")


def test_a_202_is_refused_while_no_callback_was_offered(task, grader, fake, drain):
    fake.script = [lambda handler, path, body: (202, {"requestId": body["requestId"], "status": "accepted"}, True)]
    (run,) = runs_of(task, 1)
    drain(grader)
    run.refresh_from_db()
    assert (run.status, run.error_code) == ("failed", "accepted_without_callback")
    assert "callbackUrl" not in fake.calls[0][1]


def test_a_run_past_its_deadline_is_not_called(task, grader, fake, drain):
    (run,) = runs_of(task, 1)
    WorkflowRun.objects.update(deadline_at=timezone.now() - timedelta(seconds=1))
    drain(grader)
    run.refresh_from_db()
    assert (run.status, run.error_code, fake.calls) == ("failed", "deadline_exceeded", [])


def test_higher_priority_goes_first_then_age(task, grader, fake, drain):
    type(grader).objects.update(max_batch_size=1, max_concurrency=1)
    old, new = runs_of(task, 2)
    urgent = RunFactory(completion=CompletionFactory(task=task), priority=2)
    drain(grader)
    assert fake.items == [public("comp", run.completion) for run in (urgent, old, new)]


def test_the_counters_match_the_saved_scores(task, grader, fake, drain):
    fake.judge = lambda completion: "bad" if completion["response"] == "0" else 0.95
    runs_of(task, 5)
    drain(grader)
    tallies = Tally.objects.all()
    assert sum(tally.scored for tally in tallies) == 4
    assert sum(tally.errors.get("grader_error", 0) for tally in tallies) == 1
    assert sum(tally.histogram[9] for tally in tallies) == 4


# --- what cannot be called for --------------------------------------------------------------------------------------


def test_runs_past_their_deadline_do_not_block_others(task, grader, fake, drain):
    late = runs_of(task, 60)
    WorkflowRun.objects.update(deadline_at=timezone.now() - timedelta(seconds=1))
    runs_of(task, 5)
    drain(grader)
    assert Counter(WorkflowRun.objects.values_list("status", "error_code", "failures")) == {
        ("failed", "deadline_exceeded", 0): len(late), ("completed", "", 0): 5,
    }  # fmt: skip
    assert Reward.objects.filter(error_code="deadline_exceeded").count() == 60


def test_a_claim_without_callable_runs_is_followed_by_the_next(db, fake, drain):
    grader = GraderFactory(endpoint=fake.url, max_batch_size=1, max_concurrency=1)
    runs_of(TaskFactory(organization=grader.organization, graders=[grader]), 7)
    WorkflowRun.objects.update(deadline_at=timezone.now() - timedelta(seconds=1))
    drain(grader)
    assert WorkflowRun.objects.filter(status="failed").count() == 7


def test_an_erased_text_fails_only_its_own_run(task, grader, fake, drain):
    runs = runs_of(task, 25)
    erased = runs[3]
    type(erased.completion).objects.filter(pk=erased.completion_id).update(prompt=None, response=None)
    drain(grader)
    erased.refresh_from_db()
    assert (erased.status, erased.error_code) == ("failed", "text_erased")
    assert Score.objects.count() == 24
    assert Reward.objects.get(pk=erased.completion_id).value is None


def test_a_failed_attempt_whose_wait_would_pass_the_deadline_is_the_last(task, grader, fake, drain):
    fake.script = [lambda handler, path, request: (503, {"error": "busy"}, False, {"Retry-After": "60"})]
    (run,) = runs_of(task, 1)
    WorkflowRun.objects.update(deadline_at=timezone.now() + timedelta(seconds=30))
    drain(grader)
    run.refresh_from_db()
    assert (run.status, run.error_code, run.failures) == ("failed", "deadline_exceeded", 1)
