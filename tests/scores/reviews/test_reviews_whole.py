"""Reviews from the submission to the reward, with a grader that is called over HTTP."""

from datetime import timedelta

import pytest
from django.utils import timezone

from scores.engine.sweep import sweep
from scores.models import Review, Score
from tests.factories import GraderFactory, TaskFactory, public
from tests.scores.submitting import item
from tests.support.fakes import FakeGrader, serving


@pytest.fixture
def grader(grader, fake):
    """A grader whose confidence is the number in the response."""
    fake.judge = lambda completion: {"value": 0.25, "confidence": float(completion["response"]), "reasoning": "So."}
    return grader


@pytest.fixture
def task(grader):
    return TaskFactory(organization=grader.organization, graders=[grader], review_below_confidence=0.5)


@pytest.fixture
def operator(api_for, task):
    return api_for(role="training_operator", organization=task.organization)


@pytest.fixture
def reviewer(api_for, task):
    return api_for(role="reviewer", organization=task.organization)


def submit(operator, task, confidence):
    answer = operator.post("/completions", item(task, response=str(confidence)))
    assert answer.status_code == 202, answer.content
    return answer.json()["completion"]["id"]


def the_review(reviewer):
    (review,) = reviewer.get("/reviews?status=open").json()["reviews"]
    return review["id"]


def score_of(api, completion):
    return api.get(f"/completions/{completion}/score").json()


@pytest.fixture
def waiting(operator, reviewer, task, grader, drain):
    """A completion whose score waits for a review, and the id of the review."""
    completion = submit(operator, task, 0.49)
    drain(grader)
    return completion, the_review(reviewer)


def test_a_confident_score_is_final_at_once_and_an_unsure_one_waits(operator, reviewer, task, grader, drain):
    sure, unsure = submit(operator, task, 0.5), submit(operator, task, 0.49)
    drain(grader)
    assert score_of(operator, sure)["status"] == "completed"
    state = score_of(operator, unsure)
    assert (state["status"], state["score"], state["scores"], state["reward"]) == ("processing", None, [], None)
    shown = reviewer.get(f"/reviews/{the_review(reviewer)}").json()["review"]
    assert (shown["completionId"], shown["response"], shown["reasoning"]) == (unsure, "0.49", "So.")


def test_a_waiting_run_is_not_called_again(waiting, fake, grader, drain):
    calls = len(fake.calls)
    sweep()
    drain(grader)
    assert len(fake.calls) == calls


def test_waiting_runs_are_listed(operator, waiting):
    completion, _ = waiting
    runs = operator.get(f"/workflow-runs?completionId={completion}").json()["workflowRuns"]
    assert [(run["status"], run["result"], run["error"]) for run in runs] == [("waiting", None, None)]
    assert runs[0]["wakeAt"] is not None


def test_approved(operator, reviewer, waiting):
    completion, review = waiting
    assert reviewer.post(f"/reviews/{review}/decision", {"approved": True}).status_code == 200
    state = score_of(operator, completion)
    assert (state["status"], state["reward"]["value"], state["reward"]["confidence"]) == ("completed", 0.25, 0.49)
    assert (state["score"]["reasoning"], state["score"]["reviewedBy"]) == ("So.", public("user", reviewer.user))


def test_adjusted(operator, reviewer, waiting):
    completion, review = waiting
    reviewer.post(f"/reviews/{review}/decision", {"approved": True, "adjustedScore": 0.9})
    state = score_of(operator, completion)
    assert (state["status"], state["reward"]["value"], state["reward"]["confidence"]) == ("completed", 0.9, 1.0)
    assert [dimension["name"] for dimension in state["score"]["dimensions"]] == ["ai_preliminary", "human_review"]


def test_rejected(operator, reviewer, waiting):
    completion, review = waiting
    reviewer.post(f"/reviews/{review}/decision", {"approved": False})
    state = score_of(operator, completion)
    assert (state["status"], state["score"], state["reward"]) == ("failed", None, None)


def test_expired(operator, reviewer, waiting):
    completion, review = waiting
    Review.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    sweep()
    assert score_of(operator, completion)["status"] == "failed"
    assert reviewer.post(f"/reviews/{review}/decision", {"approved": True}).status_code == 409


def test_cancelled(operator, reviewer, waiting):
    completion, review = waiting
    run = operator.get(f"/workflow-runs?completionId={completion}").json()["workflowRuns"][0]["id"]
    assert operator.post(f"/workflow-runs/{run}/cancel").status_code == 200
    assert reviewer.get(f"/reviews/{review}").json()["review"]["status"] == "cancelled"
    assert reviewer.post(f"/reviews/{review}/decision", {"approved": True}).status_code == 409


def test_rejected_retried_and_approved(operator, reviewer, waiting, grader, drain):
    completion, review = waiting
    reviewer.post(f"/reviews/{review}/decision", {"approved": False})
    run = operator.get(f"/workflow-runs?completionId={completion}").json()["workflowRuns"][0]["id"]
    assert operator.post(f"/workflow-runs/{run}/retry").status_code == 200
    drain(grader)
    again = the_review(reviewer)
    assert again != review
    assert reviewer.post(f"/reviews/{again}/decision", {"approved": True}).status_code == 200
    assert score_of(operator, completion)["reward"]["value"] == 0.25
    assert [row["status"] for row in reviewer.get("/reviews?sort=createdAt").json()["reviews"]] == [
        "rejected", "approved",
    ]  # fmt: skip


def test_a_panel_waits_for_the_review_of_one_member(operator, reviewer, grader, drain):
    with serving(FakeGrader(lambda completion: {"value": 1.0, "confidence": 0.9})) as other:
        second = GraderFactory(organization=grader.organization, endpoint=other.url)
        shadow = GraderFactory(organization=grader.organization, endpoint=other.url)
        panel = [grader, second, (shadow, 1.0, "shadow")]
        task = TaskFactory(organization=grader.organization, graders=panel, review_below_confidence=0.5)
        completion = submit(operator, task, 0.1)
        drain(second)
        drain(shadow)
    drain(grader)  # after the other has gone: of two fakes only the newest may be called
    state = score_of(operator, completion)
    assert (state["status"], state["reward"], len(state["scores"])) == ("processing", None, 2)
    review = the_review(reviewer)
    assert reviewer.post(f"/reviews/{review}/decision", {"approved": True, "value": 0.5}).status_code == 200
    state = score_of(operator, completion)
    assert (state["status"], state["reward"]["value"], state["reward"]["used"]) == ("completed", 0.75, 2)
    assert Score.objects.count() == 3
