"""What a drain has in hand when it saves: claimed runs, verdicts on them, failed attempts. Values a test need not name."""

from datetime import UTC, datetime, timedelta

from django.db.models import F

from graders.models import NO_VERSION
from graders.verdicts import Verdict
from scores.engine import recording
from scores.engine.call_results import CallResults, FailedAttempt, JudgedRun
from scores.engine.claims import ClaimedRun
from scores.engine.materials import TaskFactsCache
from scores.engine.retries import RetryDecision
from scores.models import WorkflowRun
from tests.factories import CompletionFactory, RunFactory, TaskFactory


def claim(run, *, lease_s=15):
    """The run under a lease, as a claim of only this run returns it."""
    WorkflowRun.objects.filter(pk=run.pk).update(
        status="running", attempt=F("attempt") + 1, leased_until=datetime.now(UTC) + timedelta(seconds=lease_s)
    )
    run.refresh_from_db()
    return ClaimedRun(
        run.pk, run.completion_id, run.task_id, run.organization_id, run.attempt, run.panel_size, run.deadline_at,
        run.failures, run.error_code, run.error_repeats, run.priority, run.generation, run.purpose, run.grader_version_id,
    )  # fmt: skip


def judged(claimed, value=0.5, confidence=0.9, *, version_id, latency_ms=20.0, **verdict):
    return JudgedRun(claimed, Verdict(value, confidence, **verdict), version_id, NO_VERSION, latency_ms)


def missed(claimed, code="timeout", message="No answer.", *, wake_at=None, repeats=1, called=True):
    """A failed attempt that ends the run, or with `wake_at` one that lets it sleep."""
    return FailedAttempt(claimed, RetryDecision(code, message, wake_at, repeats), called)


def save(grader, good=(), bad=()):
    recording.save(grader.pk, grader.version_id, CallResults(list(good), list(bad)), TaskFactsCache())


def state(run):
    """(status, error code, attempt, failures) of a run as stored."""
    run.refresh_from_db()
    return run.status, run.error_code, run.attempt, run.failures


class Bench:
    """A task with a panel of one, and short ways to run, judge and save for it."""

    def __init__(self, **task):
        self.task = TaskFactory(**task)
        self.grader = self.task.version.members.get().grader

    def run(self, **fields):
        return RunFactory(completion=CompletionFactory(task=self.task), **fields)

    def judged(self, claimed, *values, **verdict):
        return judged(claimed, *values, version_id=self.task.version_id, **verdict)

    def save(self, good=(), bad=()):
        save(self.grader, good, bad)
