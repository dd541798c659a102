"""A deck may have no graders: its completions are stored, and stay ungraded."""

import time

import pytest

from scores.models import Reward, WorkflowRun
from tasks.models import Completion
from tests.factories import CompletionFactory, GraderFactory, RunFactory, ScoreFactory, TaskFactory, public
from tests.scores.submitting import item, problems, rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def deck(api):
    return TaskFactory(organization=api.organization, kind="deck", graders=[])


def test_a_completion_of_a_deck_without_graders_is_stored_ungraded(api, deck):
    answer = api.post("/completions", item(deck))
    assert answer.status_code == 202, answer.content
    body = answer.json()
    assert (body["status"], body["workflowRunId"], body["workflowRunIds"]) == ("ungraded", None, [])
    assert body["estimatedScoreTimeMs"] == 0
    assert (body["completion"]["status"], body["completion"]["reward"]) == ("ungraded", None)
    assert rows() == (1, 0)
    assert not Reward.objects.exists()


def test_a_batch_may_mix_decks_and_tasks(api, deck):
    task = TaskFactory(organization=api.organization)
    answer = api.post("/completions/batch", {"completions": [item(deck), item(task), item(deck)]})
    assert answer.status_code == 202, answer.content
    assert [len(completion["workflowRunIds"]) for completion in answer.json()["completions"]] == [0, 1, 0]


def test_variables_fill_a_decks_template(api, deck):
    answer = api.post("/completions", item(deck, prompt=..., variables={"question": "2 + 2?"}))
    assert answer.json()["completion"]["prompt"] == "2 + 2?"


def test_an_external_id_returns_the_first_object(api, deck):
    first = api.post("/completions", item(deck, externalId="x")).json()
    again = api.post("/completions", item(deck, externalId="x"))
    assert again.status_code == 200
    assert again.json() == {**first, "existing": True}


def test_a_task_that_lost_its_panel_is_not_a_deck(api, deck):
    task = TaskFactory(organization=api.organization, graders=[])
    assert problems(api.post("/completions", item(task)), 404) == [("/taskId", "not_found")]


def test_a_deck_with_graders_is_graded(api):
    grader = GraderFactory(organization=api.organization)
    deck = TaskFactory(organization=api.organization, kind="deck", graders=[grader])
    assert api.post("/completions", item(deck)).json()["status"] == "scoring"
    assert WorkflowRun.objects.get().grader == grader


def test_the_list_filters_by_ungraded(api, deck):
    task = TaskFactory(organization=api.organization)
    api.post("/completions", item(deck))
    pending = RunFactory(completion=CompletionFactory(task=task)).completion
    scored = ScoreFactory(run__completion__task=task).completion

    def listed(status):
        answer = api.get(f"/completions?status={status}").json()
        return [completion["id"] for completion in answer["completions"]]

    ungraded = Completion.objects.get(task=deck)
    assert listed("ungraded") == [public("comp", ungraded)]
    assert listed("pending") == [public("comp", pending)]
    assert listed("completed") == [public("comp", scored)]
    assert listed("processing") == listed("failed") == []


def test_a_wait_for_its_score_returns_at_once(api, deck):
    completion = api.post("/completions", item(deck)).json()["completion"]
    started = time.monotonic()
    state = api.get(f"/completions/{completion['id']}/score?wait=20").json()
    assert time.monotonic() - started < 10
    assert state == {"score": None, "scores": [], "reward": None, "status": "ungraded", "waitingFor": None}


def test_it_cannot_be_scored_again(api, deck):
    completion = api.post("/completions", item(deck)).json()["completion"]
    answer = api.post(f"/completions/{completion['id']}/rescore")
    assert (answer.status_code, answer.json()["code"]) == (409, "no_graders")


def test_live_rewards_need_graders(api, deck):
    body = {"taskId": public("task", deck), "items": [{"prompt": "p", "response": "r"}], "deadlineMs": 0}
    answer = api.post("/rewards", body)
    assert (answer.status_code, answer.json()["code"]) == (409, "no_graders")
    assert rows() == (0, 0)


def test_the_task_has_no_first_grader(api, deck):
    task = api.get(f"/tasks/{public('task', deck)}").json()["task"]
    assert (task["graderId"], task["graders"]) == (None, [])


def test_figures_exclude_it(api, deck):
    api.post("/completions", item(deck))
    summary = api.get(f"/scores/summary?taskId={public('task', deck)}").json()
    assert (summary["totalRecords"], summary["unscored"]) == (0, 0)
