"""DELETE /scores/:id: a tombstone stays, and the reward follows what is left."""

import json

import pytest

from autotune.webhooks.events import fanout
from autotune.webhooks.models import Event
from scores.engine import settling
from scores.engine.materials import TaskFactsCache
from scores.models import Review, Reward, Score
from tests.factories import (
    CompletionFactory,
    GraderFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
    WebhookFactory,
    public,
)


@pytest.fixture
def score(db):
    return ScoreFactory(reasoning="because", dimensions=[{"name": "d", "value": 0.5, "weight": 1.0}])


@pytest.fixture
def api(api_for, score):
    return api_for(organization=score.organization)


def path(score):
    return f"/scores/{public('score', score)}"


def test_a_deleted_score_and_its_texts_disappear_everywhere(api, score):
    WebhookFactory(organization=score.organization, events=["score.failed"])
    assert api.delete(path(score)).status_code == 204
    answer = api.get(path(score))
    assert (answer.status_code, answer.json()["code"]) == (410, "score_deleted")
    assert api.get("/scores").json()["scores"] == []
    summary = api.get("/scores/summary").json()
    assert (summary["totalRecords"], summary["unscored"]) == (0, 0)
    assert b"".join(api.get("/scores/export").streaming_content) == b""
    assert b"".join(api.get("/scores/export?per=grader").streaming_content) == b""
    completion = public("comp", score.completion)
    state = api.get(f"/completions/{completion}/score").json()
    assert (state["score"], state["scores"], state["reward"], state["status"]) == (None, [], None, "failed")
    assert api.get(f"/completions/{completion}").json()["completion"]["prompt"] is not None
    assert api.get(f"/workflow-runs/{public('run', score.run)}").json()["workflowRun"]["result"] is None
    score.refresh_from_db()
    assert (score.value, score.reasoning, score.dimensions) == (0.5, None, None)
    assert (Reward.objects.get().value, Reward.objects.get().error_code) == (None, "score_deleted")
    fanout.fan_out()
    error = json.loads(Event.objects.get().body)["data"]["error"]
    assert (error["code"], error["fault"]) == ("score_deleted", "caller")


def test_deleting_again_changes_nothing(api, score):
    api.delete(path(score))
    first = Score.objects.get().deleted_at
    assert api.delete(path(score)).status_code == 204
    assert Score.objects.get().deleted_at == first


def test_a_panel_is_rewarded_by_the_remaining_scores(api_for):
    graders = [GraderFactory(), GraderFactory()]
    completion = CompletionFactory(task=TaskFactory(graders=graders))
    runs = [RunFactory(completion=completion, grader=grader, panel_size=2, status="completed") for grader in graders]
    scores = [ScoreFactory(run=run, value=value, reward=False) for run, value in zip(runs, (0.25, 0.75), strict=True)]
    settling.settle({completion.pk}, TaskFactsCache())
    assert Reward.objects.get().value == 0.5
    api_for(organization=completion.organization).delete(path(scores[0]))
    reward = Reward.objects.get()
    assert (reward.value, reward.used, reward.failed) == (0.75, 1, 1)


def test_after_deleting_a_newer_score_the_previous_one_counts_again(api, score):
    newer = RunFactory(completion=score.completion, grader=score.grader, generation=1, status="completed")
    ScoreFactory(run=newer, value=1.0, reward=False)
    settling.settle({score.completion_id}, TaskFactsCache())
    score.refresh_from_db()
    assert score.superseded
    assert Reward.objects.get().value == 1.0
    api.delete(path(newer.score))
    score.refresh_from_db()
    assert not score.superseded
    assert Reward.objects.get().value == 0.5


def test_a_replaced_or_a_shadow_score_changes_no_reward(api, score):
    before = Reward.objects.values().get()
    shadow = ScoreFactory(run=RunFactory(completion=score.completion, panel_size=0, status="completed"), reward=False)
    assert api.delete(path(shadow)).status_code == 204
    assert Reward.objects.values().get() == before
    assert api.get(path(shadow)).status_code == 410


def test_deleting_a_score_during_a_rescore_removes_the_reward_until_the_end(api, score):
    RunFactory(completion=score.completion, grader=score.grader, generation=1, status="running")
    api.delete(path(score))
    assert not Reward.objects.exists()
    assert api.get(f"/completions/{public('comp', score.completion)}/score").json()["status"] == "processing"


def test_the_reviewers_explanation_is_deleted_with_it(api, api_for, score):
    reviewer = api_for(organization=score.organization, role="reviewer")
    run = RunFactory(completion=CompletionFactory(task=score.task), status="waiting", waits_for="review", attempt=1)
    review = Review.objects.create(
        organization=run.organization, run=run, completion=run.completion, task=run.task, grader=run.grader,
        grader_version=run.grader.version, value=0.2, confidence=0.4, reasoning="r", expires_at=run.deadline_at,
    )  # fmt: skip
    decide = f"/reviews/{review.public_id}/decision"
    body = {"approved": True, "explanation": "e"}
    assert reviewer.post(decide, body, Idempotency_Key="k").status_code == 200
    api.delete(path(Score.objects.get(run=run)))
    review.refresh_from_db()
    assert (review.reasoning, review.explanation) == (None, None)
    assert reviewer.post(decide, body, Idempotency_Key="k").json()["code"] == "erased"


def test_roles_that_may_delete_scores(api_for, score, operating):
    for role, status in {"training_operator": 403, "reviewer": 403, "grader_owner": 403}.items():
        assert api_for(organization=score.organization, role=role).delete(path(score)).status_code == status, role
    assert api_for().delete(path(score)).status_code == 404
    assert api_for(organization=operating, role="admin").delete(path(score)).status_code == 204
