"""POST /completions/batch: order, size, priority, several tasks; one bad item refuses all."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from scores.models import WorkflowRun
from tasks.models import Completion
from tests.factories import GraderFactory, OrganizationFactory, TaskFactory, public
from tests.scores.submitting import OTHER_TASK, item, problems, rows

pytestmark = pytest.mark.django_db
BATCH = "/completions/batch"


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


def test_the_answer_has_the_shape_of_the_contract(api, task):
    answer = api.post(BATCH, {"completions": [item(task, externalId="x"), item(task)]})
    assert answer.status_code == 202
    stored = {public("comp", row): row for row in Completion.objects.all()}
    runs = {public("run", run): public("comp", run.completion) for run in WorkflowRun.objects.all()}
    body = answer.json()
    assert list(body) == ["completions", "estimatedScoreTimeMs"]
    first, second = body["completions"]
    assert first == {"id": first["id"], "externalId": "x", "workflowRunIds": first["workflowRunIds"]}
    assert second == {"id": second["id"], "externalId": None, "workflowRunIds": second["workflowRunIds"]}
    assert {first["id"], second["id"]} == stored.keys()
    assert [runs[run] for completion in (first, second) for run in completion["workflowRunIds"]] == [
        first["id"],
        second["id"],
    ]
    assert body["estimatedScoreTimeMs"] == 1000


def test_the_order_is_that_of_the_request(api, task):
    names = [f"{n * 7919 % 60}" for n in range(60)]
    batch = [item(task, response=name, externalId=name if int(name) % 2 else ...) for name in names]
    taken = api.post(BATCH, {"completions": batch}).json()["completions"]
    assert [completion["externalId"] for completion in taken] == [name if int(name) % 2 else None for name in names]
    responses = {public("comp", row): row.response for row in Completion.objects.all()}
    assert [responses[completion["id"]] for completion in taken] == names
    assert [completion["id"] for completion in taken] == sorted(responses)


def test_the_items_of_several_tasks_go_to_their_graders(api, task):
    graders = [GraderFactory(organization=api.organization) for _ in range(2)]
    panel = TaskFactory(organization=api.organization, graders=graders)
    taken = api.post(BATCH, {"completions": [item(task), item(panel), item(task)]}).json()["completions"]
    assert [len(completion["workflowRunIds"]) for completion in taken] == [1, 2, 1]
    assert WorkflowRun.objects.filter(task=panel).count() == 2
    assert set(WorkflowRun.objects.filter(task=panel).values_list("grader", flat=True)) == {g.pk for g in graders}


def test_the_priority_of_the_batch_is_that_of_items_which_name_none(api, task):
    batch = [item(task), item(task, priority="low"), item(task, priority=None)]
    taken = api.post(BATCH, {"completions": batch, "priority": "high"}).json()["completions"]
    priorities = {public("run", run): run.get_priority_display() for run in WorkflowRun.objects.all()}
    assert [priorities[completion["workflowRunIds"][0]] for completion in taken] == ["High", "Low", "High"]
    api.post(BATCH, {"completions": [item(task)], "priority": None})
    assert WorkflowRun.objects.latest("id").priority == 1


def test_the_estimate_counts_the_calls_that_a_grader_needs(api):
    grader = GraderFactory(organization=api.organization, max_batch_size=2, max_concurrency=2, avg_latency_ms=100)
    task = TaskFactory(organization=api.organization, graders=[grader])
    assert api.post(BATCH, {"completions": [item(task)] * 9}).json()["estimatedScoreTimeMs"] == 300


def test_ten_thousand_items_are_accepted_at_once(api, task):
    answer = api.post(BATCH, {"completions": [item(task)] * 10_000})
    assert (answer.status_code, len(answer.json()["completions"])) == (202, 10_000)
    assert rows() == (10_000, 10_000)


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({}, "/completions", "wrong_type"),
        ({"completions": None}, "/completions", "wrong_type"),
        ({"completions": {}}, "/completions", "wrong_type"),
        ({"completions": {"0": {}}}, "/completions", "wrong_type"),
        ({"completions": "x"}, "/completions", "wrong_type"),
        ({"completions": []}, "/completions", "invalid_length"),
        ({"completions": [None] * 10_001}, "/completions", "invalid_length"),
        ({"completions": [None]}, "/completions/0", "wrong_type"),
        ({"completions": [[]]}, "/completions/0", "wrong_type"),
        ({"completions": ["x"]}, "/completions/0", "wrong_type"),
        ({"completions": [{}]}, "/completions/0/taskId", "missing_field"),
        ({"completions": [{}], "partial": True}, "/partial", "unknown_field"),
        ({"completions": [{}], "taskId": "x"}, "/taskId", "unknown_field"),
        ({"completions": [{}], "priority": "urgent"}, "/priority", "invalid_choice"),
        ({"completions": [{}], "priority": 2}, "/priority", "wrong_type"),
    ],
    ids=lambda value: str(value)[:40],
)
@pytest.mark.parametrize("query", ["", "?partial=true"])
def test_an_invalid_batch_is_refused(api, body, pointer, code, query):
    answer = api.post(BATCH + query, body)
    if query and pointer.startswith("/completions/"):
        assert [(error["pointer"], error["code"]) for error in answer.json()["errors"]] == [(pointer, code)]
    else:
        assert problems(answer) == [(pointer, code)]
    assert rows() == (0, 0)


def test_one_bad_item_of_500_refuses_all(api, task):
    batch = [item(task) for _ in range(500)]
    batch[123] = item(task, response=1)
    assert problems(api.post(BATCH, {"completions": batch})) == [("/completions/123/response", "wrong_type")]
    assert rows() == (0, 0)


def test_every_invalid_item_is_named(api, task):
    foreign = TaskFactory(organization=OrganizationFactory())
    batch = [
        item(task),
        item(task, response=...),
        item(task, metadata={"n": {"m": "x" * 65_536}}),
        item(task, taskId="task_1"),
        item(foreign),
        item(task, taskId=OTHER_TASK),
        item(task, externalId="twice"),
        item(task, externalId="twice"),
        item(task, prompt=...),
        item(task, modelId=" ", response="x" * (2**20 + 1)),
    ]
    answer = api.post(BATCH, {"completions": batch})
    assert problems(answer) == [
        ("/completions/1/response", "missing_field"),
        ("/completions/2/metadata", "too_long"),
        ("/completions/3/taskId", "malformed_id"),
        ("/completions/4/taskId", "not_found"),
        ("/completions/5/taskId", "not_found"),
        ("/completions/7/externalId", "duplicate_external_id"),
        ("/completions/8", "one_of"),
        ("/completions/9/response", "too_long"),
        ("/completions/9/modelId", "invalid_format"),
    ]
    assert answer.json()["detail"].startswith("/completions/1/response: ")
    assert answer.json()["detail"].endswith("(and 8 more)")
    assert rows() == (0, 0)


def test_at_most_a_hundred_errors_are_listed(api, task):
    answer = api.post(BATCH, {"completions": [item(task, response=1)] * 150})
    assert len(problems(answer)) == 100
    assert answer.json()["detail"].endswith("(and 149 more)")


def test_a_task_of_another_organization_among_a_hundred_refuses_all(api, task):
    foreign = TaskFactory(organization=OrganizationFactory())
    batch = [item(task)] * 50 + [item(foreign)] + [item(task)] * 50
    assert problems(api.post(BATCH, {"completions": batch})) == [("/completions/50/taskId", "not_found")]
    assert rows() == (0, 0)


def test_a_batch_of_only_conflicts_is_a_conflict(api, task):
    archived = TaskFactory(organization=api.organization, archived=True)
    inactive = TaskFactory(
        organization=api.organization, graders=[GraderFactory(organization=api.organization, status="inactive")]
    )
    answer = api.post(BATCH, {"completions": [item(archived), item(archived)]})
    assert problems(answer, 409) == [(f"/completions/{n}/taskId", "task_archived") for n in range(2)]
    assert answer.json()["code"] == "task_archived"
    answer = api.post(BATCH, {"completions": [item(inactive), item(task), item(archived)]})
    assert problems(answer, 409) == [
        ("/completions/0/taskId", "grader_inactive"),
        ("/completions/2/taskId", "task_archived"),
    ]
    assert answer.json()["code"] == "conflict"
    assert rows() == (0, 0)


def test_conflicts_beside_other_faults_are_no_conflict(api, task):
    archived = TaskFactory(organization=api.organization, archived=True)
    answer = api.post(BATCH, {"completions": [item(archived), item(task, response=1)]})
    assert answer.status_code == 400
    assert rows() == (0, 0)


def test_the_queries_do_not_grow_with_the_batch(api, task, keys_at_hand):
    api.post(BATCH, {"completions": [item(task, externalId="makes the keys")]})
    keys_at_hand()

    def queries(count, **members):
        batch = [item(task, **{name: f"{value}-{n}" for name, value in members.items()}) for n in range(count)]
        with CaptureQueriesContext(connection) as seen:
            assert api.post(BATCH, {"completions": batch}).status_code == 202
        return len(seen)

    assert queries(100) == queries(200) <= 13
    assert queries(100, externalId="a") == queries(200, externalId="b") <= 15
