"""A drain from its claim to its end: what is called again, what waits, and what it returns."""

import time
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from autotune.core.clock import database_now
from autotune.core.outbound import engine
from autotune.webhooks.models import Event
from graders import pauses
from graders.guards import Guard
from graders.models import Grader
from scores.engine import sweep
from scores.engine.drain import Drain, callable_grader
from scores.models import Callback, Review, Reward, Score, WorkflowRun
from tests.factories import CompletionFactory, GraderFactory, RunFactory, TaskFactory, WebhookFactory, public
from tests.support.calling_back import call_back, status_and_code
from tests.support.results import state


def runs_of(task, count):
    return [RunFactory(completion=CompletionFactory(task=task, response=str(n))) for n in range(count)]


def steps_of(run):
    run.refresh_from_db()
    return [(step["s"], step["a"], step["o"]) for step in run.steps or ()]


@pytest.fixture
def single(db, fake):
    """A grader without batches, with two calls out at most."""
    return GraderFactory(endpoint=fake.url, max_batch_size=1, max_concurrency=2)


@pytest.fixture
def single_task(single):
    return TaskFactory(organization=single.organization, graders=[single])


@pytest.fixture
def watched():
    """`watched(grader, look)`: a drain that calls `look(drain)` at each step."""

    def run(grader, look):
        work = Drain(
            callable_grader(grader.pk), until=time.monotonic() + 20, is_woken=lambda: False, ending=lambda: look(work)
        )
        work.run()
        return work

    yield run
    engine.engine().abandon()


def share(grader, *, want=2):
    """The calls that another drain may have out now; it leaves again."""
    other = Guard(grader, "another")
    permit = other.refresh(grader, want=want, now=database_now())
    other.refresh(grader, want=0, now=database_now())
    return permit.slots


# --- leases ---------------------------------------------------------------------------------------------------------


def test_a_run_of_a_lost_worker_records_it_and_is_called_again(task, grader, fake, drain):
    (run,) = runs_of(task, 1)
    WorkflowRun.objects.update(status="running", attempt=1, leased_until=timezone.now() - timedelta(seconds=1))
    assert sweep.sweep(passes=1) == [grader.pk]
    drain(grader)
    assert steps_of(run) == [("lease", 1, "worker_lost")]
    assert state(run) == ("completed", "", 2, 0)
    assert fake.items == [public("comp", run.completion)]


def test_each_lost_worker_is_recorded_on_its_runs(task, grader):
    (run,) = runs_of(task, 1)
    for attempt in (1, 2):
        past = timezone.now() - timedelta(seconds=1)
        WorkflowRun.objects.update(status="running", attempt=attempt, leased_until=past)
        sweep.sweep(passes=1)
    assert steps_of(run) == [("lease", 1, "worker_lost"), ("lease", 2, "worker_lost")]


# --- groups of results ----------------------------------------------------------------------------------------------


def test_each_item_of_a_response_gets_its_own_score_or_error(task, grader, fake, drain):
    results = {"0": 0.25, "1": "I cannot judge this.", "2": {"value": 2, "confidence": 1}, "3": 0.5}
    fake.judge = lambda completion: results[completion["response"]]
    runs = runs_of(task, 4)
    drain(grader)
    assert [state(run)[:2] for run in runs] == [
        ("completed", ""), ("failed", "grader_error"), ("failed", "out_of_range"), ("completed", ""),
    ]  # fmt: skip
    rewards = {row.completion_id: row.value for row in Reward.objects.all()}
    assert [rewards[run.completion_id] for run in runs] == [0.25, None, None, 0.5]


def test_calls_with_different_outcomes_are_saved_together(single, single_task, fake, drain):
    Grader.objects.update(supports_async=True)
    single.refresh_from_db()
    steps = [
        lambda handler, path, body: (200, fake.judged(body), True),
        lambda handler, path, body: (422, {"error": "No."}, True),
        lambda handler, path, body: (503, {"error": "later"}, True),
        lambda handler, path, body: (202, {"requestId": body["requestId"], "status": "accepted"}, True),
    ]
    fake.script = list(steps)
    runs_of(single_task, 4)
    drain(single)
    states = WorkflowRun.objects.order_by("status").values_list("status", "waits_for")
    assert list(states) == [("completed", ""), ("failed", ""), ("sleeping", ""), ("waiting", "callback")]
    paused = WorkflowRun.objects.filter(status__in=["sleeping", "waiting"])
    assert all(wake_at is not None for wake_at in paused.values_list("wake_at", flat=True))
    assert not WorkflowRun.objects.exclude(leased_until=None).exists()
    assert (Score.objects.count(), Reward.objects.count()) == (1, 2)


# --- callbacks and reviews ------------------------------------------------------------------------------------------


def test_an_accepted_batch_waits_until_its_callback_completes_it(task, grader, fake, drain):
    Grader.objects.update(supports_async=True)
    grader.refresh_from_db()
    fake.answers_later = True
    runs = runs_of(task, 5)
    drain(grader)
    assert [state(run)[0] for run in runs] == ["waiting"] * 5
    callback = Callback.objects.get()
    assert all(run.waits_for == "callback" and run.wake_at == callback.expires_at for run in runs)
    (request,) = fake.accepted
    assert status_and_code(call_back(request, fake.judged(request))) == (200, "recorded")
    assert [state(run)[0] for run in runs] == ["completed"] * 5
    assert Score.objects.count() == Reward.objects.filter(value=0.75).count() == 5
    assert [steps_of(run) for run in runs] == [[("call", 1, "accepted"), ("callback", 1, "recorded")]] * 5


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_a_202_read_after_its_callback_undoes_nothing(task, grader, fake, drain):
    Grader.objects.update(supports_async=True)
    grader.refresh_from_db()
    fake.answers_later, replies = True, []

    def answer_at_once(request):
        replies.append(status_and_code(call_back(request, fake.judged(request))))
        connection.close()

    fake.on_accept = answer_at_once
    runs = runs_of(task, 3)
    drain(grader)
    assert replies == [(200, "recorded")]
    assert [(state(run)[0], run.waits_for, run.wake_at) for run in runs] == [("completed", "", None)] * 3
    assert Score.objects.count() == 3


def test_only_unsure_scores_of_a_response_wait_for_a_person(task, grader, fake, drain):
    type(task).objects.update(review_below_confidence=0.5)
    fake.judge = lambda completion: {"value": 0.5, "confidence": int(completion["response"]) / 10}
    runs = runs_of(task, 10)
    drain(grader)
    assert [state(run)[0] for run in runs] == ["waiting"] * 5 + ["completed"] * 5
    opened = {review.run_id: review for review in Review.objects.all()}
    assert set(opened) == {run.pk for run in runs[:5]}
    assert all(opened[run.pk].expires_at == run.wake_at for run in runs[:5])
    assert Score.objects.count() == Reward.objects.count() == 5
    sweep.sweep(passes=0)
    assert [state(run)[0] for run in runs[:5]] == ["waiting"] * 5


# --- slots and tokens -----------------------------------------------------------------------------------------------


def test_the_slots_of_an_ended_drain_are_free_at_once(single, single_task, drain):
    runs_of(single_task, 5)
    drain(single)
    assert share(single) == 2


def test_the_slots_of_a_failed_drain_are_free_again(single, single_task, drain, monkeypatch):
    def fails(*_):
        raise RuntimeError("a fault of ours")

    runs_of(single_task, 5)
    monkeypatch.setattr("scores.engine.recording.save", fails)
    with pytest.raises(RuntimeError, match="a fault of ours"):
        drain(single)
    assert share(single) == 2


@pytest.mark.parametrize("end", ["stopped", "paused"])
def test_a_drain_that_stops_sending_keeps_its_slots_until_its_calls_end(single, single_task, fake, watched, end):
    runs_of(single_task, 6)
    fake.gate.clear()
    shares = []

    def look(work):
        if len(fake.calls) < 2:
            return False
        if len(shares) < 3:
            if end == "paused" and not shares:
                work.pace._extend_pause(database_now() + timedelta(seconds=60), pauses.RATE_LIMITED)
            shares.append(share(single))
            if len(shares) == 3:
                fake.gate.set()
        return end == "stopped"

    watched(single, look)
    assert shares == [0, 0, 0]
    assert share(single) == 2
    assert len(fake.calls) == Score.objects.count() == 2
    left = "pending" if end == "stopped" else "sleeping"
    assert WorkflowRun.objects.filter(status=left).count() == 4


@pytest.fixture
def tokens_used(monkeypatch):
    """`tokens_used()`: the tokens that drains have taken from the guards and not returned."""
    used = []
    take, give_back = Guard.take, Guard.give_back

    def watched_take(self, completions, *, now):
        granted = take(self, completions, now=now)
        used.append(granted[0])
        return granted

    def watched_give_back(self, completions):
        used.append(-completions)
        give_back(self, completions)

    monkeypatch.setattr(Guard, "take", watched_take)
    monkeypatch.setattr(Guard, "give_back", watched_give_back)
    return lambda: sum(used)


def test_unused_tokens_of_a_rate_limited_grader_are_returned(fake, db, drain, tokens_used):
    grader = GraderFactory(endpoint=fake.url, max_batch_size=10, rate_per_minute=6_000)
    runs_of(TaskFactory(organization=grader.organization, graders=[grader]), 3)
    drain(grader)
    assert len(fake.items) == 3
    assert tokens_used() == 3


def test_runs_put_to_sleep_by_a_hold_return_their_tokens(fake, db, drain, tokens_used):
    grader = GraderFactory(endpoint=fake.url, max_batch_size=1, max_concurrency=1, rate_per_minute=6_000)
    runs_of(TaskFactory(organization=grader.organization, graders=[grader]), 4)
    fake.script = [lambda handler, path, body: (429, {"error": "slow"}, True, {"Retry-After": "40"})]
    drain(grader)
    assert len(fake.calls) == 1
    assert tokens_used() == 1


# --- events ----------------------------------------------------------------------------------------------------------


def queries_of_a_drain(task, grader, drain):
    runs_of(task, 8)
    drain(grader)  # what is read once in a process
    runs_of(task, 8)
    with CaptureQueriesContext(
        connection,
    ) as seen:
        drain(grader)
    return [query["sql"] for query in seen.captured_queries if not query["sql"].startswith("SAVEPOINT")]


@pytest.mark.postgres
def test_subscribers_get_an_event_of_each_score_without_another_query(task, grader, drain):
    silent = queries_of_a_drain(task, grader, drain)
    assert not Event.objects.exists()
    WebhookFactory(organization=task.organization, events=["score.completed"])
    telling = queries_of_a_drain(task, grader, drain)
    assert len(telling) == len(silent)
    told_of = Event.objects.filter(kind="score.completed", organization=task.organization)
    newest = WorkflowRun.objects.order_by("-pk").values_list("completion_id", flat=True)[:16]
    assert set(told_of.values_list("subject_id", flat=True)) == set(newest)


@pytest.mark.parametrize(
    "listening",
    [{"events": ["score.failed"]}, {"status": "disabled"}, {"deleted_at": timezone.now()}, {"organization": None}],
    ids=["to-another-kind", "disabled", "deleted", "from-another-organization"],
)
def test_only_subscribers_get_events_of_scores(task, grader, drain, listening):
    fields = {"events": ["score.completed"], "organization": task.organization} | listening
    if fields["organization"] is None:
        del fields["organization"]
    WebhookFactory(**fields)
    runs_of(task, 3)
    drain(grader)
    assert Score.objects.count() == 3
    assert not Event.objects.exists()


def test_each_score_has_one_event_even_if_it_is_saved_again(task, grader, fake, drain):
    WebhookFactory(organization=task.organization, events=["score.completed"])
    (run,) = runs_of(task, 1)
    drain(grader)
    WorkflowRun.objects.filter(pk=run.pk).update(attempt=F("attempt") + 1)
    drain(grader)
    assert list(Event.objects.values_list("subject_id", flat=True)) == [run.completion_id]
