"""Decide what follows a failed attempt: another attempt after a wait, or the failure of the run."""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta

from graders.verdicts import Failure

DEADLINE_EXCEEDED = "deadline_exceeded"


@dataclass(frozen=True, slots=True)
class RetrySettings:
    """A task's `retry`: the maximum number of attempts, the first wait and the longest wait (milliseconds)."""

    max_attempts: int
    backoff_ms: int
    max_backoff_ms: int


@dataclass(frozen=True, slots=True)
class RetryDecision:
    """`wake_at` None: the run fails with `code` and `message`. `repeats` 0: no attempt failed."""

    code: str
    message: str
    wake_at: datetime | None = None
    repeats: int = 1


# For a run whose deadline has passed before a call; no attempt failed.
OVERDUE = RetryDecision(DEADLINE_EXCEEDED, "The task's deadline passed before the grader could be called.", repeats=0)


def decide(
    failure: Failure,
    policy: RetrySettings,
    *,
    failures: int,
    last_code: str,
    repeats: int,
    deadline: datetime,
    now: datetime,
) -> RetryDecision:
    """Decide whether to retry a run after an attempt that ended in `failure` (protocol section 5).

    failures   attempts that failed before this one
    last_code  of the attempt before, which ended `repeats` times in a row with it
    """
    same = repeats + 1 if last_code == failure.code else 1
    spent = failures + 1 >= policy.max_attempts or (failure.limit is not None and same >= failure.limit)
    if not failure.retryable or spent:
        return RetryDecision(failure.code, failure.message, repeats=same)
    wake_at = now + _wait(failure, policy, failures)
    if wake_at >= deadline:
        message = f"The task's deadline passes before another attempt. The last attempt failed: {failure.message}"
        return RetryDecision(DEADLINE_EXCEEDED, message, repeats=same)
    return RetryDecision(failure.code, failure.message, wake_at, same)


def _wait(failure: Failure, policy: RetrySettings, failures: int) -> timedelta:
    """The wait before the next attempt: it doubles, with full jitter, unless the grader requested another wait."""
    if failure.retry_after_s is not None:
        return timedelta(seconds=failure.retry_after_s)
    ceiling = min(policy.max_backoff_ms, policy.backoff_ms * 2 ** min(failures, 30))
    return timedelta(milliseconds=random.uniform(0, ceiling))  # noqa: S311 - jitter, no secret
