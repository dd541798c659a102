"""Retry failed runs: one, or all that match filters.

Only the newest run of a completion and grader can be retried: an older one would restore what a re-score has replaced.
A retry deletes a reward without a value, so that the completion is `processing` again; a reward with a value stays
until the run has ended.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from autotune.core.clock import database_now
from autotune.core.errors import Conflict
from graders.models import Grader
from graders.states import GraderStatus
from scores.engine import settling, wakeups
from scores.engine.timeline import appended, entry
from scores.models import Reward, WorkflowRun
from scores.states import RunPurpose, RunStatus
from tasks.models import Completion, Task

AT_ONCE: Final = 300  # runs of one transaction
MOST: Final = 10_000  # runs that one request retries
REFUSALS: Final = {
    "not_failed": "Only a failed run can be retried.",
    "superseded": "The completion was scored again after this run; retry its newest run of the grader.",
    "grader_inactive": "The run's grader is inactive. Retry the run when the grader is active again.",
    "text_erased": "The completion's text was erased: no grader can judge it any more.",
}


@dataclass(slots=True)
class RetryResult:
    """The result of a retry by filter. `skipped`: codes of REFUSALS; `more`: failed runs are left beyond MOST."""

    retried: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    more: bool = False


def retry(run_id: UUID) -> None:
    """Retry one failed run.

    raises Conflict with a code of REFUSALS
    """
    with transaction.atomic():
        if code := _begin_anew([run_id]).get(run_id):
            raise Conflict(REFUSALS[code], code=code)


def retry_all(runs: QuerySet[WorkflowRun], *, most: int = MOST) -> RetryResult:
    """Retry the failed runs of a queryset, each group of them in a transaction of its own."""
    result = RetryResult()
    failed = runs.filter(status=RunStatus.FAILED).order_by("pk")
    rest = failed
    while result.retried < most:
        run_ids = list(rest.values_list("pk", flat=True)[: min(AT_ONCE, most - result.retried)])
        if not run_ids:
            return result
        with transaction.atomic():
            refusals = _begin_anew(run_ids)
        result.retried += len(run_ids) - len(refusals)
        result.skipped.update(refusals.values())
        rest = failed.filter(pk__gt=run_ids[-1])
    result.more = rest.exists()
    return result


def _begin_anew(run_ids: Collection[UUID]) -> dict[UUID, str]:
    """Make failed runs due again, inside a transaction. Returns the codes of those that cannot be retried."""
    selected_runs = WorkflowRun.objects.filter(pk__in=run_ids)
    settling.lock(selected_runs.values_list("completion_id", flat=True))  # before the runs, as every save does
    runs = list(selected_runs.order_by("pk").select_for_update(no_key=True))
    refusals = refused(runs)
    retryable = [run for run in runs if run.pk not in refusals]
    if retryable:
        _make_due(retryable)
        scoring = {run.completion_id for run in retryable if run.purpose == RunPurpose.SCORE}
        Reward.objects.filter(completion_id__in=scoring, value=None).delete()
        wakeups.on_commit({run.grader_id for run in retryable})
    return refusals


def refused(runs: Sequence[WorkflowRun]) -> dict[UUID, str]:
    """Return, by run, the code of why it cannot be retried."""
    completions = {run.completion_id for run in runs}
    newest = _newest(completions)
    inactive = _inactive({run.grader_id for run in runs})
    erased = Completion.objects.filter(pk__in=completions, erased_at__isnull=False)
    textless = set(erased.values_list("pk", flat=True))
    codes = {}
    for run in runs:
        if run.status != RunStatus.FAILED:
            codes[run.pk] = "not_failed"
        elif newest[run.completion_id, run.grader_id, run.purpose] != run.pk:
            codes[run.pk] = "superseded"
        elif run.grader_id in inactive:
            codes[run.pk] = "grader_inactive"
        elif run.completion_id in textless:
            codes[run.pk] = "text_erased"
    return codes


def _newest(completions: Collection[UUID]) -> dict[tuple[UUID, UUID, str], UUID]:
    """Return the newest run of each completion, grader and purpose."""
    runs = WorkflowRun.objects.filter(completion_id__in=completions).order_by("generation", "pk")
    columns = runs.values_list("pk", "completion_id", "grader_id", "purpose")
    return {(completion, grader, purpose): pk for pk, completion, grader, purpose in columns}


def _inactive(graders: Collection[UUID]) -> set[UUID]:
    live = Grader.objects.live().filter(pk__in=graders).exclude(status=GraderStatus.INACTIVE)
    return set(graders) - set(live.values_list("pk", flat=True))


def _make_due(runs: Sequence[WorkflowRun]) -> None:
    """Move failed runs to `pending` with a new deadline and no failures; attempts continue to count."""
    now = database_now()
    deadlines = dict(Task.objects.filter(pk__in={run.task_id for run in runs}).values_list("pk", "deadline_ms"))
    for run in runs:
        run.steps = appended(run.steps, entry("retry", run.attempt, "queued", ended=now))
    WorkflowRun.objects.bulk_update(runs, ["steps"], batch_size=AT_ONCE)
    for task_id, deadline_ms in deadlines.items():
        WorkflowRun.objects.filter(pk__in=[run.pk for run in runs if run.task_id == task_id]).update(
            status=RunStatus.PENDING,
            failures=0,
            leased_until=None,
            wake_at=None,
            waits_for="",
            error_code="",
            error_message="",
            error_repeats=0,
            completed_at=None,
            deadline_at=now + timedelta(milliseconds=deadline_ms),
        )
