"""`/moving`: red when due work is stalled, whichever processes are up; a long queue that is shrinking is green."""

from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from autotune.access.audit import sealing, trail
from autotune.site.status import moving
from autotune.webhooks.models import Event
from graders import pauses
from graders.models import Grader
from scores import jobs
from scores.engine.sweep import sweep
from scores.models import Erasure, Pulse, Score, WorkflowRun
from scores.retention import erasures
from tasks.models import Task
from tests.factories import (
    CompletionFactory,
    ErasureFactory,
    GraderFactory,
    OrganizationFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
)

pytestmark = pytest.mark.django_db
PATH = "/api/v1/moving"


@pytest.fixture(autouse=True)
def naps(monkeypatch):
    """The waits before each second check; `naps.act` runs during them."""

    class Naps(list):
        act = staticmethod(lambda: None)

    recorder = Naps()

    def nap(seconds):
        recorder.append(seconds)
        recorder.act()

    monkeypatch.setattr(moving.time, "sleep", nap)
    return recorder


@pytest.fixture
def grader():
    return GraderFactory()


@pytest.fixture
def task(grader):
    return TaskFactory(organization=grader.organization, graders=[grader])


@pytest.fixture
def swept():
    """A worker swept a second ago."""
    return pulse(1)


def ago(seconds):
    return timezone.now() - timedelta(seconds=seconds)


def pulse(seconds):
    return Pulse.objects.update_or_create(name="sweep", defaults={"at": ago(seconds)})


def run(task, due_s=0, **fields):
    workflow_run = RunFactory(completion=CompletionFactory(task=task), **fields)
    WorkflowRun.objects.filter(pk=workflow_run.pk).update(created_at=ago(due_s))
    return workflow_run


def scored(task, seconds):
    score = ScoreFactory(run=run(task, status="completed", attempt=1))
    Score.objects.filter(pk=score.pk).update(created_at=ago(seconds))


def event(seconds, **fields):
    Event.objects.create(organization=OrganizationFactory(), kind="score.completed", created_at=ago(seconds), **fields)


def failed(client):
    """The names of the checks that failed; the status and the whole agree with them."""
    answer = client.get(PATH)
    body = answer.json()
    names = [check["name"] for check in body["checks"] if check["status"] == "failed"]
    assert (answer.status_code, body["status"]) == ((503, "failed") if names else (200, "ok"))
    assert all(bool(check["detail"]) == (check["status"] == "failed") for check in body["checks"])
    return names


# --- the probe ------------------------------------------------------------------------------------------------------


def test_a_fresh_installation_moves_before_the_first_sweep(client):
    assert client.get(PATH).json() == {
        "status": "ok",
        "checks": [
            {"name": name, "status": "ok", "detail": ""}
            for name in ("sweep", "due", "leases", "outbox", "audit", "erasures", "retention")
        ],
        "oldestDueAgeS": None,
        "expiredLeases": 0,
        "outboxLagS": None,
        "lastSweepAgeS": None,
        "auditLagS": None,
    }


def test_it_is_open_and_takes_no_parameters(client, swept):
    assert client.get(PATH, headers={"Authorization": "Bearer nonsense"}).status_code == 200
    assert client.get(f"{PATH}?verbose=1").status_code == 400
    assert client.post(PATH).status_code == 405


def test_it_reports_ages_and_counts_without_names(client, task, grader):
    pulse(2)
    run(task, 10)
    run(task, status="running", leased_until=ago(5))
    event(20)
    answer = client.get(PATH)
    body = answer.json()
    assert body["oldestDueAgeS"] == pytest.approx(10, abs=2)
    assert body["lastSweepAgeS"] == pytest.approx(2, abs=2)
    assert body["outboxLagS"] == pytest.approx(20, abs=2)
    assert body["expiredLeases"] == 1
    assert failed(client) == []
    assert grader.name not in answer.content.decode()


def test_without_its_database_nothing_moves(client, monkeypatch):
    def away():
        raise OperationalError("connection refused to hunter2@db")

    monkeypatch.setattr(moving.stalls, "database_now", away)
    assert failed(client) == ["database"]
    assert "hunter2" not in client.get(PATH).content.decode()


def test_it_costs_a_few_queries_whatever_the_number_of_graders_and_runs(client, swept):
    def count():
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert client.get(PATH).status_code == 200
        return len(queries)

    few = count()
    for _ in range(3):
        task = TaskFactory()
        for _ in range(3):
            run(task, 5)
    assert count() <= few + 1


# --- the sweep ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seconds", "names"), [(1, []), (25, []), (31, ["sweep"]), (3600, ["sweep"])])
def test_a_sweep_is_always_due(client, seconds, names):
    pulse(seconds)
    assert failed(client) == names


def test_only_a_sweep_by_a_worker_counts(client):
    pulse(3600)
    sweep()
    assert failed(client) == []


def test_before_the_first_sweep_work_may_wait_only_briefly(client, task):
    waiting = run(task, 20)
    assert failed(client) == []
    WorkflowRun.objects.filter(pk=waiting.pk).update(created_at=ago(31))
    assert failed(client) == ["sweep", "due"]


# --- due runs -------------------------------------------------------------------------------------------------------


def test_a_worker_that_sweeps_without_claiming_is_reported_after_30_seconds(client, task, swept):
    waiting = run(task, 25)
    assert failed(client) == []
    WorkflowRun.objects.filter(pk=waiting.pk).update(created_at=ago(31))
    assert failed(client) == ["due"]


def test_a_worker_that_stopped_after_its_last_score_is_reported(client, task, swept):
    run(task, 300)
    scored(task, 25)
    assert failed(client) == []
    scored(TaskFactory(), 1)  # another grader's
    Score.objects.filter(task=task).update(created_at=ago(31))
    assert failed(client) == ["due"]


def test_a_long_queue_that_is_shrinking_is_not_an_error(client, task, swept):
    for _ in range(5):
        run(task, 3600)
    run(task, 3600, status="running", leased_until=ago(-10))
    assert failed(client) == []
    assert client.get(PATH).json()["oldestDueAgeS"] > 3000


def test_an_expired_lease_does_not_count_as_work(client, task, swept):
    run(task, 3600)
    run(task, 3600, status="running", leased_until=ago(5))
    assert failed(client) == ["due"]


def test_work_of_another_grader_does_not_hide_a_stalled_queue(client, task, swept):
    run(task, 31)
    busy = TaskFactory()
    run(busy, 31)
    run(busy, status="running", leased_until=ago(-10))
    scored(busy, 1)
    assert failed(client) == ["due"]
    assert "1 grader " in client.get(PATH).json()["checks"][1]["detail"]


def test_newer_work_of_a_higher_priority_does_not_hide_a_stalled_queue(client, task, swept):
    run(task, 31, priority=0)
    run(task, 1, priority=2)
    assert failed(client) == ["due"]


@pytest.mark.parametrize(
    "change",
    [
        {"status": "inactive"},
        {"deleted_at": 0},
        {"held_until": -3600},
        {"held_until": 1},
    ],
    ids=["inactive", "deleted", "held", "held until now"],
)
def test_runs_of_a_grader_that_may_not_be_called_are_not_stalled(client, task, grader, swept, change):
    run(task, 3600)
    times = {name: ago(value) if isinstance(value, int) else value for name, value in change.items()}
    Grader.objects.filter(pk=grader.pk).update(**times)
    assert failed(client) == []


def test_runs_of_a_grader_whose_hold_ended_long_ago_are_stalled(client, task, grader, swept):
    run(task, 3600)
    pauses.pause(grader.pk, ago(40), pauses.CIRCUIT_OPEN)
    assert failed(client) == ["due"]
    assert client.get(PATH).json()["oldestDueAgeS"] == pytest.approx(40, abs=5)


@pytest.mark.parametrize("status", ["degraded", "active"])
def test_a_degraded_grader_is_called_like_an_active_one(client, task, grader, swept, status):
    Grader.objects.update(status=status)
    run(task, 31)
    assert failed(client) == ["due"]


@pytest.mark.parametrize("status", ["sleeping", "waiting"])
def test_sleeping_and_waiting_runs_are_not_due(client, task, swept, status):
    run(task, 3600, status=status, wake_at=ago(-60))
    assert failed(client) == []
    assert client.get(PATH).json()["oldestDueAgeS"] is None


def test_a_sleeping_run_is_due_at_its_time(client, task, swept):
    run(task, 3600, status="sleeping", wake_at=ago(12))
    assert client.get(PATH).json()["oldestDueAgeS"] == pytest.approx(12, abs=2)


def test_a_run_that_just_woke_is_checked_twice(client, task, swept, naps):
    """It was created long ago, and nothing records since when it is due: a worker claims it in a moment."""
    woken = run(task, 3600)
    naps.act = lambda: WorkflowRun.objects.filter(pk=woken.pk).update(status="running", leased_until=ago(-15))
    assert failed(client) == []
    assert naps == [moving.READ_AGAIN_AFTER_S]


def test_a_queue_whose_runs_all_fail_is_not_stalled(client, task, swept, naps):
    """They leave neither a lease nor a score, and yet its front moves on."""
    first, _ = run(task, 3600), run(task, 3600)
    naps.act = lambda: WorkflowRun.objects.filter(pk=first.pk).update(status="failed", error_code="grader_error")
    assert failed(client) == []
    naps.act = lambda: None
    assert failed(client) == ["due"]


# --- leases and the outbox ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seconds", "names"), [(-5, []), (25, []), (31, ["leases"])])
def test_an_expired_lease_is_returned_soon(client, task, swept, seconds, names):
    run(task, status="running", leased_until=ago(seconds))
    assert failed(client) == names


@pytest.mark.parametrize(("seconds", "names"), [(1, []), (55, []), (61, ["outbox"])])
def test_an_event_is_fanned_out_within_a_minute(client, swept, seconds, names):
    event(seconds)
    event(3600, fanned_out_at=timezone.now())
    assert failed(client) == names


# --- the audit trail ------------------------------------------------------------------------------------------------


def test_late_sealing_is_reported_except_for_open_calls(client, swept, monkeypatch):
    trail.record(action="keys.create", resource="keys", outcome="open")
    written = trail.record(action="keys.create", resource="keys")
    assert failed(client) == []
    monkeypatch.setattr(moving, "MAX_UNSEALED", timedelta(0))
    assert failed(client) == ["audit"]
    assert client.get(PATH).json()["auditLagS"] >= 0
    sealing.seal()
    written.refresh_from_db()
    assert written.number == 1
    assert failed(client) == []


# --- erasures and retention -------------------------------------------------------------------------------------------


def beaten(name, seconds):
    Pulse.objects.update_or_create(name=name, defaults={"at": ago(seconds)})


def test_an_idle_erasure_is_reported_after_five_minutes(client, swept, task):
    erasure = ErasureFactory(organization=task.organization, created_at=ago(290))
    assert failed(client) == []
    Erasure.objects.filter(pk=erasure.pk).update(created_at=ago(310))
    assert failed(client) == ["erasures"]
    erasures.work()
    assert failed(client) == []
    beaten("erase", 10_000)
    assert failed(client) == [], "none is open"


def test_a_long_erasure_in_progress_is_not_an_error(client, swept, task):
    ErasureFactory(organization=task.organization, created_at=ago(7_200), status="running")
    beaten("erase", 20)
    assert failed(client) == []
    beaten("erase", 310)
    assert failed(client) == ["erasures"]


@pytest.mark.parametrize("whose", ["task", "organization"])
def test_missing_retention_is_reported_after_three_hours_if_any_data_expires(client, swept, task, whose):
    beaten("retain", 3 * 3_600 + 10)
    assert failed(client) == [], "all is kept for good"
    row = task.organization if whose == "organization" else task
    type(row).objects.filter(pk=row.pk).update(text_days=30)
    assert failed(client) == ["retention"]
    jobs.retain()
    assert failed(client) == []


def test_retention_is_expected_from_the_first_sweep_on(client, task):
    Task.objects.filter(pk=task.pk).update(text_days=30)
    sweep()
    assert failed(client) == []
    beaten("retain", 3 * 3_600 + 10)
    sweep()
    assert failed(client) == ["retention"], "a sweep is no retention"


def test_a_failing_erasure_gives_no_pulse(client, swept, task, monkeypatch):
    ErasureFactory(organization=task.organization, created_at=ago(400))
    beaten("erase", 350)
    with monkeypatch.context() as broken:
        broken.setattr(erasures.erasing, "erase", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            jobs.erase()
    assert failed(client) == ["erasures"]
