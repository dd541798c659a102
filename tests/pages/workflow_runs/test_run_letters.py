"""Dead letters: by code, with what to change; retried in bulk through the API's capability."""

import pytest
from django.utils import timezone

from autotune.access.models import AuditEvent
from graders.models import Grader
from scores.models import WorkflowRun
from tests.factories import GraderFactory, RunFactory, TaskFactory, public
from tests.support.markup import compact


@pytest.fixture
def world(visitor):
    client = visitor("training_operator")
    client.grader = GraderFactory(organization=client.organization, created_by=client.user, name="Judge one")
    client.task = TaskFactory(organization=client.organization, graders=[client.grader])
    return client


def failed(world, code="timeout", **fields):
    return RunFactory(
        completion__task=world.task, status="failed", error_code=code, completed_at=timezone.now(), **fields
    )


def test_failures_are_grouped_by_code_with_what_to_change(world):
    failed(world, error_message="No answer within 4 s.")
    failed(world)
    failed(world, "bad_signature")
    text = world.get("/workflow-runs/failed").content.decode()
    assert "3 failed workflow runs with 2 codes" in text
    assert "Answer within the grader’s time limit" in text or "Answer within the grader&#x27;s time limit" in text
    assert "No answer within 4 s." in text or "Judge one" in text
    assert "Sign the exact bytes" in text
    assert compact(text).index("timeout</code></a>") < compact(text).index("bad_signature</code></a>")


def test_a_foreign_graders_message_is_hidden(world):
    foreign = GraderFactory(visibility="listed")
    task = TaskFactory(organization=world.organization, graders=[foreign])
    RunFactory(
        completion__task=task,
        status="failed",
        error_code="timeout",
        error_message="10.0.0.1 is slow",
        completed_at=timezone.now(),
    )
    text = world.get("/workflow-runs/failed").content.decode()
    assert "timeout" in text
    assert "10.0.0.1" not in text


def test_the_confirmation_shows_how_many_runs_are_retried(world):
    failed(world)
    failed(world)
    text = world.get("/workflow-runs/retry?code=timeout").content.decode()
    assert "All of them can be retried" in text
    assert "Retry 2 runs" in text
    Grader.objects.filter(pk=world.grader.pk).update(status="inactive")
    text = world.get("/workflow-runs/retry?code=timeout").content.decode()
    assert "None of them can be retried" in text
    assert "inactive" in text


def test_a_retry_by_code_retries_only_those(world):
    timed_out, other = failed(world), failed(world, "bad_signature")
    response = world.post("/workflow-runs/retry?code=timeout", follow=True)
    assert "1 run is due again." in response.content.decode()
    timed_out.refresh_from_db()
    other.refresh_from_db()
    assert (timed_out.status, other.status) == ("pending", "failed")


def test_a_retry_by_grader_and_task(world):
    failed_run = failed(world)
    assert (
        world.post(
            f"/workflow-runs/retry?graderId={public('grader', world.grader)}&taskId={world.task.public_id}"
        ).status_code
        == 302
    )
    failed_run.refresh_from_db()
    assert failed_run.status == "pending"


def test_a_retry_of_everything_is_refused(world):
    failed(world)
    assert world.post("/workflow-runs/retry").status_code == 400
    assert WorkflowRun.objects.filter(status="failed").count() == 1


def test_a_read_only_role_retries_nothing(visitor):
    for role in ("reviewer", "grader_owner"):
        reader = visitor(role)
        grader = GraderFactory(organization=reader.organization, created_by=reader.user)
        failed_run = RunFactory(
            completion__task=TaskFactory(organization=reader.organization, graders=[grader]),
            status="failed",
            error_code="timeout",
        )
        text = reader.get("/workflow-runs/failed").content.decode()
        assert "timeout" in text
        assert "Retry" not in text
        assert reader.post("/workflow-runs/retry?code=timeout").status_code == 403
        assert reader.post(f"/workflow-runs/{failed_run.public_id}/retry").status_code == 403
        failed_run.refresh_from_db()
        assert failed_run.status == "failed"


def test_another_organizations_failures_stay(world):
    foreign = RunFactory(status="failed", error_code="timeout")
    world.post("/workflow-runs/retry?code=timeout")
    foreign.refresh_from_db()
    assert foreign.status == "failed"


def test_without_dead_letters_the_page_says_so(world):
    assert "No dead letters" in world.get("/workflow-runs/failed").content.decode()


def test_the_queries_are_few(world, django_assert_max_num_queries):
    for code in ("timeout", "bad_signature", "grader_error", "rate_limited"):
        failed(world, code)
    with django_assert_max_num_queries(20):
        assert world.get("/workflow-runs/failed").status_code == 200
    with django_assert_max_num_queries(20):
        assert world.get("/workflow-runs/retry?code=timeout").status_code == 200


def test_the_audit_log_records_how_many_were_retried(world):
    failed(world)
    failed(world)
    world.post("/workflow-runs/retry?code=timeout")
    event = AuditEvent.objects.get(method="POST")
    assert (event.action, event.object_id, event.objects_count) == ("workflow_runs.update", "", 2)
    assert event.outcome == "succeeded"


def test_the_audit_log_names_the_run(world):
    failed_run = failed(world)
    for deed in ("retry", "cancel"):
        world.post(f"/workflow-runs/{failed_run.public_id}/{deed}")
    events = AuditEvent.objects.filter(method="POST")
    assert set(events.values_list("action", "object_id")) == {("workflow_runs.update", failed_run.public_id)}
