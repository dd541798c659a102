"""`useCalibration`: rewards use the calibrated value of a score where there is one."""

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from autotune.core import ids
from scores.engine import settling
from scores.engine.materials import TaskFactsCache
from scores.models import Reward, Score
from tasks.models import Task, TaskVersion
from tests.factories import CompletionFactory, GraderFactory, RunFactory, ScoreFactory, TaskFactory, public
from tests.support.results import Bench, claim

pytestmark = pytest.mark.django_db
MAP = ids.new()


def calibrated(score, value, map_id=MAP):
    Score.objects.filter(pk=score.pk).update(calibrated_value=value, calibrated_map_id=map_id)
    score.refresh_from_db()
    return score


def panel(use_calibration, values, **task):
    """A completion of a panel, and the scores of its graders."""
    task = TaskFactory(graders=[GraderFactory() for _ in values], use_calibration=use_calibration, **task)
    completion = CompletionFactory(task=task)
    members = task.version.members.select_related("grader")
    scores = [
        ScoreFactory(
            run=RunFactory(completion=completion, grader=member.grader, panel_size=len(values), status="completed"),
            value=value, reward=False,
        )
        for member, value in zip(members, values, strict=True)
    ]  # fmt: skip
    return completion, scores


def settled(completion):
    settling.settle({completion.pk}, TaskFactsCache())
    return Reward.objects.values_list("value", "uncalibrated_value").get()


# --- rewards ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("aggregation", ["mean", "confidence_weighted", "median", "min", "max"])
def test_a_sole_grader_is_rewarded_by_the_calibrated_value(aggregation):
    completion, (score,) = panel(True, [0.4], aggregation=aggregation)
    calibrated(score, 0.9)
    assert settled(completion) == (0.9, 0.4)


def test_zero_is_a_calibrated_value():
    completion, (score,) = panel(True, [0.4])
    calibrated(score, 0.0)
    assert settled(completion) == (0.0, 0.4)


def test_a_panel_mixes_calibrated_values_with_those_of_graders_without_a_map():
    completion, scores = panel(True, [0.4, 0.8])
    calibrated(scores[0], 0.6)
    assert settled(completion) == (pytest.approx(0.7), pytest.approx(0.6))


def test_all_or_nothing_uses_calibrated_values():
    completion, (score,) = panel(True, [0.99], aggregation="all_or_nothing")
    calibrated(score, 1.0)
    assert settled(completion) == (1.0, 0.0)


def test_without_a_calibrated_value_nothing_changes():
    assert settled(panel(True, [0.4, 0.8])[0]) == (pytest.approx(0.6), None)


def test_a_task_that_does_not_use_calibration_keeps_the_graders_values():
    completion, (score,) = panel(False, [0.4])
    calibrated(score, 0.9)
    assert settled(completion) == (0.4, None)


def test_a_deleted_score_takes_its_calibrated_value_with_it(api_for):
    completion, scores = panel(True, [0.4, 0.8])
    calibrated(scores[0], 1.0)
    assert settled(completion) == (pytest.approx(0.9), pytest.approx(0.6))
    api_for(organization=completion.organization).delete(f"/scores/{public('score', scores[0])}")
    assert Reward.objects.values_list("value", "uncalibrated_value").get() == (0.8, None)


def test_a_newer_score_without_a_map_replaces_the_calibrated_reward():
    bench = Bench(use_calibration=True)
    run = bench.run()
    bench.save([bench.judged(claim(run), 0.4)])
    calibrated(Score.objects.get(), 0.9)
    assert settled(run.completion) == (0.9, 0.4)
    bench.save([bench.judged(claim(RunFactory(completion=run.completion, generation=1)), 0.5)])
    assert Reward.objects.values_list("value", "uncalibrated_value").get() == (0.5, None)


def test_the_task_is_read_only_if_a_score_is_calibrated():
    completion, scores = panel(True, [0.4, 0.8])
    reads = []
    for value in (None, 0.6):
        calibrated(scores[0], value, None if value is None else MAP)
        with CaptureQueriesContext(connection) as queries:
            settling.settle({completion.pk}, TaskFactsCache())
        reads.append(sum("use_calibration" in query["sql"] for query in queries))
    assert reads == [0, 1]


# --- the columns ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "map_id"),
    [(1.1, MAP), (-0.1, MAP), (0.5, None), (None, MAP)],
    ids=["above", "below", "no map", "no value"],
)
def test_a_calibrated_value_is_from_0_to_1_and_has_its_map(value, map_id):
    score = ScoreFactory()
    with pytest.raises(IntegrityError), transaction.atomic():
        Score.objects.filter(pk=score.pk).update(calibrated_value=value, calibrated_map_id=map_id)


# --- the API ----------------------------------------------------------------------------------------------------------


def test_a_score_shows_its_calibrated_value_and_the_map(api_for):
    score = calibrated(ScoreFactory(value=0.4), 0.9)
    api = api_for(organization=score.organization)
    expected = {"value": 0.9, "mapId": ids.encode("smap", MAP)}
    assert api.get(f"/scores/{public('score', score)}").json()["score"]["calibrated"] == expected
    (listed,) = api.get("/scores").json()["scores"]
    assert (listed["value"], listed["rawValue"], listed["calibrated"]) == (0.4, 0.4, expected)
    body = api.get(f"/completions/{public('comp', score.completion)}/score").json()
    assert body["score"]["calibrated"] == expected


def test_the_bounds_and_the_order_of_a_list_are_those_of_the_graders_values(api_for):
    score = calibrated(ScoreFactory(value=0.4), 0.9)
    other = ScoreFactory(run__completion__task=score.task, value=0.5)
    api = api_for(organization=score.organization)
    ordered = [row["id"] for row in api.get("/scores?sort=-value").json()["scores"]]
    assert ordered == [public("score", other), public("score", score)]
    assert [row["id"] for row in api.get("/scores?minScore=0.45").json()["scores"]] == ordered[:1]
    assert api.get("/scores/summary").json()["scoreDistribution"]["mean"] == pytest.approx(0.45)


def test_a_task_says_whether_it_uses_calibration_and_keeps_its_version(api_for):
    grader = GraderFactory()
    api = api_for(role="training_operator", organization=grader.organization)
    body = {"name": "T", "promptTemplate": "{{x}}", "graderId": public("grader", grader)}
    task = api.post("/tasks", body).json()["task"]
    assert task["useCalibration"] is False
    path = f"/tasks/{task['id']}"
    for value, expected in ((True, True), (None, False), (True, True), (False, False)):
        shown = api.patch(path, {"useCalibration": value}).json()["task"]
        assert (shown["useCalibration"], shown["version"]) == (expected, task["version"])
    assert (Task.objects.get().use_calibration, TaskVersion.objects.count()) == (False, 1)
    created = api.post("/tasks", body | {"name": "U", "useCalibration": True})
    assert (created.status_code, created.json()["task"]["useCalibration"]) == (201, True)
