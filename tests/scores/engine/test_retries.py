"""What follows a failed attempt: waits that double with full jitter, limits, Retry-After, the deadline."""

import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graders.verdicts import Failure
from scores.engine import retries
from scores.engine.retries import RetrySettings, decide

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
POLICY = RetrySettings(max_attempts=5, backoff_ms=500, max_backoff_ms=30_000)
AWAY = Failure("grader_unavailable", "The grader answered 503.", retryable=True)


def after(failure, *, failures=0, policy=POLICY, last_code="", repeats=0, deadline=NOW + timedelta(days=1)):
    return decide(failure, policy, failures=failures, last_code=last_code, repeats=repeats, deadline=deadline, now=NOW)


def wait_ms(decision):
    return (decision.wake_at - NOW) / timedelta(milliseconds=1)


@pytest.fixture
def longest(monkeypatch):
    """Jitter at its upper end: a wait is its ceiling."""
    monkeypatch.setattr(retries.random, "uniform", lambda low, high: high)


def test_a_final_failure_ends_the_run_at_once():
    decision = after(Failure("grader_error", "No reference answer."))
    assert (decision.wake_at, decision.code, decision.message) == (None, "grader_error", "No reference answer.")


def test_the_ceiling_of_the_wait_doubles_up_to_the_tasks_limit(longest):
    policy = RetrySettings(max_attempts=100, backoff_ms=500, max_backoff_ms=30_000)
    waits = [wait_ms(after(AWAY, failures=failures, policy=policy)) for failures in range(8)]
    assert waits == [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]


def test_a_long_series_of_failures_does_not_overflow(longest):
    policy = RetrySettings(max_attempts=10_000, backoff_ms=60_000, max_backoff_ms=3_600_000)
    assert wait_ms(after(AWAY, failures=9_000, policy=policy)) == 3_600_000


def test_jitter_is_full_from_nothing_to_the_ceiling():
    random.seed(7)
    waits = [wait_ms(after(AWAY, failures=2)) for _ in range(4_000)]
    assert min(waits) >= 0
    assert max(waits) <= 2_000
    quarters = [sum(low <= wait < low + 500 for wait in waits) for low in (0, 500, 1_000, 1_500)]
    assert all(850 < quarter < 1_150 for quarter in quarters)


@given(st.integers(0, 50), st.integers(1, 10_000), st.integers(1, 60_000))
def test_no_wait_is_longer_than_the_task_allows(failures, backoff_ms, max_backoff_ms):
    policy = RetrySettings(max_attempts=100, backoff_ms=backoff_ms, max_backoff_ms=max_backoff_ms)
    assert 0 <= wait_ms(after(AWAY, failures=failures, policy=policy)) <= max_backoff_ms


@pytest.mark.parametrize("seconds", [1.0, 17.0, 300.0])
def test_retry_after_replaces_the_wait(seconds):
    busy = Failure("rate_limited", "Slow down.", retryable=True, retry_after_s=seconds)
    assert after(busy, failures=3).wake_at == NOW + timedelta(seconds=seconds)


def test_the_attempt_that_reaches_the_tasks_limit_is_the_last():
    assert after(AWAY, failures=3).wake_at is not None
    assert after(AWAY, failures=4).wake_at is None
    assert after(AWAY, failures=0, policy=RetrySettings(1, 500, 30_000)).wake_at is None


def test_the_last_failure_gives_the_run_its_code():
    decision = after(AWAY, failures=4, last_code="timeout", repeats=4)
    assert (decision.code, decision.message, decision.repeats) == (AWAY.code, AWAY.message, 1)


def test_a_code_may_have_a_limit_of_its_own():
    signature = Failure("bad_signature", "The signature is wrong.", retryable=True, limit=2)
    first = after(signature)
    assert (first.wake_at is not None, first.repeats) == (True, 1)
    second = after(signature, failures=1, last_code="bad_signature", repeats=1)
    assert (second.wake_at, second.code, second.repeats) == (None, "bad_signature", 2)


def test_the_limit_of_a_code_counts_attempts_in_a_row():
    signature = Failure("bad_signature", "The signature is wrong.", retryable=True, limit=2)
    between = after(AWAY, failures=1, last_code="bad_signature", repeats=1)
    assert (between.wake_at is not None, between.repeats) == (True, 1)
    assert after(signature, failures=2, last_code=AWAY.code, repeats=1).wake_at is not None


def test_a_wait_past_the_deadline_ends_the_run_with_the_last_reason(longest):
    decision = after(AWAY, deadline=NOW + timedelta(milliseconds=500))
    assert (decision.wake_at, decision.code) == (None, "deadline_exceeded")
    assert AWAY.message in decision.message
    assert after(AWAY, deadline=NOW + timedelta(milliseconds=501)).wake_at == NOW + timedelta(milliseconds=500)


def test_a_run_that_was_never_called_counts_no_failed_attempt():
    assert (retries.OVERDUE.code, retries.OVERDUE.wake_at, retries.OVERDUE.repeats) == ("deadline_exceeded", None, 0)
