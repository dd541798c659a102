"""Exports of a task that uses calibration: by the reward, except `minScore` and `per=grader`."""

import json

import pytest

from autotune.core import ids
from scores.engine import settling
from scores.engine.materials import TaskFactsCache
from scores.models import Reward, Score
from tests.factories import RunFactory, ScoreFactory, TaskFactory, public
from tests.support.answering import answered

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    """Three answers to one prompt: the graders' values are in the reverse order of the calibrated ones."""
    task = TaskFactory(organization=api.organization, use_calibration=True)
    for response, value, calibrated_value in (("a", 0.2, 0.9), ("b", 0.4, 0.6), ("c", 0.7, 0.1), ("d", 0.3, None)):
        run = RunFactory(completion=answered(task, "2 + 2?", response, value), status="completed")
        map_id = None if calibrated_value is None else ids.new()
        ScoreFactory(run=run, value=value, calibrated_value=calibrated_value, calibrated_map_id=map_id, reward=False)
    settling.settle(Score.objects.values_list("completion_id", flat=True), TaskFactsCache())
    assert Reward.objects.count() == 4
    return task


def lines(api, query):
    response = api.get(f"/scores/export?{query}")
    assert response.status_code == 200, response.content
    return [json.loads(line) for line in b"".join(response.streaming_content).splitlines()]


def scores(api, query):
    return {record["response"]: record["score"] for record in lines(api, query)}


def test_a_record_has_the_reward(api, task):
    assert scores(api, "") == {"a": 0.9, "b": 0.6, "c": 0.1, "d": 0.3}


def test_per_grader_has_the_graders_values(api, task):
    assert scores(api, "per=grader") == {"a": 0.2, "b": 0.4, "c": 0.7, "d": 0.3}


@pytest.mark.parametrize(
    ("query", "responses"),
    [
        ("minReward=0.6", "ab"),
        ("minReward=0.6&per=grader", "ab"),
        ("minScore=0.4", "bc"),
        ("maxScore=0.3", "ad"),
        ("minScore=0.3&maxScore=0.4", "bd"),
        ("minScore=0.4&minReward=0.6", "b"),
        ("minScore=0.4&per=grader", "bc"),
    ],
)
def test_min_reward_bounds_the_reward_and_min_score_the_graders_values(api, task, query, responses):
    assert "".join(scores(api, query)) == responses


def test_kto_labels_by_the_reward(api, task):
    labels = {record["completion"]: record["label"] for record in lines(api, "layout=kto&threshold=0.5")}
    assert labels == {"a": True, "b": True, "c": False, "d": False}


def test_pairs_are_chosen_by_the_reward(api, task):
    (pair,) = lines(api, "layout=preferences")
    assert [pair[name] for name in ("chosen", "rejected", "chosen_score", "rejected_score")] == ["a", "c", 0.9, 0.1]
    body = {"taskId": public("task", task), "minScoreDelta": 0.7, "sampleSize": 10}
    (pair,) = api.post("/preference-pairs", body).json()["pairs"]
    assert (pair["chosen"], pair["rejected"], pair["chosenScore"]) == ("a", "c", 0.9)
