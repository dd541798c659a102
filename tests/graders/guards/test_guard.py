"""A drain's guard, in both homes: what it permits, and what the grader's row says of an open circuit."""

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
    one, two = worker("a"), worker("b")
    assert (one.permit.slots, two.permit.slots) == (16, 0)
    assert (one.ask().slots, two.ask().slots) == (8, 8)
    assert (one.permit.others, two.permit.others) == (1, 1)


def test_a_worker_that_ends_leaves_its_share(worker):
    one, two = worker("a"), worker("b")
    one.guard.close()
    assert (two.ask().slots, two.permit.others) == (16, 0)


def test_what_a_killed_worker_had_comes_back(worker, clock):
    worker("killed")
    other = worker("b")
    clock.passes(slots.LEASE_S)
    assert other.ask().slots == 16


def test_calls_that_are_out_keep_their_slots_until_they_were_noted(worker):
    one, two = worker("a"), worker("b")
    numbers = [one.guard.sent() for _ in range(16)]
    one.ask()
    assert two.ask().slots == 0
    one.note(*(good(number) for number in numbers))
    one.ask()
    assert two.ask().slots == 8


def test_without_a_rate_limit_all_is_granted_without_a_look(worker, clock, django_assert_num_queries):
    one = worker("a")
    with django_assert_num_queries(0):
        assert one.guard.take(10_000, now=clock.now) == (10_000, None)
        one.guard.give_back(10_000)


def test_a_rate_limit_holds_for_all_workers(grader, worker, clock):
    Grader.objects.update(rate_per_minute=600)
    one, two = worker("a"), worker("b")
    clock.passes(60)
    assert one.guard.take(70, now=clock.now) == (10, clock.now + timedelta(seconds=1))
    clock.passes(60)
    assert one.guard.take(70, now=clock.now) == (70, None)
    assert two.guard.take(70, now=clock.now) == (30, clock.now + timedelta(seconds=1))
    one.guard.give_back(20)
    assert two.guard.take(70, now=clock.now)[0] == 20


def test_five_failures_open_the_circuit_hold_the_grader_and_degrade_it(grader, worker, clock):
    one = worker("a")
    fails(one, 4)
    assert row(grader) == (GraderStatus.ACTIVE, [], None, "")
    fails(one, 1)
    until = clock.now + timedelta(seconds=10)
    assert (one.permit.slots, one.permit.pause_until, one.permit.pause_reason) == (0, until, pauses.CIRCUIT_OPEN)
    assert row(grader) == (GraderStatus.DEGRADED, [Trouble.CIRCUIT], until, pauses.CIRCUIT_OPEN)
    change = grader.status_changes.get()
    assert (change.current, "5 calls in a row failed" in change.reason) == ("degraded", True)


def test_all_workers_hear_that_it_is_open(worker, clock):
    one, two = worker("a"), worker("b")
    fails(one, 5)
    fails(two, 1)
    until = clock.now + timedelta(seconds=10)
    assert two.permit.pause_until == until
    assert one.ask().pause_until == until
    assert worker("c").permit.pause_until == until


def test_after_the_wait_one_worker_probes_with_one_call_of_one_item(worker, clock):
    one, two = worker("a"), worker("b", want=0)
    fails(one)
    clock.passes(10)
    assert (one.ask().is_trial, one.permit.slots, one.permit.batch, one.permit.pause_until) == (True, 1, 1, None)
    assert (two.ask().is_trial, two.permit.slots) == (False, 0)
    assert two.permit.pause_until == clock.now + timedelta(seconds=2)
    assert one.ask().is_trial


def test_three_good_probes_close_it_and_the_grader_is_active_again(grader, worker, clock):
    one = worker("a")
    fails(one)
    clock.passes(10)
    one.ask()
    assert [one.calls("g"), one.calls("g")] == [None, None]
    permit = one.calls("g")
    assert (permit.is_trial, permit.slots, permit.batch) == (False, 16, 100)
    assert row(grader) == (GraderStatus.ACTIVE, [], None, "")
    assert [change.current for change in grader.status_changes.order_by("id")] == ["degraded", "active"]


def test_a_probe_that_fails_doubles_the_wait(grader, worker, clock):
    one = worker("a")
    fails(one)
    for wait in (20, 40, 80, 160, 300, 300):
        clock.now = one.permit.pause_until
        assert one.ask().is_trial
        clock.passes(4)
        assert one.calls("b").pause_until == clock.now + timedelta(seconds=wait)
    assert row(grader)[:2] == (GraderStatus.DEGRADED, [Trouble.CIRCUIT])
    assert grader.held_until == one.permit.pause_until


def test_the_probe_of_a_killed_worker_is_another_ones_after_the_longest_call(grader, worker, clock):
    one, two = worker("killed"), worker("b")
    fails(one, 5)
    fails(two, 1)
    clock.passes(10)
    assert one.ask().is_trial
    clock.passes(grader.batch_timeout_ms / 1_000 + 4.9)
    assert not two.ask().is_trial
    clock.passes(0.2)
    assert two.ask().is_trial


def test_a_worker_that_has_nothing_to_send_leaves_the_probe(worker, clock):
    one, two = worker("a"), worker("b", want=0)
    fails(one)
    clock.passes(10)
    assert one.ask().is_trial
    assert not two.ask().is_trial
    one.ask(want=0)
    assert two.ask().is_trial


def test_answers_to_calls_from_before_it_opened_do_not_count_as_probes(worker, clock):
    one = worker("a")
    late = [one.guard.sent() for _ in range(6)]
    one.note(*(failed(number) for number in late[:5]))
    clock.passes(10)
    assert one.ask().slots == 1
    one.note(failed(late[5]))
    assert one.ask().is_trial


def test_a_failing_fifth_of_calls_never_opens_it_however_its_answers_come(grader, worker, clock):
    """B36: the bad ones fail at once and overtake the good ones; three workers, sixteen calls out."""
    workers = [worker(name) for name in "abc"]
    for one in workers * 2:
        one.ask()
    sent = 0
    for _ in range(200):
        for one in workers:
            numbers = [(one.guard.sent(), (sent + n) % 5 == 4) for n in range(one.permit.slots)]
            sent += len(numbers)
            one.note(*(failed(number) for number, bad in numbers if bad))
            clock.passes(0.05)
            one.note(*(good(number) for number, bad in numbers if not bad))
            assert one.permit.pause_until is None
        workers.append(workers.pop(0))
    assert row(grader)[0] == GraderStatus.ACTIVE


def test_good_answers_cost_a_round_trip_once_a_second(grader, worker, clock, django_assert_num_queries):
    one = worker("a")
    one.calls("g")
    with django_assert_num_queries(0):
        for _ in range(9):
            clock.passes(0.1)
            assert one.calls("g" * 64) is None
    clock.passes(0.1)
    one.calls("g")
    assert sum(span[1] for span in one.guard._seen.window) == 2 + 9 * 64


def test_a_batch_that_timed_out_makes_batches_smaller_for_all(worker):
    one, two = worker("a"), worker("b")
    assert one.calls("b", items=100, shrink=True).batch == 50
    assert two.ask().batch == 50


def test_batches_grow_back(worker):
    one = worker("a")
    one.calls("b", items=100, shrink=True)
    assert one.calls("g" * 10, items=50).batch == 62


class TestWhenWhoChangedTheCircuitDiedBeforeItSaidSo:
    def test_an_open_one_is_said_by_the_next_that_looks(self, grader, worker, clock):
        one, two = worker("a"), worker("b", want=0)
        fails(one)
        Grader.objects.update(troubles=[], held_until=None, held_reason="", status=GraderStatus.ACTIVE)
        two.ask()
        until = clock.now + timedelta(seconds=10)
        assert row(grader) == (GraderStatus.DEGRADED, [Trouble.CIRCUIT], until, pauses.CIRCUIT_OPEN)

    def test_and_a_closed_one_too(self, grader, worker):
        one = worker("a")
        Grader.objects.update(troubles=[Trouble.CIRCUIT], status=GraderStatus.DEGRADED)
        one.ask()
        assert row(grader)[:2] == (GraderStatus.ACTIVE, [])


def test_the_row_is_told_once_however_old_the_one_is_that_a_drain_has(worker, clock):
    one = worker("a")
    fails(one)
    clock.passes(10)
    one.ask()
    one.calls("ggg")
    with CaptureQueriesContext(connection) as asked:
        one.guard.refresh(one.grader, want=16, now=clock.now)
    assert not [query for query in asked if 'graders_grader"' in query["sql"]]


def test_a_grader_with_another_trouble_stays_degraded_when_the_circuit_closes(grader, worker, clock):
    one = worker("a")
    fails(one)
    grader.refresh_from_db()
    Grader.objects.update(troubles=[*grader.troubles, Trouble.HEALTH])
    clock.passes(10)
    one.ask()
    one.calls("ggg")
    assert row(grader)[:2] == (GraderStatus.DEGRADED, [Trouble.HEALTH])


def test_a_state_that_nobody_touched_for_long_says_nothing(worker, clock):
    one = worker("a")
    one.calls("b", items=100, shrink=True)
    one.guard.close()
    clock.passes(601)
    assert worker("b").permit.batch == 100


def test_what_is_left_to_tell_is_told_at_the_end(grader, worker, clock):
    one = worker("a")
    one.calls("g")
    late = [one.guard.sent() for _ in range(6)]
    one.note(*(failed(number) for number in late[1:]))
    one.guard.close()
    assert circuit.ROW == 5
    assert row(grader)[0] == GraderStatus.DEGRADED
