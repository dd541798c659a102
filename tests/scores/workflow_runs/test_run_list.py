"""GET /workflow-runs and GET /workflow-runs/:id: what is listed, for whom, and the shape of a run."""

from datetime import UTC, datetime, timedelta

import pytest

from autotune.core import clock, ids
from scores.engine.timeline import entry
from scores.models import WorkflowRun
from scores.results import failure_codes
from tests.factories import (
    CompletionFactory,
    GraderFactory,
    OrganizationFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
    UserFactory,
    public,
)
from tests.scores.submitting import problems

pytestmark = pytest.mark.django_db
AT = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)
WIRE = "2026-01-31T12:00:00.000Z"
LATER, LATER_WIRE = AT + timedelta(seconds=5), "2026-01-31T12:00:05.000Z"
UNKNOWN = "01jd0000000000000000000000"
MEMBERS = [
    "id", "completionId", "graderId", "status", "currentStep", "attempt", "wakeAt", "startedAt", "completedAt",
    "result", "error", "steps", "waitingFor", "failedAttempts",
]  # fmt: skip


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


def run_of(task, **fields):
    return RunFactory(completion=CompletionFactory(task=task), **fields)


def listed(api, query=""):
    answer = api.get(f"/workflow-runs{query}")
    assert answer.status_code == 200, answer.content
    return [run["id"] for run in answer.json()["workflowRuns"]]


def read(api, run):
    answer = api.get(f"/workflow-runs/{public('run', run)}")
    assert answer.status_code == 200, answer.content
    return answer.json()["workflowRun"]


def step(name, attempt, *, started=None, ended=None, outcome=None, wake=None):
    return {
        "step": name, "attempt": attempt, "startedAt": started, "endedAt": ended, "outcome": outcome, "wakeAt": wake,
    }  # fmt: skip


# --- one run --------------------------------------------------------------------------------------------------------


def test_a_run_that_waits_to_be_claimed(api, task):
    run = run_of(task, created_at=AT)
    body = read(api, run)
    assert list(body) == MEMBERS
    assert body.pop("waitingFor")["reason"] == "queued"
    assert body.pop("failedAttempts") == []
    assert body == {
        "id": public("run", run), "completionId": public("comp", run.completion),
        "graderId": public("grader", run.grader), "status": "pending", "currentStep": "queue", "attempt": 0,
        "wakeAt": None, "startedAt": None, "completedAt": None, "result": None, "error": None,
        "steps": [step("queue", 0, started=WIRE)],
    }  # fmt: skip


def test_a_run_that_was_called_once_and_scored(api, task):
    run = run_of(task, status="completed", attempt=1, created_at=AT, started_at=AT, completed_at=LATER)
    score = ScoreFactory(run=run, reasoning="Right.")
    body = read(api, run)
    assert (body["status"], body["currentStep"], body["completedAt"]) == ("completed", None, LATER_WIRE)
    assert body["result"] == api.get(f"/scores/{public('score', score)}").json()["score"]
    assert body["steps"] == [
        step("queue", 0, started=WIRE, ended=WIRE, outcome="claimed"),
        step("call", 1, started=WIRE, ended=LATER_WIRE, outcome="scored"),
    ]


def test_a_failed_run_shows_who_is_responsible_and_what_to_change(api, task):
    recorded_step = entry("call", 3, "bad_signature", started=AT, ended=LATER)
    run = run_of(
        task, status="failed", attempt=3, error_code="bad_signature", error_message="It is wrong.", created_at=AT,
        started_at=AT, completed_at=LATER, steps=[recorded_step],
    )  # fmt: skip
    body = read(api, run)
    assert body["error"] == {
        "code": "bad_signature",
        "message": f"It is wrong. {failure_codes.advice('bad_signature')}",
        "fault": "grader",
    }
    assert body["steps"][1:] == [step("call", 3, started=WIRE, ended=LATER_WIRE, outcome="bad_signature")]


def test_a_failure_that_will_be_retried_is_no_error_of_the_run(api, task):
    recorded_step = entry("call", 1, "timeout", started=AT, ended=AT, wake_at=LATER)
    run = run_of(
        task, status="sleeping", attempt=1, failures=1, error_code="timeout", error_message="No answer.",
        wake_at=LATER, created_at=AT, started_at=AT, steps=[recorded_step],
    )  # fmt: skip
    body = read(api, run)
    assert (body["status"], body["currentStep"], body["error"], body["wakeAt"]) == (
        "sleeping", "backoff", None, LATER_WIRE,
    )  # fmt: skip
    assert body["steps"][1:] == [step("call", 1, started=WIRE, ended=WIRE, outcome="timeout", wake=LATER_WIRE)]


@pytest.mark.parametrize(
    ("fields", "current"),
    [
        ({"status": "running", "attempt": 1}, "call"),
        ({"status": "sleeping", "wake_at": LATER}, "not_before"),
        ({"status": "sleeping", "attempt": 1, "wake_at": LATER, "steps": [entry("hold", 1, "circuit_open")]}, "hold"),
        ({"status": "waiting", "attempt": 1, "waits_for": "callback"}, "callback"),
        ({"status": "waiting", "attempt": 1, "waits_for": "review"}, "review"),
    ],
    ids=["running", "not-before", "hold", "callback", "review"],
)
def test_the_current_step_of_an_unfinished_run_is_reported(api, task, fields, current):
    assert read(api, run_of(task, **fields))["currentStep"] == current


def test_an_open_call_is_the_last_step(api, task):
    run = run_of(task, status="running", attempt=2, created_at=AT, started_at=AT)
    assert read(api, run)["steps"][1:] == [step("call", 2)]


@pytest.mark.parametrize("last", ["callback", "decision"])
def test_a_run_that_somebody_else_ended_has_no_other_call_at_its_end(api, task, last):
    recorded_steps = [entry("call", 1, "accepted", started=AT, wake_at=LATER), entry(last, 1, "approved", ended=LATER)]
    run = run_of(task, status="completed", attempt=1, started_at=AT, completed_at=LATER, steps=recorded_steps)
    assert [row["step"] for row in read(api, run)["steps"]] == ["queue", "call", last]


def test_a_score_that_the_caller_may_not_read_is_left_out(api_for):
    from autotune.access.models import Role

    role = Role.objects.create(
        name="only runs", permissions=[{"resource": "workflow_runs", "actions": ["read"], "scope": "organization"}]
    )
    api = api_for(role=role)
    run = run_of(TaskFactory(organization=api.organization), status="completed", attempt=1)
    ScoreFactory(run=run)
    assert read(api, run)["result"] is None


# --- the list -------------------------------------------------------------------------------------------------------


def test_the_newest_runs_are_first_and_a_cursor_continues(api, task):
    runs = [public("run", run_of(task)) for _ in range(5)]
    assert listed(api) == runs[::-1]
    assert listed(api, "?sort=createdAt") == runs
    first = api.get("/workflow-runs?limit=2").json()
    assert first["pagination"]["total"] == 5
    rest = api.get(f"/workflow-runs?limit=2&cursor={first['pagination']['nextCursor']}").json()
    assert [run["id"] for run in rest["workflowRuns"]] == runs[2:0:-1]
    assert listed(api, "?limit=2&offset=4") == runs[:1]


def test_each_filter_selects_its_runs_and_several_are_combined(api):
    graders = [GraderFactory(organization=api.organization) for _ in range(2)]
    tasks = [TaskFactory(organization=api.organization, graders=[grader]) for grader in graders]
    bad = run_of(tasks[0], status="failed", attempt=1, error_code="timeout")
    asleep = run_of(tasks[0], status="sleeping", attempt=1, error_code="timeout", wake_at=LATER)
    other = run_of(tasks[1])
    name = {run.pk: public("run", run) for run in (bad, asleep, other)}
    assert listed(api, f"?taskId={public('task', tasks[0])}") == [name[asleep.pk], name[bad.pk]]
    assert listed(api, f"?graderId={public('grader', graders[1])}") == [name[other.pk]]
    assert listed(api, f"?completionId={public('comp', bad.completion)}") == [name[bad.pk]]
    assert listed(api, "?status=pending") == [name[other.pk]]
    assert listed(api, "?code=timeout") == [name[asleep.pk], name[bad.pk]]
    assert listed(api, "?code=timeout&status=failed") == [name[bad.pk]]
    assert listed(api, f"?code=timeout&graderId={public('grader', graders[1])}") == []


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        (f"?completionId=comp_{UNKNOWN}", "?completionId"),
        (f"?graderId=grader_{UNKNOWN}", "?graderId"),
        (f"?taskId=task_{UNKNOWN}", "?taskId"),
    ],
)
def test_an_unknown_id_is_not_found_with_its_parameter(api, query, pointer):
    assert problems(api.get(f"/workflow-runs{query}"), 404) == [(pointer, "not_found")]


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("?status=done", "?status"), ("?status=", "?status"), ("?code=", "?code"), (f"?code={'x' * 65}", "?code"),
        ("?taskId=comp_1", "?taskId"), (f"?graderId=task_{UNKNOWN}", "?graderId"), ("?sort=status", "?sort"),
        ("?sort=-id", "?sort"), ("?errorCode=timeout", "?errorCode"), ("?organization=1", "?organization"),
        ("?limit=0", "?limit"), ("?limit=1001", "?limit"), ("?cursor=x", "?cursor"), ("?code=a&code=b", "?code"),
        ("?code=%00", "?code"), ("?grader__name=x", "?grader__name"),
    ],
)  # fmt: skip
def test_an_invalid_filter_is_refused_with_its_parameter(api, query, pointer):
    assert [error_pointer for error_pointer, _ in problems(api.get(f"/workflow-runs{query}"))] == [pointer]


def test_a_list_of_50_takes_as_many_queries_as_a_list_of_one(api, task, django_assert_max_num_queries):
    for _ in range(50):
        ScoreFactory(run=run_of(task, status="completed", attempt=1))
    listed(api)
    with django_assert_max_num_queries(7):  # key, count, page, scores; the audit trail's
        api.get("/workflow-runs?limit=1")
    with django_assert_max_num_queries(7):
        assert len(api.get("/workflow-runs").json()["workflowRuns"]) == 50


# --- who sees what --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["training_operator", "organization_admin", "reviewer", "grader_owner", "admin"])
def test_a_stranger_sees_nothing(api_for, task, role):
    run = run_of(task)
    stranger = api_for(role=role)
    assert listed(stranger) == []
    assert problems(stranger.get(f"/workflow-runs/{public('run', run)}"), 404) == []
    for query in (f"?taskId={public('task', task)}", f"?completionId={public('comp', run.completion)}"):
        assert stranger.get(f"/workflow-runs{query}").status_code == 404


def test_without_a_key_runs_are_401(client):
    assert client.get("/api/v1/workflow-runs").status_code == 401


def test_a_grader_owner_sees_the_runs_of_own_graders_for_whomever_they_judge(api_for):
    owner = api_for(role="grader_owner")
    mine = GraderFactory(organization=owner.organization, created_by=owner.user, visibility="listed")
    task = TaskFactory(organization=OrganizationFactory(), graders=[mine])
    run = run_of(task, status="failed", attempt=1, error_code="timeout")
    colleague = GraderFactory(organization=owner.organization, created_by=UserFactory())
    run_of(TaskFactory(organization=owner.organization, graders=[colleague]))
    assert listed(owner) == [public("run", run)]
    assert listed(owner, "?status=failed&code=timeout") == [public("run", run)]
    assert listed(owner, f"?taskId={public('task', task)}") == [public("run", run)]
    assert listed(owner, f"?completionId={public('comp', run.completion)}") == [public("run", run)]
    assert read(owner, run)["id"] == public("run", run)
    assert owner.post(f"/workflow-runs/{public('run', run)}/retry").status_code == 403
    assert owner.post("/workflow-runs/retry", {"code": "timeout"}).status_code == 403


def test_the_operating_organization_s_administrators_see_all(admin_api, task):
    run = run_of(task)
    assert listed(admin_api) == [public("run", run)]


@pytest.mark.parametrize(
    "name", ["run_1", f"run_{UNKNOWN}", f"comp_{UNKNOWN}", f"RUN_{UNKNOWN}", f"run_{UNKNOWN.upper()}"]
)
def test_an_id_that_names_no_run_is_not_found(api, name):
    assert api.get(f"/workflow-runs/{name}").status_code == 404


def test_the_times_are_those_of_the_contract(api, task):
    run = run_of(task)
    stored = WorkflowRun.objects.get(pk=run.pk)
    assert read(api, run)["steps"][0]["startedAt"] == clock.wire(stored.created_at)
    assert ids.decode("run", read(api, run)["id"]) == run.pk
