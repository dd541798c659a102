"""The shared state is exact with many writers, and a Redis that is flushed, killed or away stops nothing."""

import json
import threading
import time

import pytest
from django.db import connection

from autotune.core import redis
from graders.guards import bucket
from graders.guards.state import (
    NOTHING,
    BatchSize,
    CallingDrain,
    Circuit,
    GuardState,
    TokenBucket,
    decode,
    encode,
    from_row,
    to_row,
)
from graders.models import Grader, GraderGuard
from graders.states import GraderStatus, Trouble
from tests.factories import GraderFactory
from tests.graders.guards.workers import Worker
from tests.support.concurrency import together, until

FULL = GuardState(
    at=1_000.0,
    circuit=Circuit(phase="half_open", row=2, window=((995.0, 3, 1),), until=1_010.5, wait_s=20.0, trial_by="a"),
    batch=BatchSize(50, 3),
    bucket=TokenBucket(3.5, 999.0),
    drains={"a": CallingDrain(1_015.0, 16, 8)},
)


@pytest.mark.parametrize("state", [FULL, GuardState(at=1_000.0)], ids=["full", "plain"])
def test_a_state_is_read_as_it_was_written(state):
    assert decode(encode(state), 1_001.0) == state
    assert from_row(json.loads(json.dumps(to_row(state))), 1_001.0) == state


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff", b'{"at": "now"}', b'{"at": 1000, "circuit": 3}'])
def test_an_invalid_state_is_ignored(text):
    assert decode(text, 1_001.0) is NOTHING


@pytest.mark.parametrize("row", [{}, [], None, {"at": 1_000, "drains": []}], ids=str)
def test_an_invalid_row_is_ignored(row):
    assert from_row(row, 1_001.0) == NOTHING


def workers(grader, clock, count):
    return [Worker(Grader.objects.get(pk=grader.pk), f"w{number}", clock) for number in range(count)]


@pytest.mark.django_db(transaction=True)
class TestManyWriters:
    pytestmark = pytest.mark.usefixtures("busy_home")

    def test_tokens_are_granted_once(self, clock):
        grader = GraderFactory(rate_per_minute=6_000)
        Worker(grader, "first", clock).guard.take(1, now=clock.now)
        clock.passes(60)

        def taking(worker):
            return lambda: sum(worker.guard.take(13, now=clock.now)[0] for _ in range(25))

        assert sum(together(*map(taking, workers(grader, clock, 8)))) == bucket.capacity(6_000)

    def test_the_shares_use_the_whole_limit_and_never_exceed_it(self, clock):
        grader = GraderFactory(max_concurrency=10)
        crowd = workers(grader, clock, 6)

        def asking(worker):
            def ask():
                for _ in range(10):
                    worker.permit = worker.guard.refresh(worker.grader, want=10, now=clock.now)
                return worker.permit.slots

            return ask

        together(*map(asking, crowd))
        for _ in range(3):  # as many rounds as it takes at most until each has its share (test_slots.py)
            slots = [worker.ask(10).slots for worker in crowd]
        assert sum(slots) == 10
        assert sorted(worker.permit.slots for worker in crowd) == [1, 1, 2, 2, 2, 2]

    def test_no_failure_is_lost(self, clock):
        grader = GraderFactory()
        crowd = workers(grader, clock, 4)
        together(*(lambda worker=worker: worker.calls("b") for worker in crowd))
        assert crowd[0].calls("b").pause_until is not None

    def test_one_probes(self, clock):
        grader = GraderFactory()
        Worker(grader, "first", clock).calls("bbbbb")
        clock.passes(10)
        crowd = workers(grader, clock, 6)
        permits = together(*(lambda worker=worker: worker.ask() for worker in crowd))
        assert sorted(permit.is_trial for permit in permits) == [False] * 5 + [True]
        assert sum(permit.slots for permit in permits) == 1


@pytest.mark.django_db
class TestWhenRedisForgets:
    def test_after_a_flush_workers_share_the_limit_again(self, worker, own_redis):
        worker_a, worker_b = worker("a"), worker("b")
        own_redis.flush()
        assert worker_a.ask().slots == 16
        assert (worker_b.ask().slots, worker_a.ask().slots, worker_b.ask().slots) == (0, 8, 8)

    def test_a_grader_whose_circuit_was_open_is_probed_first(self, grader, worker, clock, own_redis):
        worker_a = worker("a")
        worker_a.calls("bbbbb")
        own_redis.flush()
        clock.passes(5)
        worker_b = worker("b")
        assert (worker_b.permit.is_trial, worker_b.permit.slots) == (True, 1)
        grader.refresh_from_db()
        assert grader.troubles == [Trouble.CIRCUIT]
        worker_b.calls("ggg")
        grader.refresh_from_db()
        assert (grader.troubles, grader.status) == ([], GraderStatus.ACTIVE)

    def test_a_flush_grants_one_second_of_tokens_and_no_burst(self, worker, clock, own_redis):
        Grader.objects.update(rate_per_minute=600)
        worker_a = worker("a")
        own_redis.flush()
        assert worker_a.guard.take(1_000, now=clock.now)[0] == 10

    @pytest.mark.parametrize("text", ["", "null", "[", '{"at": {}}'])
    def test_an_invalid_value_is_overwritten(self, grader, worker, own_redis, text):
        worker_a = worker("a")
        redis.attempt(lambda client: client.set(f"autotune:guard:{grader.pk}", text), otherwise=None)
        assert worker_a.ask().slots == 16


@pytest.mark.django_db
class TestWhenRedisIsAway:
    def test_the_database_takes_over_at_once(self, grader, worker, own_redis):
        worker_a = worker("a")
        assert not GraderGuard.objects.exists()
        own_redis.kill()
        begun = time.monotonic()
        assert worker_a.ask().slots == 16
        worker_a.calls("bbbbb")
        assert time.monotonic() - begun < 2
        assert GraderGuard.objects.get().state["circuit"]["phase"] == "open"
        grader.refresh_from_db()
        assert grader.status == GraderStatus.DEGRADED

    def test_after_redis_returns_an_open_circuit_is_probed_and_closes(self, grader, worker, clock, own_redis):
        worker_a = worker("a")
        own_redis.kill()
        worker_a.ask()
        worker_a.calls("bbbbb")
        own_redis.start()
        clock.passes(10)
        assert worker_a.ask().is_trial
        worker_a.calls("ggg")
        grader.refresh_from_db()
        assert (grader.troubles, grader.held_until) == ([], None)

    def test_a_second_outage_ignores_workers_of_the_first(self, worker, clock, own_redis):
        worker_a, worker_b = worker("a"), worker("b")
        own_redis.kill()
        assert worker_b.ask().slots == 16
        own_redis.start()
        clock.passes(20)
        worker_a.ask()
        own_redis.kill()
        assert worker_a.ask().slots == 16


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_killing_and_flushing_redis_under_many_writers_raises_nothing(clock, own_redis):
    """Shares may be exceeded for a moment; afterwards they are kept again."""
    grader = GraderFactory(max_concurrency=10, rate_per_minute=60_000)
    crowd = workers(grader, clock, 4)
    stop = threading.Event()

    def working(worker):
        def work():
            rounds = 0
            while not stop.is_set():
                worker.guard.refresh(worker.grader, want=10, now=clock.now)
                worker.guard.take(3, now=clock.now)
                worker.calls("ggbg")
                rounds += 1
            return rounds

        return work

    def breaking():
        try:
            for _ in range(2):
                time.sleep(0.1)
                own_redis.flush()
                time.sleep(0.1)
                own_redis.kill()
                time.sleep(0.2)
                own_redis.start()
        finally:
            stop.set()

    *rounds, _ = together(*map(working, crowd), breaking)
    assert min(rounds) > 5
    until(lambda: redis.attempt(lambda client: client.ping(), otherwise=False))  # who failed last says so after `start`
    for _ in range(3):  # all are known; nobody holds more than its share; all have theirs
        slots = [worker.ask(10).slots for worker in crowd]
    assert sum(slots) == 10


@pytest.mark.django_db
def test_a_change_without_rivals_is_one_command(worker, own_redis):
    worker_a = worker("a")
    before = own_redis.commands()
    worker_a.ask()
    worker_a.ask()
    # this look itself, and for each ask the script with the two commands in it
    assert own_redis.commands() - before == 1 + 2 * 3


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_the_database_home_holds_no_transaction_open(grader, worker, settings):
    settings.REDIS_URL = ""
    worker("a").calls("b")
    assert not connection.in_atomic_block
