"""A task whose current version cannot be decrypted accepts no submissions and affects no other task."""

import pytest

from scores.models import WorkflowRun
from tasks.models import Completion
from tests.factories import CompletionFactory, RunFactory, ScoreFactory, TaskFactory, public
from tests.scores.live.asking import reward_request
from tests.scores.submitting import item, problems, rows
from tests.support.damaging import damage_row

pytestmark = pytest.mark.django_db
PARTIAL = "/completions/batch?partial=true"


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def healthy(api):
    return TaskFactory(organization=api.organization)


@pytest.fixture
def damaged(api):
    task = TaskFactory(organization=api.organization)
    damage_row(task.version, "content")
    return task


def test_c30_a_submission_to_it_is_refused_with_the_reason(api, damaged):
    answer = api.post("/completions", item(damaged))
    assert problems(answer, 409) == [("/taskId", "unreadable")]
    assert "the task's current version cannot be decrypted" in answer.json()["detail"]
    assert rows() == (0, 0)


def test_c30_in_a_partial_batch_only_its_own_items_are_refused(api, healthy, damaged):
    variables = item(damaged, prompt=..., variables={"question": "2 + 2"})
    answer = api.post(PARTIAL, {"completions": [item(damaged), item(healthy), variables]})
    assert answer.status_code == 207
    errors = [(error["index"], error["pointer"], error["code"]) for error in answer.json()["errors"]]
    assert errors == [(0, "/completions/0/taskId", "unreadable"), (2, "/completions/2/taskId", "unreadable")]
    assert Completion.objects.get().task_id == healthy.pk


def test_c30_a_whole_batch_with_such_an_item_stores_nothing_and_names_it(api, healthy, damaged):
    answer = api.post("/completions/batch", {"completions": [item(healthy), item(damaged)]})
    assert problems(answer, 409) == [("/completions/1/taskId", "unreadable")]
    assert rows() == (0, 0)


def test_c30_live_rewards_of_it_are_refused_and_those_of_others_are_not(api, healthy, damaged):
    refused = api.post("/rewards", reward_request(damaged, "good"))
    assert (refused.status_code, refused.json()["code"]) == (409, "unreadable")
    assert rows() == (0, 0)
    assert api.post("/rewards", reward_request(healthy, "good")).status_code == 200


def test_c30_a_completion_of_it_can_be_scored_again_where_no_system_prompt_is_missing(api, damaged):
    completion = CompletionFactory(task=damaged, messages=[{"role": "system", "content": "Be exact."}])
    ScoreFactory(run=RunFactory(completion=completion, status="completed", attempt=1))
    answer = api.post(f"/completions/{public('comp', completion)}/rescore")
    assert answer.status_code == 202, answer.content
    assert WorkflowRun.objects.filter(completion=completion, status="pending").count() == 1
