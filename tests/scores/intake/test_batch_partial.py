"""POST /completions/batch?partial=true: the valid items are taken, the others are named."""

import pytest

from tasks.models import Completion
from tests.factories import OrganizationFactory, TaskFactory, public
from tests.scores.submitting import item, problems, rows

pytestmark = pytest.mark.django_db
PARTIAL = "/completions/batch?partial=true"


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


def test_one_bad_item_of_500_leaves_499(api, task):
    batch = [item(task, response=f"{n}") for n in range(500)]
    batch[123] = item(task, response=1)
    answer = api.post(PARTIAL, {"completions": batch})
    assert answer.status_code == 207
    body = answer.json()
    assert list(body) == ["completions", "errors", "estimatedScoreTimeMs"]
    assert body["errors"] == [
        {
            "index": 123,
            "pointer": "/completions/123/response",
            "code": "wrong_type",
            "detail": "Expected `str`, got `int`.",
        }
    ]
    assert [completion["index"] for completion in body["completions"]] == [n for n in range(500) if n != 123]
    responses = {public("comp", row): row.response for row in Completion.objects.all()}
    assert all(responses[completion["id"]] == str(completion["index"]) for completion in body["completions"])
    assert rows() == (499, 499)


def test_a_batch_without_a_fault_is_answered_as_without_partial(api, task):
    answer = api.post(PARTIAL, {"completions": [item(task)]})
    assert answer.status_code == 202
    assert set(answer.json()["completions"][0]) == {"id", "externalId", "workflowRunIds"}


def test_a_batch_of_only_invalid_items_stores_nothing(api, task):
    answer = api.post(PARTIAL, {"completions": [item(task, response=1), None]})
    assert (answer.status_code, answer.json()["completions"]) == (207, [])
    assert [error["index"] for error in answer.json()["errors"]] == [0, 1]
    assert answer.json()["estimatedScoreTimeMs"] == 0
    assert rows() == (0, 0)


def test_every_kind_of_fault_is_an_error_of_its_item(api, task):
    foreign = TaskFactory(organization=OrganizationFactory())
    archived = TaskFactory(organization=api.organization, archived=True)
    assert api.post("/completions", item(task, externalId="old")).status_code == 202
    batch = [
        item(task, externalId="old", response="5"),
        item(foreign),
        item(archived),
        item(task, externalId="old"),
        item(task, externalId="twice"),
        item(task, externalId="twice"),
        item(task, prompt=..., variables={}),
        item(task),
    ]
    body = api.post(PARTIAL, {"completions": batch}).json()
    assert [(error["index"], error["pointer"], error["code"]) for error in body["errors"]] == [
        (0, "/completions/0/externalId", "external_id_conflict"),
        (1, "/completions/1/taskId", "not_found"),
        (2, "/completions/2/taskId", "task_archived"),
        (3, "/completions/3/externalId", "duplicate_external_id"),
        (5, "/completions/5/externalId", "duplicate_external_id"),
        (6, "/completions/6/variables/question", "missing_variable"),
    ]
    assert [(completion["index"], completion["externalId"]) for completion in body["completions"]] == [
        (4, "twice"),
        (7, None),
    ]
    assert rows() == (3, 3)


@pytest.mark.parametrize("value", ["false", "0"])
def test_partial_can_be_declined(api, task, value):
    answer = api.post(f"/completions/batch?partial={value}", {"completions": [item(task), None]})
    assert problems(answer) == [("/completions/1", "wrong_type")]


@pytest.mark.parametrize("value", ["yes", "", "2", "null", "true&partial=true"])
def test_partial_is_true_or_false(api, task, value):
    answer = api.post(f"/completions/batch?partial={value}", {"completions": [item(task)]})
    assert [pointer for pointer, _ in problems(answer)] == ["?partial"]
    assert rows() == (0, 0)
