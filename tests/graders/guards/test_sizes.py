"""Batches become smaller at once and larger bit by bit."""

import pytest

from graders.guards import CallReport
from graders.guards.sizes import current, learn
from graders.guards.state import NOTHING, BatchSize


def refused(items):
    return CallReport(ok=True, items=items, shrink=True)


def good(items, times=1):
    return [CallReport(ok=True, items=items)] * times


def after(*answers, batch=NOTHING.batch, most=100):
    return current(learn(batch, answers, most), most)


def test_a_batch_that_proved_too_large_halves_the_size():
    assert after(refused(100)) == 50
    assert after(refused(100), refused(50), refused(25)) == 12


def test_many_that_were_out_at_the_same_time_halve_it_once():
    assert after(*[refused(100)] * 16) == 50


def test_one_item_is_the_least():
    assert after(refused(2), refused(1), refused(1)) == 1


def test_ten_full_batches_that_went_well_let_it_grow_by_a_quarter():
    assert after(*good(40, 9), batch=BatchSize(40)) == 40
    assert after(*good(40, 10), batch=BatchSize(40)) == 50


def test_it_grows_by_one_at_least():
    assert after(*good(1, 10), batch=BatchSize(1)) == 2
    assert after(*good(3, 10), batch=BatchSize(3)) == 4


def test_batches_that_are_not_full_say_nothing():
    assert after(*good(39, 50), batch=BatchSize(40)) == 40


def test_failures_of_other_kinds_say_nothing():
    assert after(*[CallReport(ok=False, items=40)] * 50, batch=BatchSize(40)) == 40


def test_another_refusal_starts_the_count_again():
    assert after(*good(40, 9), refused(40), *good(20, 9), batch=BatchSize(40)) == 20


@pytest.mark.parametrize("most", [1, 2, 7, 100, 1000])
def test_it_grows_back_to_all_that_the_grader_takes_and_no_further(most):
    batch = BatchSize(1)
    for _ in range(60):
        batch = learn(batch, good(current(batch, most), 10), most)
    assert current(batch, most) == most
    assert batch == BatchSize() or most == 1


def test_a_grader_that_takes_fewer_by_now_gets_fewer():
    assert current(BatchSize(40), 10) == 10
