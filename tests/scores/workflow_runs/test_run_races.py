"""Cancels, retries and re-scores that meet saves, and each other, at one moment."""

from collections import Counter

import pytest

from autotune.access.principal import Principal
from autotune.core.errors import Conflict
from scores.intake import rescoring
from scores.models import Reward, Score, WorkflowRun
from scores.workflow_runs import cancelling, retrying
from tests.factories import ApiKeyFactory, CompletionFactory, GraderFactory, RunFactory, TaskFactory
from tests.support.concurrency import together
from tests.support.results import Bench, claim, judged, missed, save

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True, serialized_rollback=True)]
TIMES = 15


def outcome(work):
    """The code of the conflict that `work` met, or 'done'."""
    try:
        work()
    except Conflict as exc:
        return exc.code
    return "done"


@pytest.fixture
def bench(db):
    return Bench()


def test_of_a_concurrent_cancel_and_save_one_wins_without_traces_of_the_other(bench):
    met = Counter()
    for _ in range(TIMES):
        run = bench.run()
        held = claim(run)
        result, _ = together(
            lambda run=run: outcome(lambda: cancelling.cancel(run.pk)),
            lambda held=held: bench.save([bench.judged(held, 0.75)]),
        )
        run.refresh_from_db()
        reward = Reward.objects.get(pk=run.completion_id)
        scores = Score.objects.filter(run=run).count()
        expected = {"done": ("failed", 0, None), "already_final": ("completed", 1, 0.75)}[result]
        assert (run.status, scores, reward.value) == expected
        met[result] += 1
    assert sum(met.values()) == TIMES


def test_of_a_cancel_and_a_failure_one_settles_the_completion(bench):
    for _ in range(TIMES):
        run = bench.run()
        held = claim(run)
        together(
            lambda run=run: outcome(lambda: cancelling.cancel(run.pk)),
            lambda held=held: bench.save(bad=[missed(held, "grader_error")]),
        )
        run.refresh_from_db()
        assert run.status == "failed"
        assert Reward.objects.get(pk=run.completion_id).error_code == run.error_code


def test_of_two_concurrent_retries_one_succeeds(bench):
    for _ in range(TIMES):
        run = bench.run()
        bench.save(bad=[missed(claim(run), "grader_error")])
        retry = lambda run=run: outcome(lambda: retrying.retry(run.pk))  # noqa: E731
        assert sorted(together(retry, retry)) == ["done", "not_failed"]
        run.refresh_from_db()
        assert (run.status, len(run.steps)) == ("pending", 1)


def test_of_two_concurrent_rescores_one_creates_runs(bench):
    key = ApiKeyFactory(organization=bench.task.organization)
    principal = Principal(key.organization, key.role, key.user, key)
    for _ in range(TIMES):
        run = bench.run()
        bench.save([bench.judged(claim(run), 0.5)])
        again = lambda run=run: outcome(lambda: rescoring.rescore(run.completion_id, principal))  # noqa: E731
        assert sorted(together(again, again)) == ["done", "not_final"]
        assert WorkflowRun.objects.filter(completion=run.completion_id).count() == 2


def test_a_retry_and_the_end_of_the_rest_of_the_panel_leave_no_reward_behind():
    graders = [GraderFactory() for _ in range(2)]
    task = TaskFactory(graders=graders)
    for _ in range(TIMES):
        completion = CompletionFactory(task=task)
        bad, other = (RunFactory(completion=completion, grader=grader, panel_size=2) for grader in graders)
        save(graders[0], bad=[missed(claim(bad), "grader_error")])
        held = claim(other)
        together(
            lambda bad=bad: outcome(lambda: retrying.retry(bad.pk)),
            lambda held=held: save(graders[1], bad=[missed(held, "timeout")]),
        )
        assert not Reward.objects.filter(pk=completion.pk).exists()  # the retried run is unfinished
        bad.refresh_from_db()
        save(graders[0], [judged(claim(bad), 0.25, version_id=task.version_id)])
        reward = Reward.objects.get(pk=completion.pk)
        assert (reward.value, reward.used, reward.failed) == (0.25, 1, 1)


def test_concurrent_retries_and_cancels_of_groups_never_deadlock(bench):
    runs = [bench.run() for _ in range(60)]
    for run in runs[::2]:
        bench.save(bad=[missed(claim(run), "grader_error")])
    keys = [run.pk for run in runs]
    stored_runs = WorkflowRun.objects.filter(pk__in=keys)
    works = [lambda: retrying.retry_all(stored_runs).retried, lambda: cancelling.cancel_all(keys[::-1])] * 3
    together(*works)
    for run in stored_runs:
        reward = Reward.objects.filter(pk=run.completion_id).first()
        assert (run.status, reward is None) in (("pending", True), ("failed", False))
