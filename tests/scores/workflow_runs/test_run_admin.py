"""The admin pages of runs: found by code and fault, retried and cancelled, their timeline readable."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse

from scores.engine.timeline import entry
from scores.models import WorkflowRun
from tests.factories import CompletionFactory, RunFactory, TaskFactory, UserFactory

pytestmark = pytest.mark.django_db
LIST = "admin:scores_workflowrun_changelist"
AT = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def task(db):
    return TaskFactory()


@pytest.fixture
def superuser(client, db):
    client.force_login(UserFactory(is_staff=True, is_superuser=True))
    return client


def run_of(task, **fields):
    return RunFactory(completion=CompletionFactory(task=task), **fields)


def shown(client, **filters):
    answer = client.get(reverse(LIST), filters)
    assert answer.status_code == 200
    return [run.pk for run in answer.context["cl"].result_list]


def act(client, action, *runs):
    return client.post(
        reverse(LIST), {"action": action, "_selected_action": [run.pk for run in runs], "confirmed": "yes"}, follow=True
    ).content.decode()


def test_runs_are_found_by_code_and_by_fault(superuser, task):
    slow = run_of(task, status="failed", error_code="timeout")
    ended = run_of(task, status="failed", error_code="cancelled")
    ours = run_of(task, status="failed", error_code="text_unreadable")
    odd = run_of(task, status="failed", error_code="never_heard_of")
    run_of(task, status="sleeping", error_code="timeout")
    assert shown(superuser, error_code="cancelled") == [ended.pk]
    assert shown(superuser, fault="grader") == [slow.pk]
    assert shown(superuser, fault="caller") == [ended.pk]
    assert shown(superuser, fault="platform") == [odd.pk, ours.pk]


def test_selected_runs_are_retried_and_skipped_ones_reported(superuser, task):
    bad, fine = run_of(task, status="failed", error_code="timeout"), run_of(task, status="completed")
    old = run_of(task, status="failed", error_code="timeout")
    RunFactory(completion=old.completion, generation=1)
    page = act(superuser, "retry_runs", bad, fine, old)
    assert "1 retried; 1 refused: The completion was scored again" in page
    assert "1 refused: Only a failed run can be retried." in page
    assert WorkflowRun.objects.get(pk=bad.pk).status == "pending"
    assert WorkflowRun.objects.get(pk=fine.pk).status == "completed"


def test_selected_runs_are_cancelled(superuser, task):
    due, ended = run_of(task), run_of(task, status="completed")
    assert "1 cancelled" in act(superuser, "cancel_runs", due, ended)
    assert WorkflowRun.objects.get(pk=due.pk).error_code == "cancelled"


def test_read_only_staff_have_no_such_action(client, task):
    person = UserFactory(is_staff=True)
    person.user_permissions.add(Permission.objects.get(codename="view_workflowrun"))
    client.force_login(person)
    run = run_of(task, status="failed", error_code="timeout")
    assert shown(client) == [run.pk]
    act(client, "retry_runs", run)
    assert WorkflowRun.objects.get().status == "failed"


def test_the_form_shows_the_timeline_and_what_to_change(superuser, task):
    recorded_step = entry(
        "call", 1, "timeout", started=AT, ended=AT + timedelta(seconds=4), wake_at=AT + timedelta(seconds=5)
    )
    run = run_of(
        task, status="failed", attempt=2, error_code="bad_signature", error_message="<b>Wrong.</b>", created_at=AT,
        started_at=AT, completed_at=AT + timedelta(seconds=9), steps=[recorded_step],
    )  # fmt: skip
    page = superuser.get(reverse("admin:scores_workflowrun_change", args=[run.pk])).content.decode()
    for line in (
        "2026-01-31 12:00:00.000, queue, claimed",
        "2026-01-31 12:00:00.000 – 2026-01-31 12:00:04.000, call (attempt 1), timeout, until 2026-01-31 12:00:05.000",
        "2026-01-31 12:00:09.000, call (attempt 2), bad_signature",
        "Sign the exact bytes of the answer",
        "&lt;b&gt;Wrong.&lt;/b&gt;",
    ):
        assert line in page, line
