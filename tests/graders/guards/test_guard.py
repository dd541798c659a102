"""A drain's guard, in both homes: what it permits, and what the grader's row shows of an open circuit."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from graders import pauses
from graders.guards import CallReport, circuit, slots
from graders.models import Grader
from graders.states import GraderStatus, Trouble

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("home")]


def row(grader):
    grader.refresh_from_db()
    return grader.status, grader.troubles, grader.held_until, grader.held_reason


def good(number):
    return CallReport(ok=True, items=1, number=number)


def failed(number):
    return CallReport(ok=False, items=1, number=number)


def fails(worker, times=5):
    for _ in range(times):
        worker.calls("b")


def test_workers_share_the_calls_of_a_grader(worker):
    worker_a, worker_b = worker("a"), worker("b")
    assert (worker_a.permit.slots, worker_b.permit.slots) == (16, 0)
    assert (worker_a.ask().slots, worker_b.ask().slots) == (8, 8)
    assert (worker_a.permit.others, worker_b.permit.others) == (1, 1)


def test_a_worker_that_ends_frees_its_share(worker):
    worker_a, worker_b = worker("a"), worker("b")
    worker_a.guard.close()
    assert (worker_b.ask().slots, worker_b.permit.others) == (16, 0)


def test_the_share_of_a_killed_worker_is_redistributed(worker, clock):
    worker("killed")
    other = worker("b")
    clock.passes(slots.LEASE_S)
    assert other.ask().slots == 16


def test_open_calls_keep_their_slots_until_they_are_noted(worker):
    worker_a, worker_b = worker("a"), worker("b")
    numbers = [worker_a.guard.sent() for _ in range(16)]
    worker_a.ask()
    assert worker_b.ask().slots == 0
    worker_a.note(*(good(number) for number in numbers))
    worker_a.ask()
    assert worker_b.ask().slots == 8


def test_without_a_rate_limit_everything_is_granted_without_a_query(worker, clock, django_assert_num_queries):
    worker_a = worker("a")
    with django_assert_num_queries(0):
        assert worker_a.guard.take(10_000, now=clock.now) == (10_000, None)
        worker_a.guard.give_back(10_000)


def test_a_rate_limit_applies_to_all_workers(grader, worker, clock):
    Grader.objects.update(rate_per_minute=600)
    worker_a, worker_b = worker("a"), worker("b")
    clock.passes(60)
    assert worker_a.guard.take(70, now=clock.now) == (10, clock.now + timedelta(seconds=1))
    clock.passes(60)
    assert worker_a.guard.take(70, now=clock.now) == (70, None)
    assert worker_b.guard.take(70, now=clock.now) == (30, clock.now + timedelta(seconds=1))
    worker_a.guard.give_back(20)
    assert worker_b.guard.take(70, now=clock.now)[0] == 20


def test_five_failures_open_the_circuit_hold_the_grader_and_degrade_it(grader, worker, clock):
    worker_a = worker("a")
    fails(worker_a, 4)
    assert row(grader) == (GraderStatus.ACTIVE, [], None, "")
    fails(worker_a, 1)
    until = clock.now + timedelta(seconds=10)
    assert (worker_a.permit.slots, worker_a.permit.pause_until, worker_a.permit.pause_reason) == (
        0,
        until,
        pauses.CIRCUIT_OPEN,
    )
    assert row(grader) == (GraderStatus.DEGRADED, [Trouble.CIRCUIT], until, pauses.CIRCUIT_OPEN)
    change = grader.status_changes.get()
    assert (change.current, "5 calls in a row failed" in change.reason) == ("degraded", True)


def test_all_workers_see_an_open_circuit(worker, clock):
    worker_a, worker_b = worker("a"), worker("b")
    fails(worker_a, 5)
    fails(worker_b, 1)
    until = clock.now + timedelta(seconds=10)
    assert worker_b.permit.pause_until == until
    assert worker_a.ask().pause_until == until
    assert worker("c").permit.pause_until == until


def test_after_the_wait_one_worker_probes_with_one_call_of_one_item(worker, clock):
    worker_a, worker_b = worker("a"), worker("b", want=0)
    fails(worker_a)
    clock.passes(10)
    assert (worker_a.ask().is_trial, worker_a.permit.slots, worker_a.permit.batch, worker_a.permit.pause_until) == (
        True,
        1,
        1,
        None,
    )
    assert (worker_b.ask().is_trial, worker_b.permit.slots) == (False, 0)
    assert worker_b.permit.pause_until == clock.now + timedelta(seconds=2)
    assert worker_a.ask().is_trial


def test_three_good_probes_close_it_and_the_grader_is_active_again(grader, worker, clock):
    worker_a = worker("a")
    fails(worker_a)
    clock.passes(10)
    worker_a.ask()
    assert [worker_a.calls("g"), worker_a.calls("g")] == [None, None]
    permit = worker_a.calls("g")
    assert (permit.is_trial, permit.slots, permit.batch) == (False, 16, 100)
    assert row(grader) == (GraderStatus.ACTIVE, [], None, "")
    assert [change.current for change in grader.status_changes.order_by("id")] == ["degraded", "active"]


def test_a_probe_that_fails_doubles_the_wait(grader, worker, clock):
    worker_a = worker("a")
    fails(worker_a)
    for wait in (20, 40, 80, 160, 300, 300):
        clock.now = worker_a.permit.pause_until
        assert worker_a.ask().is_trial
        clock.passes(4)
        assert worker_a.calls("b").pause_until == clock.now + timedelta(seconds=wait)
    assert row(grader)[:2] == (GraderStatus.DEGRADED, [Trouble.CIRCUIT])
    assert grader.held_until == worker_a.permit.pause_until


def test_the_probe_of_a_killed_worker_passes_on_after_the_longest_call(grader, worker, clock):
    killed, worker_b = worker("killed"), worker("b")
    fails(killed, 5)
    fails(worker_b, 1)
    clock.passes(10)
    assert killed.ask().is_trial
    clock.passes(grader.batch_timeout_ms / 1_000 + 4.9)
    assert not worker_b.ask().is_trial
    clock.passes(0.2)
    assert worker_b.ask().is_trial


def test_a_worker_without_work_releases_the_probe(worker, clock):
    worker_a, worker_b = worker("a"), worker("b", want=0)
    fails(worker_a)
    clock.passes(10)
    assert worker_a.ask().is_trial
    assert not worker_b.ask().is_trial
    worker_a.ask(want=0)
    assert worker_b.ask().is_trial


def test_answers_to_calls_from_before_it_opened_do_not_count_as_probes(worker, clock):
    worker_a = worker("a")
    late = [worker_a.guard.sent() for _ in range(6)]
    worker_a.note(*(failed(number) for number in late[:5]))
    clock.passes(10)
    assert worker_a.ask().slots == 1
    worker_a.note(failed(late[5]))
    assert worker_a.ask().is_trial


def test_a_fifth_of_failing_calls_never_opens_it_in_any_order(grader, worker, clock):
    """B36: the bad ones fail at once and overtake the good ones; three workers, sixteen calls out."""
    workers = [worker(name) for name in "abc"]
    for sender in workers * 2:
        sender.ask()
    sent = 0
    for _ in range(200):
        for sender in workers:
            numbers = [(sender.guard.sent(), (sent + n) % 5 == 4) for n in range(sender.permit.slots)]
            sent += len(numbers)
            sender.note(*(failed(number) for number, bad in numbers if bad))
            clock.passes(0.05)
            sender.note(*(good(number) for number, bad in numbers if not bad))
            assert sender.permit.pause_until is None
        workers.append(workers.pop(0))
    assert row(grader)[0] == GraderStatus.ACTIVE


def test_good_results_cost_one_round_trip_a_second(grader, worker, clock, django_assert_num_queries):
    worker_a = worker("a")
    worker_a.calls("g")
    with django_assert_num_queries(0):
        for _ in range(9):
            clock.passes(0.1)
            assert worker_a.calls("g" * 64) is None
    clock.passes(0.1)
    worker_a.calls("g")
    assert sum(span[1] for span in worker_a.guard._seen.window) == 2 + 9 * 64


def test_a_batch_timeout_makes_batches_smaller_for_all_workers(worker):
    worker_a, worker_b = worker("a"), worker("b")
    assert worker_a.calls("b", items=100, shrink=True).batch == 50
    assert worker_b.ask().batch == 50


def test_batches_grow_back(worker):
    worker_a = worker("a")
    worker_a.calls("b", items=100, shrink=True)
    assert worker_a.calls("g" * 10, items=50).batch == 62


class TestWhenWhoChangedTheCircuitDiedBeforeItSaidSo:
    def test_the_next_check_writes_an_open_circuit_to_the_row(self, grader, worker, clock):
        worker_a, worker_b = worker("a"), worker("b", want=0)
        fails(worker_a)
        Grader.objects.update(troubles=[], held_until=None, held_reason="", status=GraderStatus.ACTIVE)
        worker_b.ask()
        until = clock.now + timedelta(seconds=10)
        assert row(grader) == (GraderStatus.DEGRADED, [Trouble.CIRCUIT], until, pauses.CIRCUIT_OPEN)

    def test_the_next_check_writes_a_closed_circuit_to_the_row(self, grader, worker):
        worker_a = worker("a")
        Grader.objects.update(troubles=[Trouble.CIRCUIT], status=GraderStatus.DEGRADED)
        worker_a.ask()
        assert row(grader)[:2] == (GraderStatus.ACTIVE, [])


def test_the_row_is_written_once_even_for_a_drain_with_an_old_copy(worker, clock):
    worker_a = worker("a")
    fails(worker_a)
    clock.passes(10)
    worker_a.ask()
    worker_a.calls("ggg")
    with CaptureQueriesContext(connection) as queries:
        worker_a.guard.refresh(worker_a.grader, want=16, now=clock.now)
    assert not [query for query in queries if 'graders_grader"' in query["sql"]]


def test_a_grader_with_another_trouble_stays_degraded_when_the_circuit_closes(grader, worker, clock):
    worker_a = worker("a")
    fails(worker_a)
    grader.refresh_from_db()
    Grader.objects.update(troubles=[*grader.troubles, Trouble.HEALTH])
    clock.passes(10)
    worker_a.ask()
    worker_a.calls("ggg")
    assert row(grader)[:2] == (GraderStatus.DEGRADED, [Trouble.HEALTH])


def test_a_state_unused_for_long_is_ignored(worker, clock):
    worker_a = worker("a")
    worker_a.calls("b", items=100, shrink=True)
    worker_a.guard.close()
    clock.passes(601)
    assert worker("b").permit.batch == 100


def test_closing_a_guard_writes_the_remaining_results(grader, worker, clock):
    worker_a = worker("a")
    worker_a.calls("g")
    late = [worker_a.guard.sent() for _ in range(6)]
    worker_a.note(*(failed(number) for number in late[1:]))
    worker_a.guard.close()
    assert circuit.ROW == 5
    assert row(grader)[0] == GraderStatus.DEGRADED
