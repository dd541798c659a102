"""GET /scores/summary: figures by the database, compared with numpy."""

import numpy as np
import pytest

from scores.states import RunStatus
from tests.factories import CompletionFactory, GraderFactory, RunFactory, ScoreFactory, TaskFactory, public

pytestmark = pytest.mark.django_db
VALUES = [0.0, 0.1, 0.3, 0.3, 0.57, 0.6, 0.7, 0.95, 1.0, 1.0, 0.123456789]


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


def summary(api, query=""):
    response = api.get(f"/scores/summary{query}")
    assert response.status_code == 200, response.content
    return response.json()


def test_the_figures_are_those_of_numpy(api, task):
    for number, value in enumerate(VALUES):
        ScoreFactory(run__completion__task=task, run__completion__model_id=f"m{number % 2}", value=value)
    figures = summary(api)
    distribution = figures["scoreDistribution"]
    percentiles = distribution.pop("percentiles")
    assert distribution == pytest.approx(
        {"mean": np.mean(VALUES), "std": np.std(VALUES), "min": 0.0, "max": 1.0}, abs=1e-12
    )
    assert percentiles == pytest.approx(
        {f"p{percent}": float(np.percentile(VALUES, percent)) for percent in (25, 50, 75, 95)}, abs=1e-12
    )
    assert figures["histogram"] == [1, 2, 0, 2, 0, 1, 1, 1, 0, 3]
    assert (figures["totalRecords"], figures["unscored"]) == (11, 0)
    assert figures["taskIds"] == [public("task", task)]
    assert figures["modelIds"] == ["m0", "m1"]
    assert figures["byModel"] == [
        {
            "modelId": f"m{n}",
            "totalRecords": len(VALUES[n::2]),
            "unscored": 0,
            "mean": pytest.approx(np.mean(VALUES[n::2]), abs=1e-12),
            "std": pytest.approx(np.std(VALUES[n::2]), abs=1e-12),
        }
        for n in (0, 1)
    ]


def test_one_score_is_its_own_percentiles(api, task):
    ScoreFactory(run__completion__task=task, value=0.4)
    assert summary(api)["scoreDistribution"] == {
        "mean": 0.4, "std": 0.0, "min": 0.4, "max": 0.4, "percentiles": {"p25": 0.4, "p50": 0.4, "p75": 0.4, "p95": 0.4}
    }  # fmt: skip


def test_an_empty_selection_has_null_and_not_zero(api):
    assert summary(api) == {
        "totalRecords": 0,
        "unscored": 0,
        "taskIds": [],
        "modelIds": [],
        "scoreDistribution": None,
        "histogram": [0] * 10,
        "byModel": [],
    }


def test_unscored_completions_are_counted_and_excluded(api):
    up, down = GraderFactory(organization=api.organization), GraderFactory(organization=api.organization)
    task = TaskFactory(organization=api.organization, graders=[up, down])
    completion = CompletionFactory(task=task, model_id="m0")
    ScoreFactory(run__completion=completion, run__grader=up, value=0.8)
    RunFactory(completion=completion, grader=down, panel_size=2, status=RunStatus.FAILED, error_code="timeout")
    RunFactory(completion=CompletionFactory(task=task, model_id="m1"), grader=up, panel_size=2)
    figures = summary(api)
    assert (figures["totalRecords"], figures["unscored"]) == (1, 2)
    assert figures["scoreDistribution"]["mean"] == 0.8
    assert [(m["modelId"], m["totalRecords"], m["unscored"], m["mean"]) for m in figures["byModel"]] == [
        ("m0", 1, 1, 0.8),
        ("m1", 0, 1, None),
    ]
    assert figures["modelIds"] == ["m0"]
    for query, unscored in {
        f"?taskId={public('task', task)}": 2,
        f"?graderId={public('grader', down)}": 1,
        f"?graderVersion={public('graderv', up.version)}": 1,
        "?modelId=m1": 1,
        "?endDate=2020-01-01": 0,
    }.items():
        assert summary(api, query)["unscored"] == unscored, query


def test_shadow_scores_and_shadow_runs_do_not_count(api, task):
    ScoreFactory(run__completion__task=task, value=0.5)
    ScoreFactory(run__completion__task=task, run__panel_size=0, value=0.0, purpose="shadow", reward=False)
    RunFactory(completion__task=task, panel_size=0)
    figures = summary(api)
    assert (figures["totalRecords"], figures["unscored"], figures["scoreDistribution"]["min"]) == (1, 0, 0.5)


def test_the_filters_of_the_list_narrow_the_figures(api, task):
    ScoreFactory(run__completion__task=task, value=0.2)
    ScoreFactory(run__completion__task=TaskFactory(organization=api.organization), value=0.8)
    assert summary(api, f"?taskId={public('task', task)}")["scoreDistribution"]["mean"] == 0.2
    assert summary(api, "?minScore=0.5")["scoreDistribution"]["mean"] == 0.8
    assert api.get("/scores/summary?minScore=0.5&maxScore=0.4").status_code == 400
    assert api.get("/scores/summary?limit=5").status_code == 400


def test_a_stranger_counts_nothing_and_an_owner_their_own(api, api_for, task):
    ScoreFactory(run__completion__task=task)
    assert summary(api_for())["totalRecords"] == 0
    owner = api_for(role="grader_owner")
    mine = GraderFactory(organization=owner.organization, created_by=owner.user)
    ScoreFactory(run__completion__task=TaskFactory(graders=[mine]))
    RunFactory(completion__task=TaskFactory(graders=[mine]))
    figures = summary(owner)
    assert (figures["totalRecords"], figures["unscored"]) == (1, 1)
