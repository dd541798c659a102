"""The list of runs: states with counts, filters in the address, queues by grader, and who sees what."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from autotune.core import ids
from graders.models import Grader
from scores.models import WorkflowRun
from scores.workflow_runs import queue_counts
from scores.workflow_runs.runs import WorkflowRunFilter
from tests.factories import (
    GraderFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
    public,
)

HOSTILE = "<script>alert(1)</script>‮" + "x" * 150


@pytest.fixture
def world(visitor):
    client = visitor("training_operator")
    grader = GraderFactory(organization=client.organization, created_by=client.user, name="Judge one")
    task = TaskFactory(organization=client.organization, name="Sums", graders=[grader])
    client.grader, client.task = grader, task
    return client


def run(world, **fields):
    return RunFactory(completion__task=world.task, **fields)


def test_each_state_has_a_tab_with_its_count(world):
    run(world)
    run(world)
    run(world, status="failed", error_code="timeout", completed_at=timezone.now())
    text = world.get("/workflow-runs").content.decode()
    assert 'Pending <span class="count">2</span>' in text
    assert 'Failed <span class="count">1</span>' in text
    assert 'Waiting <span class="count">0</span>' in text


def test_the_query_string_filters(world):
    failed = run(world, status="failed", error_code="timeout", completed_at=timezone.now())
    pending = run(world)
    of_state = world.get("/workflow-runs?status=failed").content.decode()
    assert failed.public_id in of_state
    assert pending.public_id not in of_state
    assert failed.public_id in world.get("/workflow-runs?code=timeout").content.decode()
    assert "No workflow run matches" in world.get("/workflow-runs?code=rate_limited").content.decode()
    assert pending.public_id in world.get(f"/workflow-runs?taskId={world.task.public_id}").content.decode()


def test_an_invalid_filter_is_reported(world):
    for query in (
        "status=asleep",
        f"graderId={public('task', world.task)}",
        f"taskId={ids.encode('task', ids.new())}",
        "sort=name",
    ):
        response = world.get(f"/workflow-runs?{query}")
        assert response.status_code == 200, query
        assert 'role="alert"' in response.content.decode(), query


def test_a_graders_queue_shows_length_age_hold_and_circuit(world):
    run(world, created_at=timezone.now() - timedelta(hours=3))
    run(world, status="sleeping", wake_at=timezone.now() + timedelta(minutes=5))
    Grader.objects.filter(pk=world.grader.pk).update(
        held_until=timezone.now() + timedelta(minutes=5), held_reason="rate_limited", troubles=["circuit"]
    )
    text = world.get("/workflow-runs").content.decode()
    assert "Queues by grader" in text
    assert "rate limit" in text
    assert "3 h ago" in text
    assert '<span class="badge bad">open</span>' in text


def test_the_hold_of_a_foreign_grader_is_hidden(world):
    foreign = GraderFactory(
        visibility="listed",
        held_until=timezone.now() + timedelta(hours=1),
        held_reason="circuit_open",
        troubles=["circuit"],
    )
    RunFactory(completion__task=TaskFactory(organization=world.organization, graders=[foreign]))
    text = world.get("/workflow-runs").content.decode()
    assert foreign.name in text
    assert "not shown" in text
    assert "circuit open" not in text


def test_a_sleeping_run_says_why_and_until_when(world):
    run(world, status="sleeping", attempt=1, error_code="timeout", wake_at=timezone.now() + timedelta(minutes=9))
    text = world.get("/workflow-runs?status=sleeping").content.decode()
    assert "an attempt failed; it tries again (timeout)" in text


def test_a_pending_run_is_due_only_while_its_grader_may_be_called(world):
    run(world)
    assert "Due now" in world.get("/workflow-runs").content.decode()
    for reason in ("circuit_open", "rate_limited", "unhealthy"):
        Grader.objects.filter(pk=world.grader.pk).update(
            held_until=timezone.now() + timedelta(minutes=9, seconds=30), held_reason=reason
        )
        text = world.get("/workflow-runs").content.decode()
        assert "Due now" not in text
        assert re.search(r"until <time [^>]+>in 9 min</time>", text), reason


def test_a_grader_owner_sees_runs_of_their_own_graders_and_no_foreign_name(visitor):
    owner = visitor("grader_owner")
    mine = GraderFactory(organization=owner.organization, created_by=owner.user)
    theirs = TaskFactory(name="A secret task", graders=[mine])
    own = RunFactory(completion__task=theirs)
    other = RunFactory(organization=owner.organization)
    text = owner.get("/workflow-runs").content.decode()
    assert own.public_id in text
    assert other.public_id not in text
    assert "A secret task" not in text


def test_another_organizations_runs_are_not_listed(world):
    foreign = RunFactory()
    assert foreign.public_id not in world.get("/workflow-runs").content.decode()
    assert world.get(f"/workflow-runs/{foreign.public_id}").status_code == 404


def test_an_empty_list_says_what_to_do(world):
    assert "No workflow runs yet" in world.get("/workflow-runs").content.decode()


def test_hostile_names_stay_text(world):
    world.task.name = HOSTILE
    world.task.save()
    run(world)
    assert "<script>alert" not in world.get("/workflow-runs").content.decode()


def test_the_queries_do_not_grow_with_the_rows(world, django_assert_max_num_queries):
    graders = [GraderFactory(organization=world.organization) for _ in range(5)]
    for grader in graders:
        task = TaskFactory(organization=world.organization, graders=[grader])
        ScoreFactory(run__completion__task=task)
        RunFactory(completion__task=task)
        RunFactory(completion__task=task, status="failed", error_code="timeout", completed_at=timezone.now())
    world.get("/workflow-runs")
    with django_assert_max_num_queries(20):
        assert world.get("/workflow-runs").status_code == 200
    with django_assert_max_num_queries(20):
        assert world.get(f"/workflow-runs?graderId={graders[0].public_id}").status_code == 200


def test_counts_stop_at_their_limit(world):
    for _ in range(3):
        run(world)
    count = queue_counts.counted(WorkflowRun.objects.all(), most=2)
    assert (count.number, str(count)) == (2, "2+")
    assert not WorkflowRunFilter()


def test_an_anonymous_visitor_is_sent_to_the_login(client, db):
    assert client.get("/workflow-runs").status_code == 302


def test_the_addresses_of_evaluation_runs_are_free(world):
    workflow_run = run(world)
    for path in ("/runs", "/runs/failed", "/runs/retry", f"/runs/{workflow_run.public_id}", "/evaluations"):
        assert world.get(path).status_code == 404, path


def test_the_first_cells_have_no_label(world):
    """On a phone each cell follows its label; the first cell is the title of its row."""
    run(world)
    text = world.get("/workflow-runs").content.decode()
    first = re.findall(r"<tr>\s*<td([^>]*)>", text)
    assert len(first) == 2
    assert not any("data-label" in attributes for attributes in first)
