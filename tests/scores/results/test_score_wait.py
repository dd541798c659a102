"""`?wait` on a completion's score: the answer comes when the score is final, and waiting holds no connection."""

import http.client
import json
import time

import pytest
from django.conf import settings
from django.db import InterfaceError, OperationalError

from autotune.access.keys import tokens
from autotune.access.models import Membership, Role
from scores.results import waiting
from tests.conftest import Api
from tests.factories import ApiKeyFactory, CompletionFactory, RunFactory, ScoreFactory, TaskFactory, public
from tests.support.concurrency import PATIENCE_S, aside, until

on_postgres = [pytest.mark.postgres, pytest.mark.django_db(transaction=True, serialized_rollback=True)]
SOON_S = 2.0


@pytest.fixture
def key(db):
    return ApiKeyFactory(role="training_operator")


@pytest.fixture
def completion(key):
    completion = CompletionFactory(task=TaskFactory(organization=key.organization))
    RunFactory(completion=completion)
    return completion


def path_of(completion, wait):
    return f"/completions/{public('comp', completion)}/score?wait={wait}"


def request_in_thread(key, completion, wait):
    """A request in a thread of its own, once the hub knows of it: the future (answer, seconds)."""

    def ask():
        begun = time.monotonic()
        answer = Api(key.text).get(path_of(completion, wait))
        return answer, time.monotonic() - begun

    before = waiting.hub._count
    future = aside(ask)
    until(lambda: waiting.hub._count > before or future.done())
    return future


@pytest.fixture(autouse=True)
def _nobody_waits_any_more():
    yield
    until(lambda: waiting.hub._count == 0)


class TestOnPostgres:
    pytestmark = on_postgres

    def test_it_ends_early_when_the_reward_appears(self, key, completion):
        future = request_in_thread(key, completion, 30)
        assert not future.done()
        ScoreFactory(run=completion.runs.get(), value=0.25)
        answer, seconds = future.result(PATIENCE_S)
        assert (answer.status_code, answer.json()["status"]) == (200, "completed")
        assert answer.json()["score"]["value"] == 0.25
        assert answer["ETag"]
        assert seconds < 10

    @pytest.mark.parametrize("ends", [True, False], ids=["and the score arrives", "and no score arrives"])
    def test_c37_a_key_revoked_during_the_wait_gets_401(self, key, completion, ends):
        future = request_in_thread(key, completion, 2)
        tokens.revoke(key)
        if ends:
            ScoreFactory(run=completion.runs.get())
        answer, _ = future.result(PATIENCE_S)
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")

    def test_c37_a_user_who_leaves_the_organization_during_the_wait_gets_401(self, key, completion):
        future = request_in_thread(key, completion, 2)
        Membership.objects.filter(user=key.user).delete()
        ScoreFactory(run=completion.runs.get())
        assert future.result(PATIENCE_S)[0].status_code == 401

    def test_c37_a_role_that_loses_the_right_during_the_wait_gets_403(self, key, completion):
        future = request_in_thread(key, completion, 2)
        Membership.objects.filter(user=key.user).update(
            role=Role.objects.create(organization=key.organization, name="nothing", permissions=[])
        )
        ScoreFactory(run=completion.runs.get())
        assert future.result(PATIENCE_S)[0].status_code == 403

    def test_many_waits_for_one_completion_all_end(self, key, completion):
        futures = [request_in_thread(key, completion, 30) for _ in range(5)]
        ScoreFactory(run=completion.runs.get())
        assert {future.result(PATIENCE_S)[0].json()["status"] for future in futures} == {"completed"}

    def test_a_wait_for_another_completion_continues(self, key, completion):
        other = CompletionFactory(task=completion.task)
        RunFactory(completion=other)
        for_this, for_other = request_in_thread(key, completion, 30), request_in_thread(key, other, 2)
        ScoreFactory(run=completion.runs.get())
        assert for_this.result(PATIENCE_S)[0].json()["status"] == "completed"
        answer, seconds = for_other.result(PATIENCE_S)
        assert (answer.json()["status"], seconds >= 2) == ("pending", True)

    def test_at_the_timeout_the_current_state_is_returned(self, key, completion):
        answer, seconds = request_in_thread(key, completion, 0.3).result(PATIENCE_S)
        assert (answer.status_code, answer.json()["status"], answer.json()["score"]) == (200, "pending", None)
        assert 0.3 <= seconds < SOON_S
        assert "ETag" not in answer

    def test_waiting_requests_hold_no_connection(self, key, completion):
        """More of them than the pool has connections leave room for everybody else."""
        futures = [request_in_thread(key, completion, 30) for _ in range(settings.DB_POOL_SIZE + 4)]
        assert Api(key.text).get("/completions").status_code == 200
        assert Api(key.text).get(path_of(completion, 0)).json()["status"] == "pending"
        ScoreFactory(run=completion.runs.get())
        assert {future.result(PATIENCE_S)[0].status_code for future in futures} == {200}

    def test_with_too_many_waiters_the_state_is_returned_at_once(self, key, completion, settings):
        settings.LONG_POLL_MAX_WAITERS = 2
        futures = [request_in_thread(key, completion, 30) for _ in range(2)]
        answer, seconds = request_in_thread(key, completion, 30).result(PATIENCE_S)
        assert (answer.status_code, answer.json()["status"]) == (200, "pending")
        assert seconds < SOON_S
        ScoreFactory(run=completion.runs.get())
        assert {future.result(PATIENCE_S)[0].json()["status"] for future in futures} == {"completed"}

    def test_a_short_database_outage_ends_no_wait(self, key, completion, monkeypatch):
        faults = [InterfaceError("the connection is closed"), OperationalError("gone")]
        real = waiting.Reward

        class Failing:
            @property
            def objects(self):
                if faults:
                    raise faults.pop()
                return real.objects

        monkeypatch.setattr(waiting, "Reward", Failing())
        future = request_in_thread(key, completion, 30)
        until(lambda: not faults)
        ScoreFactory(run=completion.runs.get())
        assert future.result(PATIENCE_S)[0].json()["status"] == "completed"

    def test_it_works_over_a_real_server(self, key, completion, live_server):
        def ask():
            client = http.client.HTTPConnection(live_server.thread.host, live_server.thread.port, timeout=PATIENCE_S)
            client.request("GET", f"/api/v1{path_of(completion, 15)}", headers={"Authorization": f"Bearer {key.text}"})
            answer = client.getresponse()
            return answer.status, json.loads(answer.read())

        future = aside(ask)
        until(lambda: waiting.hub._count or future.done())
        ScoreFactory(run=completion.runs.get(), value=0.5)
        status, body = future.result(PATIENCE_S)
        assert (status, body["status"], body["reward"]["value"]) == (200, "completed", 0.5)


@pytest.mark.django_db
def test_with_a_limit_of_zero_no_request_waits(key, completion, settings):
    settings.LONG_POLL_MAX_WAITERS = 0
    begun = time.monotonic()
    assert Api(key.text).get(path_of(completion, 30)).json()["status"] == "pending"
    assert time.monotonic() - begun < SOON_S


@pytest.mark.django_db
def test_a_stranger_waits_for_nothing(completion):
    begun = time.monotonic()
    assert Api(ApiKeyFactory().text).get(path_of(completion, 30)).status_code == 404
    assert time.monotonic() - begun < SOON_S
