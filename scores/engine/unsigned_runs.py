"""Fail the due runs of a grader whose shared secret cannot be decrypted, since no call to it can be signed.

The task's retry policy applies, with RETRY_AFTER_S between attempts. If the grader's owner rotates the secret in that
time, the runs continue.
"""

import time
from datetime import datetime
from typing import Final

from autotune.core.clock import database_now
from graders import status, targets
from graders.models import Grader
from graders.states import Trouble
from graders.verdicts import Failure
from scores.engine import claims, recording, retries
from scores.engine.call_results import CallResults, FailedAttempt
from scores.engine.claims import ClaimedRun
from scores.engine.materials import TaskFactsCache
from scores.engine.timeline import entry

RETRY_AFTER_S: Final = 60.0
AT_ONCE: Final = 128
SECRET_UNREADABLE: Final = Failure(
    "secret_unreadable",
    targets.SECRET_UNREADABLE,
    retryable=True,
    retry_after_s=RETRY_AFTER_S,
    trips=False,
    fault="platform",
)


def miss_due_runs(grader: Grader, *, until: float) -> None:
    """Fail one attempt of every due run of the grader, and mark the grader as degraded so that its owner sees it.

    until  the monotonic time at which to stop; the next drain continues
    """
    assert grader.version_id is not None  # callable_grader checks it
    status.trouble(grader.pk, Trouble.SECRET, targets.SECRET_UNREADABLE)
    facts = TaskFactsCache()
    while time.monotonic() < until and (claimed := claims.take(grader.pk, limit=AT_ONCE)):
        now = database_now()
        missed = [_missed(run, facts, now) for run in claimed]
        recording.save(grader.pk, grader.version_id, CallResults(missed=missed), facts)


def _missed(run: ClaimedRun, facts: TaskFactsCache, now: datetime) -> FailedAttempt:
    decision = retries.decide(
        SECRET_UNREADABLE,
        facts.task(run.task_id).policy,
        failures=run.failures,
        last_code=run.error_code,
        repeats=run.error_repeats,
        deadline=run.deadline_at,
        now=now,
    )
    step = entry("call", run.attempt, SECRET_UNREADABLE.code, ended=now, wake_at=decision.wake_at)
    return FailedAttempt(run, decision, called=False, step=step)
