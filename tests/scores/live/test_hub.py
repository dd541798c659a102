"""The hub for waiting live rewards: many ids for one waiter, threads and coroutines, and every wait ends."""

import asyncio
import threading
import time
from uuid import uuid4

import pytest
from django.db import connection

from scores.results import waiting
from scores.results.waiting import WaitingHub
from tests.factories import CompletionFactory, RunFactory, ScoreFactory, TaskFactory
from tests.support.concurrency import PATIENCE_S, aside, until

SOON_S = 2.0


@pytest.fixture
def hub():
    hub = WaitingHub()
    yield hub
    until(lambda: not hub._waiting and not hub._count)


@pytest.mark.django_db
class TestWithoutWaiting:
    @pytest.mark.parametrize(("completion_ids", "seconds"), [([], 10), ([uuid4()], 0), ([uuid4()], -1)])
    def test_without_ids_or_time_a_wait_returns_at_once(self, hub, completion_ids, seconds):
        begun = time.monotonic()
        assert hub.wait_all(completion_ids, seconds) == set()
        assert asyncio.run(hub.wait_all_async(completion_ids, seconds)) == set()
        assert time.monotonic() - begun < SOON_S
        assert not hub._loop.is_running

    def test_with_too_many_waiting_threads_a_wait_returns_at_once(self, hub, settings):
        settings.LONG_POLL_MAX_WAITERS = 0
        begun = time.monotonic()
        assert hub.wait_all([uuid4()], 30) == set()
        assert time.monotonic() - begun < SOON_S


class TestOnPostgres:
    pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True, serialized_rollback=True)]

    @pytest.fixture
    def completions(self):
        task = TaskFactory()
        return [CompletionFactory(task=task) for _ in range(3)]

    def scored(self, completion):
        ScoreFactory(run=RunFactory(completion=completion, status="completed"))

    def test_a_thread_waits_for_all_of_them(self, hub, completions):
        completion_ids = {completion.pk for completion in completions}
        future = aside(lambda: hub.wait_all(completion_ids, PATIENCE_S))
        until(lambda: hub._waiting)
        for completion in completions[:2]:
            self.scored(completion)
        until(lambda: len(hub._waiting) == 1)
        assert not future.done()
        self.scored(completions[2])
        assert future.result(PATIENCE_S) == completion_ids

    def test_at_the_timeout_a_wait_returns_the_final_ids(self, hub, completions):
        self.scored(completions[0])
        assert hub.wait_all([completion.pk for completion in completions], 0.5) == {completions[0].pk}

    def test_ids_that_are_already_final_are_returned_at_once(self, hub, completions):
        self.scored(completions[0])
        begun = time.monotonic()
        assert hub.wait_all([completions[0].pk], PATIENCE_S) == {completions[0].pk}
        assert time.monotonic() - begun < SOON_S

    def test_a_wait_holds_no_connection(self, hub, completions):
        held = []

        def wait():
            connection.ensure_connection()
            return hub.wait_all(
                [completion.pk for completion in completions], PATIENCE_S, gone=lambda: held.append(seen()) or True
            )

        def seen():
            return connection.connection

        assert aside(wait).result(PATIENCE_S) == set()
        assert held == [None]

    def test_a_thread_stops_waiting_when_its_client_leaves(self, hub, completions):
        left = threading.Event()
        future = aside(lambda: hub.wait_all([completions[0].pk], PATIENCE_S, gone=left.is_set))
        until(lambda: hub._waiting)
        left.set()
        assert future.result(SOON_S + 1) == set()

    def test_many_ids_are_queried_in_groups(self, hub, completions, monkeypatch):
        monkeypatch.setattr("scores.results.waiting.ASKED_AT_ONCE", 2)
        for completion in completions:
            self.scored(completion)
        completion_ids = {completion.pk for completion in completions}
        assert hub.wait_all(completion_ids | {uuid4()}, 0.5) == completion_ids

    def test_an_unexpected_error_ends_neither_the_hub_nor_a_wait(self, hub, completions, monkeypatch, caplog):
        faults, real = [ZeroDivisionError("once")], waiting.Reward

        class Failing:
            @property
            def objects(self):
                if faults:
                    raise faults.pop()
                return real.objects

        monkeypatch.setattr(waiting, "Reward", Failing())
        self.scored(completions[0])
        assert hub.wait_all([completions[0].pk], PATIENCE_S) == {completions[0].pk}
        assert "waiting for scores failed" in caplog.text

    def test_thousands_of_coroutines_wait_in_one_thread(self, hub, completions):
        count, threads = 2_000, threading.active_count()

        async def wait():
            tasks = [
                asyncio.ensure_future(hub.wait_all_async([completions[n % 3].pk, completions[0].pk], PATIENCE_S))
                for n in range(count)
            ]
            await asyncio.sleep(0)
            assert threading.active_count() <= threads + 1
            scored = asyncio.get_running_loop().run_in_executor(None, lambda: [self.scored(c) for c in completions])
            await scored
            return await asyncio.gather(*tasks)

        results = asyncio.run(wait())
        assert [len(result) for result in results] == [1 if n % 3 == 0 else 2 for n in range(count)]

    def test_a_cancelled_coroutine_leaves_nothing(self, hub, completions):
        async def wait():
            waiting = asyncio.ensure_future(
                hub.wait_all_async([completion.pk for completion in completions], PATIENCE_S)
            )
            await asyncio.sleep(0.1)
            assert len(hub._waiting) == 3
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert hub._waiting == {}

        asyncio.run(wait())

    def test_at_the_timeout_a_coroutine_gets_the_final_ids(self, hub, completions):
        self.scored(completions[1])
        completion_ids = [completion.pk for completion in completions]
        assert asyncio.run(hub.wait_all_async(completion_ids, 0.5)) == {completions[1].pk}
