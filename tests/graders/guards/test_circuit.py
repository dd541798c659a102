"""The circuit's rules, without a home: when it opens, how it probes, when it closes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graders.guards import circuit
from graders.guards.circuit import CallEvent
from graders.guards.state import Circuit

LEASE_S = 35.0


def events(results):
    """Calls that end in the order in which they were sent."""
    return [CallEvent(in_row, result == "g") for result in results for in_row in (False, True)]


def judge(state, results, *, now=1_000.0, drain_id="a", alone=True):
    return circuit.judge(state, events(results), drain_id=drain_id, sole=alone, lease_s=LEASE_S, now=now)


def open_circuit(now=1_000.0):
    return judge(Circuit(), "bbbbb", now=now)


def half_open(now=1_010.0, drain_id="a"):
    return circuit.begin_trial(circuit.due(open_circuit(), now), drain_id, lease_s=LEASE_S, now=now)


def test_five_failures_in_a_row_open_it():
    assert judge(Circuit(), "bbbb").phase == "closed"
    opened = judge(Circuit(), "bbbbb")
    assert (opened.phase, opened.until) == ("open", 1_010.0)


def test_a_good_answer_ends_a_row():
    assert judge(judge(Circuit(), "bbbb"), "gbbbb").phase == "closed"


def test_failures_in_a_row_continue_across_drains():
    state = Circuit()
    for drain_id in "abcd":
        state = judge(state, "b", drain_id=drain_id, alone=False)
    assert judge(state, "b", drain_id="e", alone=False).phase == "open"


def test_failures_in_a_row_seen_by_one_of_several_holders_count_after_a_second():
    """Good results of the others may not have been reported yet."""
    state = judge(Circuit(), "bbbbbb", alone=False)
    assert state.phase == "closed"
    assert judge(state, "b", alone=False, now=1_001.0).phase == "open"
    assert circuit.due(state, 1_001.0).phase == "open"
    assert circuit.due(judge(state, "g", drain_id="b"), 1_001.0).phase == "closed"


def test_half_of_twenty_calls_within_a_minute_open_it():
    assert judge(Circuit(), "gb" * 9 + "g").phase == "closed"
    assert judge(Circuit(), "gb" * 10).phase == "open"


def test_fewer_than_twenty_calls_do_not_count_as_a_share():
    assert judge(Circuit(), "bbbbgbbbbgbbbbgbbbb").phase == "closed"


def test_calls_of_more_than_a_minute_ago_do_not_count():
    state = judge(Circuit(), "bbbg" * 4)
    assert judge(state, "bbbg", now=1_061.0).phase == "closed"
    assert judge(state, "bbbg", now=1_030.0).phase == "open"


def test_less_than_half_is_not_enough():
    assert judge(Circuit(), "ggb" * 200).phase == "closed"


@given(offset=st.integers(0, 4), sizes=st.lists(st.integers(1, 64), min_size=1, max_size=40))
def test_four_good_and_one_bad_for_ever_never_open_it(offset, sizes):
    """B36 of the hostile inputs, reported in groups of any size."""
    state, position = Circuit(), offset
    for index, size in enumerate(sizes):
        state = judge(state, ["b" if (position + n) % 5 == 4 else "g" for n in range(size)], now=1_000.0 + index)
        position += size
        assert state.phase == "closed"


def test_while_it_is_open_nothing_counts():
    opened = open_circuit()
    assert judge(opened, "gggggg", now=1_005.0) == opened
    assert judge(opened, "bbbbbb", now=1_005.0) == opened


def test_after_the_wait_one_holder_probes():
    assert circuit.due(open_circuit(), 1_009.9).phase == "open"
    state = half_open(drain_id="a")
    assert (state.phase, state.trial_by, state.trial_until) == ("half_open", "a", 1_010.0 + LEASE_S)
    assert circuit.begin_trial(state, "b", lease_s=LEASE_S, now=1_011.0).trial_by == "a"


def test_the_probe_of_a_killed_holder_is_free_after_its_lease():
    state = circuit.begin_trial(half_open(), "a", lease_s=LEASE_S, now=1_030.0)
    assert circuit.begin_trial(state, "b", lease_s=LEASE_S, now=1_010.0 + LEASE_S).trial_by == "b"


def test_a_holder_that_leaves_frees_the_probe_at_once():
    state = circuit.leave(half_open(), "a")
    assert circuit.begin_trial(state, "b", lease_s=LEASE_S, now=1_011.0).trial_by == "b"
    assert circuit.leave(half_open(drain_id="b"), "a").trial_by == "b"


def test_three_good_probes_in_a_row_close_it():
    state = judge(judge(half_open(), "g"), "g")
    assert state.phase == "half_open"
    assert judge(state, "g") == Circuit()


def test_good_probes_continue_to_count_with_the_next_holder():
    state = circuit.leave(judge(half_open(), "gg"), "a")
    state = circuit.begin_trial(state, "b", lease_s=LEASE_S, now=1_012.0)
    assert judge(state, "g", drain_id="b") == Circuit()


def test_answers_to_others_than_the_probing_holder_do_not_count():
    state = half_open()
    assert judge(state, "ggg", drain_id="b") == state
    assert judge(state, "bbb", drain_id="b") == state


def test_a_failed_probe_doubles_the_wait_up_to_five_minutes():
    """B37: a hanging probe ends with its time-out, which is such a failure."""
    state, now, waits = open_circuit(), 1_000.0, []
    for _ in range(8):
        waits.append(state.wait_s)
        now = state.until
        state = circuit.begin_trial(circuit.due(state, now), "a", lease_s=LEASE_S, now=now)
        state = judge(state, "b", now=now)
        assert (state.phase, state.until) == ("open", now + state.wait_s)
    assert waits == [10, 20, 40, 80, 160, 300, 300, 300]


def test_after_closing_the_next_wait_is_short_again():
    state = judge(half_open(), "b", now=1_010.0)
    assert state.wait_s == 20
    state = judge(circuit.begin_trial(circuit.due(state, state.until), "a", lease_s=LEASE_S, now=state.until), "ggg")
    assert judge(state, "bbbbb", now=2_000.0).wait_s == 10


@pytest.mark.parametrize(
    ("state", "says"),
    [
        pytest.param(open_circuit(), "5 calls in a row failed", id="first"),
        pytest.param(judge(half_open(), "b"), "The next trial call follows in 20 s", id="again"),
    ],
)
def test_the_reason_is_a_readable_sentence(state, says):
    assert says in circuit.reason(state)
