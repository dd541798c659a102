"""POST /workflow-runs/:id/cancel: an unfinished run ends, and what its grader answers later is dropped."""

import pytest

from scores.models import Review, Reward, Score, WorkflowRun
from tests.factories import CompletionFactory, GraderFactory, RunFactory, ScoreFactory, TaskFactory, public
from tests.support.results import Bench, claim

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


def cancel(api, run):
    return api.post(f"/workflow-runs/{public('run', run)}/cancel")


@pytest.mark.parametrize("status", ["pending", "running", "sleeping", "waiting"])
def test_an_unfinished_run_fails_with_cancelled(api, task, status):
    run = RunFactory(completion=CompletionFactory(task=task), status=status, attempt=1)
    answer = cancel(api, run)
    assert answer.status_code == 200, answer.content
    body = answer.json()["workflowRun"]
    assert (body["status"], body["error"]["code"], body["error"]["fault"]) == ("failed", "cancelled", "caller")
    assert (body["steps"][-1]["step"], body["steps"][-1]["outcome"]) == ("cancel", "cancelled")
    reward = Reward.objects.get()
    assert (reward.value, reward.error_code) == (None, "cancelled")
    assert api.get(f"/completions/{public('comp', run.completion)}/score").json()["status"] == "failed"


@pytest.mark.parametrize("status", ["completed", "failed"])
def test_a_final_run_stays_unchanged(api, task, status):
    run = RunFactory(completion=CompletionFactory(task=task), status=status, attempt=1, error_code="timeout")
    answer = cancel(api, run)
    assert (answer.status_code, answer.json()["code"]) == (409, "already_final")
    run.refresh_from_db()
    assert (run.status, run.error_code) == (status, "timeout")


def test_a_second_cancel_is_refused(api, task):
    run = RunFactory(completion=CompletionFactory(task=task))
    assert [cancel(api, run).status_code for _ in range(2)] == [200, 409]


def test_the_late_answer_of_a_cancelled_run_is_dropped(api):
    bench = Bench(organization=api.organization)
    run = bench.run()
    held = claim(run)
    assert cancel(api, run).status_code == 200
    bench.save([bench.judged(held, 0.75)])
    run.refresh_from_db()
    assert (run.status, run.error_code, Score.objects.count()) == ("failed", "cancelled", 0)
    assert Reward.objects.get().value is None


def test_a_run_retried_after_a_cancel_accepts_results_again(api):
    bench = Bench(organization=api.organization)
    run = bench.run()
    held = claim(run)
    cancel(api, run)
    assert api.post(f"/workflow-runs/{public('run', run)}/retry").status_code == 200
    bench.save([bench.judged(held, 0.75)])
    assert Reward.objects.get().value == Score.objects.get().value == 0.75


def test_the_other_graders_of_a_panel_make_the_reward(api):
    graders = [GraderFactory(organization=api.organization) for _ in range(2)]
    completion = CompletionFactory(task=TaskFactory(organization=api.organization, graders=graders))
    good = RunFactory(completion=completion, grader=graders[0], panel_size=2, status="completed", attempt=1)
    ScoreFactory(run=good, value=0.25, reward=False)
    assert cancel(api, RunFactory(completion=completion, grader=graders[1], panel_size=2)).status_code == 200
    reward = Reward.objects.get()
    assert (reward.value, reward.used, reward.failed) == (0.25, 1, 1)


def test_a_shadow_run_ends_without_a_reward(api, task):
    run = RunFactory(completion=CompletionFactory(task=task), panel_size=0)
    assert cancel(api, run).status_code == 200
    assert Reward.objects.count() == 0


def test_the_review_of_a_cancelled_run_is_closed(api, task):
    run = RunFactory(completion=CompletionFactory(task=task), status="waiting", waits_for="review", attempt=1)
    review = Review.objects.create(
        organization=run.organization, run=run, completion=run.completion, task=task, grader=run.grader,
        grader_version=run.grader.version, value=0.5, confidence=0.1, expires_at=run.deadline_at,
    )  # fmt: skip
    assert cancel(api, run).status_code == 200
    review.refresh_from_db()
    assert review.status == "cancelled"
    assert WorkflowRun.objects.get().waits_for == ""


def test_roles_that_may_cancel(api_for, task):
    run = RunFactory(completion=CompletionFactory(task=task))
    for role in ("reviewer", "grader_owner"):
        assert cancel(api_for(role=role, organization=task.organization), run).status_code == 403
    for role in ("training_operator", "organization_admin", "admin"):
        assert cancel(api_for(role=role), run).status_code == 404
    run.refresh_from_db()
    assert run.status == "pending"
    assert cancel(api_for(role="organization_admin", organization=task.organization), run).status_code == 200
