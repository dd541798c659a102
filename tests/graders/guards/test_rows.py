"""Failures follow each other in the order in which calls were sent, not in which their answers came."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from graders.guards import CallReport
from graders.guards.rows import MAX_WAITING, CallSequence


def bad(number):
    return CallReport(ok=False, items=1, number=number)


def good(number):
    return CallReport(ok=True, items=1, number=number)


def in_row(events):
    return "".join("g" if event.ok else "b" for event in events if event.in_row)


def at_once(events):
    return "".join("g" if event.ok else "b" for event in events if not event.in_row)


def sending(count):
    rows = CallSequence()
    assert [rows.sent() for _ in range(count)] == list(range(1, count + 1))
    return rows


def test_failures_that_overtake_successes_are_not_in_a_row():
    rows = sending(6)
    events = rows.hear([bad(2), bad(4), bad(6)])
    assert (at_once(events), in_row(events)) == ("bbb", "")
    assert in_row(rows.hear([good(1), good(3), good(5)])) == "gbgbgb"


def test_results_without_a_number_count_in_the_order_of_arrival():
    events = CallSequence().hear([bad(0), good(0), bad(0)])
    assert (at_once(events), in_row(events)) == ("bgb", "bgb")


def test_calls_are_open_until_they_are_noted():
    rows = sending(3)
    assert rows.out == 3
    rows.hear([bad(3), good(1)])
    assert rows.out == 1


def test_results_of_calls_before_a_circuit_change_are_ignored():
    rows = sending(3)
    rows.forget()
    rows.sent()
    events = rows.hear([bad(1), bad(2), good(4), bad(3)])
    assert (at_once(events), in_row(events)) == ("g", "g")
    assert rows.out == 0


def test_at_the_end_open_calls_are_not_waited_for():
    rows = sending(4)
    rows.hear([bad(2), bad(4)])
    assert in_row(rows.end()) == "bb"
    assert rows.out == 0


def test_a_call_that_is_never_noted_does_not_block_others_for_ever():
    rows = sending(MAX_WAITING + 2)
    assert in_row(rows.hear(bad(number) for number in range(2, MAX_WAITING + 3))).startswith("bbbbb")


@given(order=st.permutations(range(1, 30)), cuts=st.sets(st.integers(1, 28)))
def test_every_result_is_reported_once_in_each_order(order, cuts):
    rows, heard = sending(29), []
    edges = [0, *sorted(cuts), 29]
    for start, end in pairwise(edges):
        heard += rows.hear(good(n) if n % 3 else bad(n) for n in order[start:end])
    assert in_row(heard) == "".join("g" if n % 3 else "b" for n in range(1, 30))
    assert at_once(heard) == "".join("g" if n % 3 else "b" for n in order)
    assert rows.out == 0
