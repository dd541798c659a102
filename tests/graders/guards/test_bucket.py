"""The rate limit: in completions, exact, with a burst of ten seconds' worth."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graders.guards.bucket import capacity, give_back, take
from graders.guards.state import TokenBucket


@pytest.mark.parametrize(("rate", "holds"), [(1, 1), (6, 1), (60, 10), (600, 100), (10_000, 1_666)])
def test_a_bucket_holds_ten_seconds_of_tokens_and_at_least_one(rate, holds):
    assert capacity(rate) == holds


def test_a_new_bucket_has_a_seconds_worth():
    bucket, taken, more_at = take(None, 100, rate=600, now=0.0)
    assert (taken, more_at) == (10, 1.0)
    assert bucket == TokenBucket(0.0, 0.0)


def test_tokens_that_are_there_are_all_granted_at_once():
    assert take(TokenBucket(50.0, 0.0), 30, rate=600, now=0.0)[1:] == (30, None)


def test_a_partial_grant_says_when_to_ask_again():
    _, taken, more_at = take(TokenBucket(4.0, 0.0), 30, rate=600, now=0.0)
    assert (taken, more_at) == (4, 1.0)
    _, taken, more_at = take(TokenBucket(0.0, 0.0), 3, rate=600, now=0.0)
    assert (taken, more_at) == (0, pytest.approx(0.3))


def test_at_a_low_rate_one_token_is_worth_asking_for():
    assert take(TokenBucket(0.0, 0.0), 100, rate=6, now=0.0)[1:] == (0, 10.0)


def test_returned_tokens_can_be_taken_again_and_never_overflow():
    bucket, _, _ = take(TokenBucket(100.0, 0.0), 60, rate=600, now=0.0)
    assert take(give_back(bucket, 50, rate=600), 90, rate=600, now=0.0)[1] == 90
    assert give_back(bucket, 500, rate=600).tokens == 100
    assert give_back(None, 5, rate=600) is None


def test_a_lower_rate_applies_at_once():
    assert take(TokenBucket(100.0, 0.0), 100, rate=60, now=0.0)[1] == 10


def test_a_clock_that_moves_backwards_adds_no_tokens():
    bucket, _, _ = take(TokenBucket(0.0, 100.0), 5, rate=600, now=40.0)
    assert take(bucket, 5, rate=600, now=100.0)[1] == 0


asks = st.lists(st.tuples(st.floats(0, 30), st.integers(1, 200), st.integers(0, 200)), min_size=1, max_size=80)


@given(rate=st.integers(1, 2_000), asks=asks)
def test_no_minute_has_more_than_the_rate_and_one_burst(rate, asks):
    bucket, now, log = None, 0.0, []
    for wait, amount, unused in asks:
        now += wait
        bucket, taken, more_at = take(bucket, amount, rate=rate, now=now)
        assert (more_at is None) == (taken == amount)
        assert more_at is None or now < more_at <= now + 60
        back = min(unused, taken)
        bucket = give_back(bucket, back, rate=rate)
        log.append((now, taken - back))
    for start, _ in log:
        assert sum(count for moment, count in log if start <= moment < start + 60) <= rate + capacity(rate)


@given(rate=st.integers(1, 2_000))
def test_asking_at_the_announced_times_uses_the_whole_rate(rate):
    bucket, now, taken = None, 0.0, 0
    while now < 600:
        bucket, more, more_at = take(bucket, 10_000, rate=rate, now=now)
        taken, now = taken + more, more_at
    assert taken >= rate * 10 * 0.99 - 1
