"""A grader whose shared secret is damaged: its runs report it, and all other work continues."""

import json
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from autotune.core.crypto import damage
from autotune.core.errors import Unavailable
from graders import credentials, targets
from graders.health import reports
from graders.models import Grader, GraderSecret
from graders.states import Trouble
from scores.callbacks import registry
from scores.engine import drains, sweep
from scores.models import Score, WorkflowRun
from tests.factories import CallbackFactory, CompletionFactory, GraderFactory, RunFactory, TaskFactory
from tests.support.damaging import damage_row, restart

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _kept_connection(monkeypatch):
    monkeypatch.setattr(connection, "close", lambda: None)


@pytest.fixture
def damaged(grader):
    damage_row(GraderSecret.objects.get(grader=grader), "secret")
    restart()
    return grader


def drain_all(*graders):
    for grader in graders:
        drains.drain(grader.pk)


def test_c30_the_run_sleeps_with_a_code_and_a_message(task, damaged):
    run = RunFactory(completion=CompletionFactory(task=task))
    drain_all(damaged)
    run.refresh_from_db()
    assert (run.status, run.error_code) == ("sleeping", "secret_unreadable")
    assert run.wake_at > timezone.now() + timedelta(seconds=30)
    assert run.error_message == targets.SECRET_UNREADABLE
    assert run.steps[-1]["o"] == "secret_unreadable"


def test_c30_the_run_fails_after_its_last_attempt(task, damaged, api_for):
    task.max_attempts = 1
    task.save()
    run = RunFactory(completion=CompletionFactory(task=task))
    drain_all(damaged)
    api = api_for(organization=task.organization)
    error = api.get(f"/workflow-runs/{run.public_id}").json()["workflowRun"]["error"]
    assert (error["code"], error["fault"]) == ("secret_unreadable", "platform")
    assert "Rotate the grader's shared secret" in error["message"]


def test_c30_another_grader_and_the_sweep_continue(task, damaged, fake):
    good = GraderFactory(organization=task.organization, endpoint=fake.url, max_batch_size=10)
    for graders in ([damaged], [good]):
        RunFactory(completion=CompletionFactory(task=TaskFactory(organization=task.organization, graders=graders)))
    due_ids = sweep.sweep()
    assert set(due_ids) == {damaged.pk, good.pk}
    for grader_id in due_ids:
        drains.drain(grader_id)
    assert Score.objects.get().grader_id == good.pk
    assert sweep.sweep(passes=1) == []


def test_c30_the_damage_is_logged_once_and_counted(task, damaged, caplog):
    for _ in range(3):
        RunFactory(completion=CompletionFactory(task=task))
        drain_all(damaged)
    lines = [record for record in caplog.records if record.levelname == "ERROR"]
    assert len(lines) == 1
    assert "graders_gradersecret.secret" in lines[0].getMessage()
    assert damage.counts() == {("graders_gradersecret", "secret"): 1}


def test_c30_the_moving_report_is_still_served(task, damaged, admin_api):
    RunFactory(completion=CompletionFactory(task=task))
    sweep.sweep()
    drain_all(damaged)
    assert admin_api.get("/moving").status_code == 200


def test_c30_the_graders_page_and_api_report_it_until_the_secret_is_rotated(damaged, api_for, visitor, task):
    drain_all(damaged)
    api, client = api_for(organization=damaged.organization), visitor(organization=damaged.organization)
    path = f"/graders/{damaged.public_id}"
    shown = api.get(path).json()["grader"]
    assert shown["authentication"]["unreadable"] == ["secret"]
    assert shown["status"] == "degraded"
    assert api.get(f"{path}/health").json()["troubles"] == [Trouble.SECRET]
    assert "it cannot decrypt its shared secret" in client.get(f"/graders/{damaged.public_id}").content.decode()
    assert api.post(f"{path}/verify").json()["code"] == "secret_unreadable"
    assert api.post(f"{path}/rotate-secret", {}).status_code == 200
    after = api.get(path).json()["grader"]
    assert ("unreadable" in after["authentication"], after["status"]) == (False, "active")


def test_c30_after_the_rotation_the_sleeping_run_is_scored(task, damaged, fake, drain):
    run = RunFactory(completion=CompletionFactory(task=task))
    drain_all(damaged)
    fake.secret = credentials.rotate(damaged, grace_hours=0)
    WorkflowRun.objects.update(wake_at=timezone.now() - timedelta(seconds=1))
    sweep.sweep()
    drain(Grader.objects.get(pk=damaged.pk))
    assert WorkflowRun.objects.get(pk=run.pk).status in ("completed", "sleeping")
    assert WorkflowRun.objects.get(pk=run.pk).error_code != "secret_unreadable"


def test_a_damaged_previous_secret_changes_nothing(task, grader, drain):
    current = GraderSecret.objects.get(grader=grader)
    before = GraderSecret.objects.create(
        grader=grader, organization=grader.organization, secret="an old one", current=False, confirmed=True,
        valid_until=timezone.now() + timedelta(hours=1),
    )  # fmt: skip
    damage_row(before, "secret")
    RunFactory(completion=CompletionFactory(task=task))
    assert [secret.key_id for secret in targets.load(grader).signing] == [current.key_id]
    drain(grader)
    assert Score.objects.count() == 1


def test_a_health_check_skips_the_grader_and_records_its_trouble(damaged, fake):
    good = GraderFactory(organization=damaged.organization, endpoint=fake.url)
    assert reports.check([damaged, good]) == 1
    assert Grader.objects.get(pk=damaged.pk).troubles == [Trouble.SECRET]
    assert Grader.objects.get(pk=good.pk).troubles == []
    assert damage.counts() == {("graders_gradersecret", "secret"): 1}


def test_a_callback_is_answered_with_unavailable_so_that_the_grader_retries(task, damaged):
    run = RunFactory(completion=CompletionFactory(task=task), status="waiting", waits_for="call", attempt=1)
    CallbackFactory(run=run, token="t")
    with pytest.raises(Unavailable):
        registry.receive("t", [], json.dumps({}).encode())
