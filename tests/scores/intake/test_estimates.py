"""`estimatedScoreTimeMs`: the queue ahead, the grader's measured speed, its limits and its pause."""

import time
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from graders.models import Grader, Tally
from scores.intake import estimates
from scores.models import WorkflowRun
from tests.factories import CompletionFactory, GraderFactory, RunFactory, TaskFactory
from tests.scores.submitting import item

pytestmark = pytest.mark.django_db
BATCH = "/completions/batch"


@pytest.fixture(autouse=True)
def unmeasured():
    estimates._loads.clear()
    yield
    estimates._loads.clear()


@pytest.fixture
def api(api_for):
    return api_for(role="organization_admin")


def panel(api, **fields):
    """A task of the caller's with one grader; each call takes 10 completions and a second, two calls at a time."""
    settings = {"max_batch_size": 10, "max_concurrency": 2, "avg_latency_ms": 1000, **fields}
    grader = GraderFactory(**{"organization": api.organization, **settings})
    return TaskFactory(organization=api.organization, graders=[grader]), grader


def queue(task, count, **fields):
    """Add runs that already wait."""
    run = RunFactory(completion=CompletionFactory(task=task), **fields)
    columns = {field.attname: getattr(run, field.attname) for field in WorkflowRun._meta.concrete_fields}
    del columns["id"]
    WorkflowRun.objects.bulk_create(WorkflowRun(**columns) for _ in range(count - 1))


def estimate(api, task, count=1, **members):
    answer = api.post(BATCH, {"completions": [item(task)] * count, **members})
    assert answer.status_code == 202, answer.content
    return answer.json()["estimatedScoreTimeMs"]


def add_tallies(grader, *, per_s, seconds, latency_ms=1000):
    """Add the tallies that a busy drain writes in the last seconds."""
    now = timezone.now()
    for second in range(seconds, 0, -1):
        Tally.objects.create(
            grader_id=grader.pk, scored=per_s, latency_sum_ms=per_s * latency_ms, at=now - timedelta(seconds=second)
        )


def test_an_empty_queue_takes_the_declared_latency(api):
    task, _ = panel(api)
    assert estimate(api, task, 21) == 2000  # three calls, two at a time


def test_the_queue_ahead_adds_to_the_estimate(api):
    task, _ = panel(api)
    queue(task, 180)
    assert estimate(api, task, 20) == 10_000


def test_runs_of_lower_priority_are_not_ahead(api):
    task, _ = panel(api)
    queue(task, 180, priority=0)
    assert estimate(api, task, 20) == 1000


def test_the_measured_latency_replaces_the_declared_one(api):
    task, grader = panel(api)
    add_tallies(grader, per_s=10, seconds=3, latency_ms=250)
    assert estimate(api, task, 20) == 250


def test_the_measured_speed_under_load_counts_for_a_long_queue(api):
    task, grader = panel(api)
    queue(task, 500, created_at=timezone.now() - timedelta(seconds=40))
    add_tallies(grader, per_s=50, seconds=10)
    estimated_ms = estimate(api, task, 100)
    assert 11_500 < estimated_ms < 14_500, estimated_ms  # 600 at 50 a second, and the last call


def test_a_speed_measured_without_a_queue_is_ignored(api):
    """Completions that arrive slowly are scored slowly: that rate does not show how fast a queue shrinks."""
    task, grader = panel(api)
    add_tallies(grader, per_s=1, seconds=30, latency_ms=1000)
    assert estimate(api, task, 200) == 10_000


def test_a_rate_limit_lengthens_the_estimate(api):
    task, _ = panel(api, rate_per_minute=60, max_batch_size=100)
    assert estimate(api, task, 100) == 90_000  # ten at once, then one per second


def test_a_pause_adds_to_the_estimate(api):
    task, grader = panel(api)
    Grader.objects.filter(pk=grader.pk).update(held_until=timezone.now() + timedelta(minutes=2), held_reason="x")
    assert 119_000 < estimate(api, task) < 121_500


def test_the_slowest_grader_of_a_panel_decides(api):
    quick, slow = (GraderFactory(organization=api.organization, avg_latency_ms=ms) for ms in (100, 3000))
    task = TaskFactory(organization=api.organization, graders=[quick, slow])
    assert estimate(api, task) == 3000


def test_another_organizations_grader_reveals_only_a_coarse_time(api):
    task, _grader = panel(api, organization=GraderFactory().organization, visibility="listed")
    assert estimate(api, task, 20) == 1000
    estimates._loads.clear()
    queue(task, 330)
    estimated_ms = estimate(api, task, 20)
    assert estimated_ms == 20_000  # 18.5 s: the next step of 1, 2, 5, 10, …
    assert estimated_ms == estimates.coarse(estimated_ms)


def test_a_submission_between_two_measurements_makes_no_query(api, django_assert_num_queries):
    _task, grader = panel(api)
    submitted = {1: 1}
    estimates.milliseconds(grader, submitted, api.organization.pk)
    with django_assert_num_queries(0):
        again = [estimates.milliseconds(grader, {1: 100}, api.organization.pk) for _ in range(3)]
    assert again == sorted(again)
    assert again[-1] > again[0]


@pytest.mark.django_db
@pytest.mark.postgres
def test_counting_a_queue_leaves_the_planner_as_it_was():
    grader = GraderFactory()
    queue(TaskFactory(graders=[grader]), 3)
    with transaction.atomic():
        assert estimates.milliseconds(grader, {1: 1}, grader.organization_id) > 0
        with connection.cursor() as cursor:
            cursor.execute("show enable_seqscan")
            assert cursor.fetchone() == ("on",)


def test_the_measured_queue_shrinks_at_the_measured_rate(api, monkeypatch):
    task, grader = panel(api)
    queue(task, 100)
    estimates.milliseconds(grader, {1: 100}, api.organization.pk)
    begun = time.monotonic()
    monkeypatch.setattr(estimates.time, "monotonic", lambda: begun + 4)
    assert estimates.milliseconds(grader, {1: 10}, api.organization.pk) == 2000  # 30 are left, in three calls


@pytest.mark.parametrize("milliseconds", [0, 1, 3, 999, 10**9, 7 * 10**12])
def test_coarse_steps_have_no_upper_limit(milliseconds):
    assert estimates.coarse(milliseconds) >= milliseconds
