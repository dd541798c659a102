"""Asynchronous graders: 202 now, the answer later, each completion scored once."""

from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from graders import credentials, registry
from graders.models import GraderSecret, GraderVersion
from graders.statistics import reports
from scores.engine import sweep
from scores.models import Callback, Reward, Score, WorkflowRun
from tasks.models import PanelMember
from tests.factories import SECRET, CompletionFactory, GraderFactory, RunFactory, TaskFactory, public
from tests.support.calling_back import call_back, status_and_code

GOOD = {"value": 0.75, "confidence": 0.9}
OTHER = {"value": 0.5, "confidence": 0.9}


@pytest.fixture
def fake(fake):
    fake.answers_later = True
    return fake


@pytest.fixture
def grader(db, fake):
    """An asynchronous grader without batches."""
    return GraderFactory(endpoint=fake.url, max_batch_size=1, supports_async=True)


@pytest.fixture
def accepted_run(fake, grader, task, drain):
    """`accepted_run()`: a run that its grader has accepted, and the request."""

    def make():
        run = RunFactory(completion=CompletionFactory(task=task))
        drain(grader)
        return run, fake.accepted[-1]

    return make


def callback_body(request, **result):
    return {"requestId": request["requestId"], **(result or {"score": GOOD})}


def seen(run):
    run.refresh_from_db()
    return run.status, run.waits_for, run.error_code


def later(run, **time):
    """As if so much time had passed since the run was accepted."""
    passed = timedelta(**time)
    callbacks = Callback.objects.filter(items__run=run).values("pk")
    Callback.objects.filter(pk__in=callbacks).update(
        created_at=F("created_at") - passed, expires_at=F("expires_at") - passed
    )
    WorkflowRun.objects.filter(pk=run.pk).update(wake_at=F("wake_at") - passed)


# --- the ordinary course --------------------------------------------------------------------------------------------


def test_an_accepted_run_waits_and_the_callback_completes_it(accepted_run, grader):
    run, request = accepted_run()
    assert seen(run) == ("waiting", "callback", "")
    assert run.wake_at == Callback.objects.get().expires_at
    assert not Score.objects.exists()
    assert status_and_code(call_back(request, callback_body(request))) == (200, "recorded")
    assert seen(run) == ("completed", "", "")
    score = Score.objects.get(run=run)
    assert (score.value, score.confidence, score.grader_version_id) == (0.75, 0.9, grader.version_id)
    assert Reward.objects.get(completion=run.completion).value == 0.75
    assert [(step["s"], step["o"]) for step in run.steps] == [("call", "accepted"), ("callback", "recorded")]


def test_the_request_says_where_and_until_when(accepted_run, settings):
    settings.PUBLIC_URL = "https://autotune.example.org"
    settings.CALLBACK_DEADLINE_S = 3_600
    before = timezone.now()
    _, request = accepted_run()
    base, _, token = request["callbackUrl"].rpartition("/")
    assert base == "https://autotune.example.org/api/v1/callbacks"
    assert len(token) == 43  # 256 random bits
    until = timezone.datetime.fromisoformat(request["callbackExpiresAt"])
    assert timedelta(minutes=59) < until - before < timedelta(minutes=61)
    stored = Callback.objects.get()
    assert token.encode() not in bytes(stored.token_digest)
    assert len(bytes(stored.token_digest)) == 32


def test_each_request_has_an_address_of_its_own(accepted_run):
    addresses = {accepted_run()[1]["callbackUrl"] for _ in range(3)}
    assert len(addresses) == 3


def test_a_synchronous_grader_gets_no_callback_address(fake, grader, task, drain):
    grader.supports_async = False
    grader.save()
    run = RunFactory(completion=CompletionFactory(task=task))
    drain(grader)
    assert "callbackUrl" not in fake.calls[0][1]
    assert seen(run) == ("completed", "", "")
    assert not Callback.objects.exists()


def test_an_asynchronous_grader_may_answer_at_once(fake, accepted_run, grader, task, drain):
    fake.answers_later = False
    run = RunFactory(completion=CompletionFactory(task=task))
    drain(grader)
    assert seen(run) == ("completed", "", "")
    request = fake.calls[0][1]
    assert status_and_code(call_back(request, callback_body(request))) == (409, "result_conflict")


def test_an_error_in_a_callback_fails_the_run_with_the_graders_words(accepted_run):
    run, request = accepted_run()
    assert status_and_code(call_back(request, callback_body(request, error="too long to judge"))) == (200, "recorded")
    assert seen(run) == ("failed", "", "grader_error")
    assert run.error_message == "too long to judge"
    assert not Score.objects.exists()
    assert status_and_code(call_back(request, callback_body(request, error="too long to judge"))) == (
        409,
        "already_recorded",
    )
    assert status_and_code(call_back(request, callback_body(request))) == (409, "result_conflict")


def test_a_callback_counts_in_the_statistics_with_the_time_that_it_took(accepted_run, grader):
    run, request = accepted_run()
    later(run, hours=2)
    call_back(request, callback_body(request))
    figures = reports.report(grader, "24h")
    assert figures.total_scored == 1
    assert figures.avg_latency_ms == pytest.approx(7_200_000, rel=0.01)


def test_a_doubtful_callback_opens_a_review(accepted_run, task):
    task.review_below_confidence = 0.95
    task.save()
    run, request = accepted_run()
    assert status_and_code(call_back(request, callback_body(request))) == (200, "recorded")
    assert seen(run)[:2] == ("waiting", "review")
    assert status_and_code(call_back(request, callback_body(request))) == (409, "already_recorded")
    assert status_and_code(call_back(request, callback_body(request, score=OTHER))) == (409, "result_conflict")


# --- again, late, cancelled -----------------------------------------------------------------------------------------


def test_a_repeated_result_is_already_recorded_and_another_is_a_conflict(accepted_run):
    _run, request = accepted_run()
    answers = [call_back(request, callback_body(request, score=score)) for score in (GOOD, GOOD, OTHER)]
    assert [status_and_code(answer) for answer in answers] == [
        (200, "recorded"),
        (409, "already_recorded"),
        (409, "result_conflict"),
    ]
    assert Score.objects.get().value == 0.75


def test_after_the_deadline_a_callback_is_expired_before_and_after_the_sweep(accepted_run):
    run, request = accepted_run()
    later(run, days=7, seconds=1)
    assert status_and_code(call_back(request, callback_body(request))) == (410, "expired")
    sweep.sweep()
    assert seen(run) == ("failed", "", "callback_expired")
    assert status_and_code(call_back(request, callback_body(request))) == (410, "expired")
    assert not Score.objects.exists()


def test_after_a_cancel_it_is_cancelled(accepted_run, api_for):
    run, request = accepted_run()
    operator = api_for(organization=run.organization)
    assert operator.post(f"/workflow-runs/{public('run', run)}/cancel").status_code == 200
    assert status_and_code(call_back(request, callback_body(request))) == (410, "cancelled")
    assert not Score.objects.exists()


def test_the_callback_of_a_deleted_run_is_not_found(accepted_run):
    run, request = accepted_run()
    run.delete()
    assert status_and_code(call_back(request, callback_body(request))) == (404, "not_found")


def test_days_later_it_is_recorded_once(accepted_run):
    run, request = accepted_run()
    later(run, days=3)
    sweep.sweep()
    assert seen(run)[0] == "waiting"
    assert status_and_code(call_back(request, callback_body(request))) == (200, "recorded")
    assert status_and_code(call_back(request, callback_body(request))) == (409, "already_recorded")
    assert Score.objects.count() == 1


# --- secrets and versions that change meanwhile -----------------------------------------------------------------------


def test_after_a_secret_rotation_a_late_callback_uses_the_new_secret(accepted_run, grader):
    run, request = accepted_run()
    new = credentials.rotate(grader)
    later(run, days=3)
    GraderSecret.objects.filter(current=False).update(valid_until=timezone.now() - timedelta(days=2))
    assert status_and_code(call_back(request, callback_body(request), secret=SECRET)) == (401, "unauthorized")
    assert status_and_code(call_back(request, callback_body(request), secret=new)) == (200, "recorded")


@pytest.mark.parametrize("which", ["previous", "current"])
def test_in_the_grace_period_both_secrets_sign(accepted_run, grader, which):
    _, request = accepted_run()
    new = credentials.rotate(grader)
    secret = SECRET if which == "previous" else new
    assert status_and_code(call_back(request, callback_body(request), secret=secret)) == (200, "recorded")
    confirmed = GraderSecret.objects.get(current=True).confirmed
    assert confirmed is (which == "current")  # the grader has shown that it knows the new one


def test_the_score_has_the_version_that_was_called(accepted_run, grader):
    run, request = accepted_run()
    asked_version = grader.version_id
    grader.version = GraderVersion.objects.create(grader=grader, label="2.0.0")
    grader.save()
    call_back(request, callback_body(request))
    assert Score.objects.get(run=run).grader_version_id == asked_version


def test_a_grader_that_was_switched_off_still_delivers_what_it_accepted(accepted_run, grader):
    _run, request = accepted_run()
    grader.status = "inactive"
    grader.save()
    assert status_and_code(call_back(request, callback_body(request))) == (200, "recorded")


def test_a_grader_without_secrets_is_unauthorized(accepted_run, grader):
    _run, request = accepted_run()
    credentials.retire(grader.pk)
    assert status_and_code(call_back(request, callback_body(request))) == (401, "unauthorized")


def delete(grader):
    """Delete a grader, as after its tasks switched to another grader."""
    PanelMember.objects.filter(grader=grader).delete()
    registry.tombstone(grader)


def test_c36_a_callback_of_a_deleted_grader_is_cancelled(accepted_run, grader):
    run, request = accepted_run()
    delete(grader)
    for _ in range(2):
        assert status_and_code(call_back(request, callback_body(request))) == (410, "cancelled")
    run.refresh_from_db()
    assert not hasattr(run, "score")


def test_c36_a_callback_of_a_deleted_grader_is_cancelled_after_the_deadline_too(accepted_run, grader):
    run, request = accepted_run()
    later(run, days=30)
    delete(grader)
    assert status_and_code(call_back(request, callback_body(request))) == (410, "cancelled")


def test_c36_a_guessed_token_reveals_nothing_about_deleted_graders(accepted_run, grader):
    _run, request = accepted_run()
    delete(grader)
    guess = request | {"callbackUrl": request["callbackUrl"][:-4] + "AAAA"}
    assert call_back(guess, callback_body(request)).status_code == 404


# --- the run that moved on ------------------------------------------------------------------------------------------


def test_the_first_valid_answer_of_any_attempt_wins(fake, accepted_run, grader, drain):
    run, first = accepted_run()
    lost = timezone.now() - timedelta(seconds=1)
    WorkflowRun.objects.update(status="running", waits_for="", wake_at=None, leased_until=lost)  # its 202 was not read
    sweep.sweep()
    drain(grader)
    second = fake.accepted[-1]
    assert first["callbackUrl"] != second["callbackUrl"]
    assert status_and_code(call_back(first, callback_body(first))) == (200, "recorded")
    assert status_and_code(call_back(second, callback_body(second, score=OTHER))) == (409, "result_conflict")
    assert (Score.objects.get().value, seen(run)[0]) == (0.75, "completed")


def test_an_error_of_an_older_attempt_does_not_fail_the_run(fake, accepted_run, grader, drain):
    run, first = accepted_run()
    WorkflowRun.objects.update(status="pending", waits_for="", wake_at=None)
    drain(grader)
    assert status_and_code(call_back(first, callback_body(first, error="no"))) == (409, "result_conflict")
    assert seen(run) == ("waiting", "callback", "")
    second = fake.accepted[-1]
    assert status_and_code(call_back(second, callback_body(second))) == (200, "recorded")


def test_a_returned_run_records_the_result_and_is_not_called_again(fake, accepted_run, grader, drain):
    run, request = accepted_run()
    WorkflowRun.objects.update(status="pending", waits_for="", wake_at=None)
    assert status_and_code(call_back(request, callback_body(request))) == (200, "recorded")
    drain(grader)
    assert (len(fake.accepted), seen(run)[0]) == (1, "completed")


def test_an_answer_after_a_failure_of_the_run_is_a_conflict(accepted_run):
    _run, request = accepted_run()
    WorkflowRun.objects.update(status="failed", waits_for="", wake_at=None, error_code="timeout")
    assert status_and_code(call_back(request, callback_body(request))) == (409, "result_conflict")


def test_a_shadow_grader_may_answer_later(fake, grader, drain):
    counting = GraderFactory(organization=grader.organization)
    task = TaskFactory(organization=grader.organization, graders=[counting, (grader, 1.0, "shadow")])
    run = RunFactory(completion=CompletionFactory(task=task), grader=grader, panel_size=0)
    drain(grader)
    (request,) = fake.accepted
    assert status_and_code(call_back(request, callback_body(request))) == (200, "recorded")
    assert Score.objects.get(run=run).purpose == "shadow"
    assert not Reward.objects.exists()
