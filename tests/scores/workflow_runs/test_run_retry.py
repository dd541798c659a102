"""POST /workflow-runs/:id/retry and POST /workflow-runs/retry: failed runs start again."""

from datetime import UTC, datetime, timedelta

import pytest

from scores.models import Reward, WorkflowRun
from scores.workflow_runs import retrying
from tasks.models import Completion
from tests.factories import CompletionFactory, GraderFactory, RunFactory, ScoreFactory, TaskFactory, public
from tests.scores.submitting import problems

pytestmark = pytest.mark.django_db
UNKNOWN = "01jd0000000000000000000000"


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization, deadline_ms=3_600_000)


def failed(task, code="timeout", *, reward=True, completion=None, **fields):
    """A failed run, and the reward without a value that its save wrote."""
    completion = completion or CompletionFactory(task=task)
    run = RunFactory(
        completion=completion,
        **{
            "status": "failed", "attempt": 5, "failures": 5, "error_code": code, "error_message": "No answer.",
            "error_repeats": 5, "started_at": datetime.now(UTC), "completed_at": datetime.now(UTC), **fields,
        },
    )  # fmt: skip
    if reward:
        Reward.objects.create(
            completion=completion, organization=completion.organization, task=completion.task, value=None,
            confidence=None, aggregation="mean", used=0, failed=1, error_code=code,
        )  # fmt: skip
    return run


def retry(api, run):
    return api.post(f"/workflow-runs/{public('run', run)}/retry")


def status_of(api, completion):
    return api.get(f"/completions/{public('comp', completion)}").json()["completion"]["status"]


# --- one ------------------------------------------------------------------------------------------------------------


def test_a_failed_run_is_due_again_with_all_its_attempts_and_a_new_deadline(api, task, woken):
    run = failed(task, deadline_at=datetime.now(UTC) - timedelta(days=1))
    answer, graders = woken(lambda: retry(api, run))
    assert answer.status_code == 200, answer.content
    body = answer.json()["workflowRun"]
    assert (body["status"], body["attempt"], body["error"], body["completedAt"]) == ("pending", 5, None, None)
    assert (body["steps"][-1]["step"], body["steps"][-1]["outcome"]) == ("retry", "queued")
    run.refresh_from_db()
    assert (run.failures, run.error_code, run.error_message, run.error_repeats) == (0, "", "", 0)
    assert timedelta(minutes=59) < run.deadline_at - datetime.now(UTC) < timedelta(minutes=61)
    assert graders == [run.grader_id]


def test_its_completion_is_processed_again(api, task):
    run = failed(task)
    assert status_of(api, run.completion) == "failed"
    retry(api, run)
    assert status_of(api, run.completion) == "processing"
    assert Reward.objects.count() == 0
    listed = api.get("/completions?status=processing").json()["completions"]
    assert [completion["id"] for completion in listed] == [public("comp", run.completion)]


def test_a_reward_that_other_graders_made_stays_until_the_run_has_ended(api):
    graders = [GraderFactory(organization=api.organization) for _ in range(2)]
    task = TaskFactory(organization=api.organization, graders=graders)
    completion = CompletionFactory(task=task)
    good = RunFactory(completion=completion, grader=graders[0], panel_size=2, status="completed", attempt=1)
    ScoreFactory(run=good)
    bad = failed(task, completion=completion, grader=graders[1], panel_size=2, reward=False)
    assert retry(api, bad).status_code == 200
    assert (Reward.objects.count(), status_of(api, completion)) == (1, "completed")


def test_a_second_retry_is_refused(api, task):
    run = failed(task)
    assert retry(api, run).status_code == 200
    answer = retry(api, run)
    assert problems(answer, 409) == []
    assert answer.json()["code"] == "not_failed"


@pytest.mark.parametrize("status", ["pending", "running", "sleeping", "waiting", "completed"])
def test_only_a_failed_run_can_be_retried(api, task, status):
    run = RunFactory(completion=CompletionFactory(task=task), status=status, attempt=1)
    answer = retry(api, run)
    assert (answer.status_code, answer.json()["code"]) == (409, "not_failed")
    assert WorkflowRun.objects.get().status == status


@pytest.mark.parametrize("newer", ["completed", "failed", "pending"])
def test_a_run_that_a_newer_one_has_replaced_is_not_retried(api, task, newer):
    old = failed(task)
    new = RunFactory(completion=old.completion, generation=1, status=newer, attempt=1)
    answer = retry(api, old)
    assert (answer.status_code, answer.json()["code"]) == (409, "superseded")
    if newer == "failed":
        assert retry(api, new).status_code == 200


@pytest.mark.parametrize("change", [{"status": "inactive"}, {"deleted_at": datetime(2026, 1, 1, tzinfo=UTC)}])
def test_a_run_of_a_grader_that_is_not_called_is_not_retried(api, task, change):
    run = failed(task)
    type(run.grader).objects.filter(pk=run.grader_id).update(**change)
    answer = retry(api, run)
    assert (answer.status_code, answer.json()["code"]) == (409, "grader_inactive")
    assert Reward.objects.count() == 1


def test_a_run_without_its_text_is_not_retried(api, task):
    run = failed(task)
    Completion.objects.update(erased_at=datetime.now(UTC), prompt=None, response=None)
    answer = retry(api, run)
    assert (answer.status_code, answer.json()["code"]) == (409, "text_erased")


def test_roles_that_may_retry(api_for, task):
    run = failed(task)
    for role, status in (("reviewer", 403), ("grader_owner", 403)):
        assert retry(api_for(role=role, organization=task.organization), run).status_code == status
    for role in ("training_operator", "organization_admin", "admin"):
        assert retry(api_for(role=role), run).status_code == 404
    assert retry(api_for(role="organization_admin", organization=task.organization), run).status_code == 200


def test_a_body_is_refused(api, task):
    answer = api.post(f"/workflow-runs/{public('run', failed(task))}/retry", {"force": True})
    assert problems(answer) == [("/force", "unknown_field")]


# --- many -----------------------------------------------------------------------------------------------------------


def retry_many(api, **body):
    answer = api.post("/workflow-runs/retry", body)
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_exactly_the_filtered_runs_are_retried(api, task):
    other = TaskFactory(organization=api.organization)
    matching = [failed(task) for _ in range(3)]
    left = [failed(task, "bad_signature"), failed(other), RunFactory(completion=CompletionFactory(task=task))]
    body = retry_many(api, taskId=public("task", task), code="timeout", status="failed")
    assert body == {"retried": 3, "skipped": [], "more": False}
    for run in matching:
        run.refresh_from_db()
        assert run.status == "pending"
    assert list(WorkflowRun.objects.filter(pk__in=[run.pk for run in left]).order_by("pk").values_list("status")) == [
        ("failed",), ("failed",), ("pending",),
    ]  # fmt: skip


def test_each_filter_works_separately(api, task):
    for member in ("taskId", "graderId", "completionId", "code", "status"):
        run = failed(task)
        value = {
            "taskId": public("task", task), "graderId": public("grader", run.grader),
            "completionId": public("comp", run.completion), "code": "timeout", "status": "failed",
        }[member]  # fmt: skip
        assert retry_many(api, **{member: value})["retried"] == 1, member


def test_skipped_runs_are_counted_by_reason(api, task):
    failed(task)
    for _ in range(2):
        RunFactory(completion=failed(task).completion, generation=1, status="completed", attempt=1)
    idle = GraderFactory(organization=api.organization, status="inactive")
    failed(TaskFactory(organization=api.organization, graders=[idle]))
    body = retry_many(api, code="timeout")
    assert body["skipped"] == [{"code": "grader_inactive", "count": 1}, {"code": "superseded", "count": 2}]
    assert (body["retried"], body["more"]) == (1, False)


def test_many_runs_are_retried_in_groups_up_to_a_limit(api, task, monkeypatch):
    monkeypatch.setattr(retrying, "AT_ONCE", 2)
    for _ in range(5):
        failed(task)
    runs = WorkflowRun.objects.all()
    first = retrying.retry_all(runs, most=3)
    assert (first.retried, first.more) == (3, True)
    second = retrying.retry_all(runs, most=3)
    assert (second.retried, second.more) == (2, False)


def test_the_runs_of_other_organizations_are_not_retried(api, task):
    stranger = failed(TaskFactory())
    assert retry_many(api, code="timeout")["retried"] == 0
    stranger.refresh_from_db()
    assert stranger.status == "failed"


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({}, ("", "missing_field")),
        ({"code": None}, ("", "missing_field")),
        ({"status": "pending"}, ("/status", "invalid_choice")),
        ({"code": ""}, ("/code", "invalid_length")),
        ({"code": 5}, ("/code", "wrong_type")),
        ({"taskId": "task_1"}, ("/taskId", "malformed_id")),
        ({"errorCode": "timeout"}, ("/errorCode", "unknown_field")),
        ({"code": "timeout", "limit": 5}, ("/limit", "unknown_field")),
        ([], ("", "wrong_type")),
    ],
    ids=["empty", "null", "status", "blank", "type", "id", "misspelt", "limit", "list"],
)
def test_a_request_without_a_filter_retries_nothing(api, task, body, error):
    run = failed(task)
    assert problems(api.post("/workflow-runs/retry", body)) == [error]
    run.refresh_from_db()
    assert run.status == "failed"


@pytest.mark.parametrize("kind", ["task", "grader", "comp"])
def test_an_unknown_id_is_not_found_with_its_pointer(api, kind):
    member = {"task": "taskId", "grader": "graderId", "comp": "completionId"}[kind]
    answer = api.post("/workflow-runs/retry", {member: f"{kind}_{UNKNOWN}"})
    assert problems(answer, 404) == [(f"/{member}", "not_found")]


def test_the_queries_do_not_grow_with_the_runs(api, task, django_assert_max_num_queries):
    for _ in range(40):
        failed(task)
    with django_assert_max_num_queries(24):
        assert retry_many(api, code="timeout")["retried"] == 40
