"""Concurrent live requests, on PostgreSQL: equal work is scored once, nothing deadlocks, and waits end."""

import time

import pytest
from django.conf import settings
from django.db import transaction

from scores.live import answering, reuse
from scores.models import LiveAnswer, Reward, WorkflowRun
from scores.results import waiting
from scores.retention import erasing
from tasks.models import Completion
from tests.conftest import Api
from tests.factories import ScoreFactory, public
from tests.scores.live.asking import reward_request
from tests.support.concurrency import PATIENCE_S, aside, together, until

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True, serialized_rollback=True)]
MANY = [str(n) for n in range(40)]


@pytest.fixture(autouse=True)
def _nobody_waits_any_more():
    yield
    until(lambda: waiting.hub._count == 0)


def ask(key, task, *items, **members):
    def work():
        answer = Api(key.text).post("/rewards", reward_request(task, *items, **members))
        assert answer.status_code == 200, answer.content
        return answer.json()["rewards"]

    return work


def score(response, value=0.5):
    completion = next(candidate for candidate in Completion.objects.all() if candidate.response == response)
    run = completion.runs.get()
    WorkflowRun.objects.filter(pk=run.pk).update(status="completed")
    ScoreFactory(run=run, value=value)


class TestEqualRequestsAtOnce:
    @pytest.mark.parametrize("fresh", [False, True])
    def test_they_share_one_completion(self, key, live_task, fresh):
        answers = together(*[ask(key, live_task, "4", fresh=fresh)] * 8)
        standing = LiveAnswer.objects.get().completion_id
        assert public("comp", Completion.objects.get(pk=standing)) in {reward["completionId"] for (reward,) in answers}
        assert fresh or len({reward["completionId"] for (reward,) in answers}) == 1
        assert fresh or (Completion.objects.count(), WorkflowRun.objects.count()) == (1, 1)

    def test_overlapping_requests_in_different_orders_never_deadlock(self, key, live_task):
        works = [ask(key, live_task, *MANY), ask(key, live_task, *reversed(MANY)), ask(key, live_task, *MANY[20:])] * 2
        answers = together(*works)
        assert Completion.objects.count() == len(MANY)
        assert [reward["completionId"] for reward in answers[0]] == [
            reward["completionId"] for reward in reversed(answers[1])
        ]

    def test_an_expired_failure_is_scored_again_once(self, key, live_task):
        (old,) = ask(key, live_task, "4")()
        about = Completion.objects.get()
        gone = {"value": None, "used": 0, "failed": 1, "aggregation": "mean", "error_code": "timeout"}
        Reward.objects.create(
            completion=about, organization=about.organization, task=about.task, **gone, scored_at="2020-01-01T00:00Z"
        )
        answers = together(*[ask(key, live_task, "4")] * 6)
        assert {reward["status"] for (reward,) in answers} == {"pending"}
        assert len({reward["completionId"] for (reward,) in answers} - {old["completionId"]}) == 1
        assert Completion.objects.count() == 2

    def test_a_completion_that_is_rolled_back_is_not_joined(self, key, live_task, monkeypatch):
        """Its completions are never there: who waited for it stores its own."""
        real, blocked = answering._store, []

        def store(asked_for, drafts):
            real(asked_for, drafts)
            if not blocked:
                blocked.append(True)
                future.append(aside(ask(key, live_task, "4")))
                until(waits_for_a_lock)
                raise RuntimeError("the process ends here")

        future = []
        monkeypatch.setattr(answering, "_store", store)
        assert Api(key.text).post("/rewards", reward_request(live_task, "4")).status_code == 500
        (reward,) = future[0].result(PATIENCE_S)
        assert reward["completionId"] == public("comp", Completion.objects.get())

    def test_a_completion_being_erased_is_scored_again(self, key, live_task, monkeypatch):
        ask(key, live_task, "4")()
        old = Completion.objects.get().pk
        real, acted = reuse.take, []

        def take(*args, **kwargs):
            if not acted:
                acted.append(True)
                aside(lambda: erasing.erase([old], end_unfinished=True)).result(PATIENCE_S)
            return real(*args, **kwargs)

        monkeypatch.setattr(reuse, "take", take)
        ask(key, live_task, "4", fresh=True)()
        assert LiveAnswer.objects.get().completion_id != old
        assert Completion.objects.filter(erased_at=None).count() == 1


def waits_for_a_lock():
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
        )
        return cursor.fetchone()[0]


class TestWaiting:
    def test_the_wait_ends_when_the_last_item_is_final(self, key, live_task):
        future = aside(ask(key, live_task, "1", "2", "1", deadlineMs=60_000))
        until(lambda: Completion.objects.count() == 2 and waiting.hub._count)
        score("1", 0.1)
        assert not future.done()
        score("2", 0.2)
        assert [reward["value"] for reward in future.result(PATIENCE_S)] == [0.1, 0.2, 0.1]

    def test_at_the_deadline_the_available_rewards_are_returned(self, key, live_task):
        ask(key, live_task, "1", "2")()
        score("1", 0.1)
        begun = time.monotonic()
        first, second = ask(key, live_task, "1", "2", deadlineMs=500)()
        assert (first["value"], second["value"]) == (0.1, None)
        assert (first["status"], second["status"]) == ("completed", "pending")
        assert 0.5 <= time.monotonic() - begun < 5

    def test_waiting_requests_hold_no_connection_and_no_transaction(self, key, live_task):
        futures = [aside(ask(key, live_task, "1", deadlineMs=60_000)) for _ in range(settings.DB_POOL_SIZE + 4)]
        until(lambda: waiting.hub._count == len(futures))
        with transaction.atomic():  # nobody holds a lock on stored rows
            assert LiveAnswer.objects.select_for_update(nowait=True).count() == 1
        assert Api(key.text).get("/completions").status_code == 200
        score("1", 0.25)
        assert {future.result(PATIENCE_S)[0]["value"] for future in futures} == {0.25}

    def test_a_failure_ends_the_wait_too(self, key, live_task):
        future = aside(ask(key, live_task, "1", deadlineMs=60_000))
        until(lambda: Completion.objects.count() and waiting.hub._count)
        erasing.erase([Completion.objects.get().pk], end_unfinished=True)
        (reward,) = future.result(PATIENCE_S)
        assert (reward["value"], reward["status"], reward["code"]) == (None, "failed", "erased")
