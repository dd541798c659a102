"""POST /reviews/:id/decision: a person's decision on a score that its grader was not sure of."""

from datetime import timedelta

import pytest
from django.utils import timezone

from autotune.webhooks.models import Event
from graders.models import Tally
from scores.models import Review, Reward, Score, WorkflowRun
from tests.factories import (
    CompletionFactory,
    GraderFactory,
    ReviewFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
    public,
)
from tests.scores.reviewing import subscribe
from tests.scores.submitting import problems
from tests.support.results import state


@pytest.fixture
def review(db):
    return ReviewFactory(dimensions=[{"name": "tone", "value": 0.5, "weight": 1.0}])


@pytest.fixture
def api(api_for, review):
    return api_for(role="reviewer", organization=review.organization)


@pytest.fixture
def decide(api, review):
    def call(expected=200, **body):
        answer = api.post(f"/reviews/{review.public_id}/decision", body)
        assert answer.status_code == expected, answer.content
        return answer.json()

    return call


# --- approved -------------------------------------------------------------------------------------------------------


def test_an_approved_score_is_the_preliminary_one_and_says_who_approved_it(api, review, decide):
    shown = decide(approved=True)["review"]
    assert (shown["status"], shown["value"], shown["decidedBy"]) == ("approved", 0.25, public("user", api.user))

    score = Score.objects.get()
    assert (score.run_id, score.grader_version_id, score.purpose) == (review.run_id, review.grader_version_id, "score")
    assert (score.value, score.confidence, score.raw_value, score.reasoning) == (0.25, 0.5, 0.25, "Not sure.")
    assert score.dimensions == [{"name": "tone", "value": 0.5, "weight": 1.0}]
    assert score.reviewed_by == api.user
    review.run.refresh_from_db()
    assert (review.run.status, review.run.waits_for, review.run.wake_at) == ("completed", "", None)
    assert review.run.completed_at is not None
    assert [(step["s"], step["o"]) for step in review.run.steps] == [("decision", "approved")]
    reward = Reward.objects.get()
    assert (reward.completion_id, reward.value, reward.confidence) == (review.completion_id, 0.25, 0.5)
    assert (reward.used, reward.failed) == (1, 0)


def test_the_score_names_the_reviewer_in_the_api(api, review, decide):
    decide(approved=True)
    score = api.get(f"/completions/{public('comp', review.completion)}/score").json()["score"]
    assert score["reviewedBy"] == public("user", api.user)
    assert api.get(f"/scores/{score['id']}").json()["score"] == score
    assert api.get("/scores").json()["scores"] == [score]


def test_an_explanation_replaces_the_graders_reasoning(decide):
    assert decide(approved=True, explanation="Looks right.")["review"]["explanation"] == "Looks right."
    assert Score.objects.get().reasoning == "Looks right."
    assert Review.objects.get().reasoning == "Not sure."


@pytest.mark.parametrize("member", ["value", "adjustedScore"])
def test_a_value_replaces_the_preliminary_one_which_is_kept(decide, member):
    assert decide(approved=True, **{member: 1}, explanation="It is right.")["review"]["value"] == 1.0
    score = Score.objects.get()
    assert (score.value, score.confidence, score.raw_value, score.reasoning) == (1.0, 1.0, 1.0, "It is right.")
    assert score.dimensions == [
        {"name": "ai_preliminary", "value": 0.25, "weight": 0.0},
        {"name": "human_review", "value": 1.0, "weight": 1.0},
    ]
    assert (Reward.objects.get().value, Reward.objects.get().confidence) == (1.0, 1.0)
    assert WorkflowRun.objects.get().steps[-1]["o"] == "adjusted"


def test_another_value_without_explanation_has_no_reasoning(decide):
    decide(approved=True, value=0, adjustedScore=0)
    assert Score.objects.values_list("value", "dimensions").get()[0] == 0
    assert Score.objects.get().reasoning is None


def test_the_decision_does_not_count_the_grader_again(decide):
    decide(approved=True, value=0.9)
    assert Tally.objects.count() == 0  # it was counted with its own answer (test_reviews_open)


def test_a_panel_is_settled_by_the_decision_on_its_last_run(api_for):
    graders = [GraderFactory(), GraderFactory()]
    task = TaskFactory(graders=[(graders[0], 1.0, "scoring"), (graders[1], 0.5, "scoring")])
    completion = CompletionFactory(task=task)
    runs = [RunFactory(completion=completion, grader=grader, panel_size=2) for grader in graders]
    WorkflowRun.objects.filter(pk=runs[0].pk).update(status="completed")
    ScoreFactory(run=runs[0], value=1.0, reward=False)
    WorkflowRun.objects.filter(pk=runs[1].pk).update(status="waiting", waits_for="review")
    review = ReviewFactory(run=runs[1], expires_at=timezone.now() + timedelta(days=1))
    api = api_for(role="reviewer", organization=task.organization)
    assert api.post(f"/reviews/{review.public_id}/decision", {"approved": True, "value": 0.4}).status_code == 200
    reward = Reward.objects.get()
    assert (reward.value, reward.confidence, reward.used) == (pytest.approx(0.8), 0.9, 2)


def test_subscribers_get_events_of_the_score_and_the_failure(review, decide, api):
    subscribe(review.organization, "score.completed", "score.failed")
    other = ReviewFactory(run__completion__task=review.task)
    decide(approved=True)
    api.post(f"/reviews/{other.public_id}/decision", {"approved": False})
    assert list(Event.objects.order_by("id").values_list("kind", "subject_id")) == [
        ("score.completed", review.completion_id),
        ("score.failed", other.completion_id),
    ]


# --- rejected -------------------------------------------------------------------------------------------------------


def test_a_rejected_score_fails_the_run(api, review, decide):
    shown = decide(approved=False, explanation="Off topic.")["review"]
    assert (shown["status"], shown["value"], shown["explanation"]) == ("rejected", None, "Off topic.")
    assert state(review.run)[:2] == ("failed", "review_rejected")
    assert Score.objects.count() == 0
    reward = Reward.objects.get()
    assert (reward.value, reward.error_code, reward.failed) == (None, "review_rejected", 1)
    completion = api.get(f"/completions/{public('comp', review.completion)}").json()["completion"]
    assert (completion["status"], completion["reward"]) == ("failed", None)


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({}, "/approved", "missing_field"),
        ({"approved": "yes"}, "/approved", "wrong_type"),
        ({"approved": 1}, "/approved", "wrong_type"),
        ({"approved": None}, "/approved", "wrong_type"),
        ({"approved": True, "value": 1.01}, "/value", "out_of_range"),
        ({"approved": True, "value": -0.01}, "/value", "out_of_range"),
        ({"approved": True, "value": "0.5"}, "/value", "wrong_type"),
        ({"approved": True, "value": True}, "/value", "wrong_type"),
        ({"approved": True, "adjustedScore": 2}, "/adjustedScore", "out_of_range"),
        ({"approved": True, "value": 0.5, "adjustedScore": 0.6}, "/adjustedScore", "mutually_exclusive"),
        ({"approved": True, "value": 0, "adjustedScore": 1}, "/adjustedScore", "mutually_exclusive"),
        ({"approved": False, "value": 0.5}, "/value", "mutually_exclusive"),
        ({"approved": False, "adjustedScore": 0}, "/adjustedScore", "mutually_exclusive"),
        ({"approved": True, "explanation": 1}, "/explanation", "wrong_type"),
        ({"approved": True, "explanation": "x" * 20_001}, "/explanation", "invalid_length"),
        ({"approved": True, "reason": "x"}, "/reason", "unknown_field"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_invalid_member_is_named_and_nothing_is_decided(api, review, body, pointer, code):
    answer = api.post(f"/reviews/{review.public_id}/decision", body)
    assert problems(answer) == [(pointer, code)]
    assert (state(review.run)[0], Review.objects.get().status) == ("waiting", "open")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_a_value_that_is_not_a_number_is_refused(api, review, number):
    raw = f'{{"approved": true, "value": {number}}}'.encode()
    assert api.post(f"/reviews/{review.public_id}/decision", raw=raw).status_code == 400
    assert Review.objects.get().status == "open"


def test_the_second_decision_gets_the_first_outcome(api_for, review, decide):
    first = decide(approved=True, value=0.9)["review"]
    second = api_for(role="reviewer", organization=review.organization)
    answer = second.post(f"/reviews/{review.public_id}/decision", {"approved": False})
    assert (answer.status_code, answer.json()["code"]) == (409, "review_closed")
    stored = answer.json()["current"]["review"]
    assert stored == {name: first[name] for name in stored}
    assert (stored["status"], stored["value"]) == ("approved", 0.9)
    assert (state(review.run)[0], Score.objects.get().value) == ("completed", 0.9)


@pytest.mark.parametrize("approved", [True, False])
def test_the_same_decision_twice_counts_once(decide, approved):
    decide(approved=approved)
    decide(409, approved=approved)
    assert (Score.objects.count(), Reward.objects.count()) == (int(approved), 1)


@pytest.mark.parametrize("status", ["approved", "rejected", "expired", "cancelled"])
def test_a_closed_review_takes_no_decision(review, decide, status):
    Review.objects.update(status=status)
    assert decide(409, approved=True)["code"] == "review_closed"
    assert Score.objects.count() == 0


def test_an_expired_review_takes_no_decision_even_before_the_sweep(review, decide):
    Review.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert "expired" in decide(409, approved=True)["detail"]
    assert Score.objects.count() == 0


@pytest.mark.parametrize("status", ["failed", "completed", "pending"])
def test_a_run_that_no_longer_waits_takes_no_decision(review, decide, status):
    WorkflowRun.objects.update(status=status, waits_for="")
    assert "cancelled" in decide(409, approved=True)["detail"]
    assert (state(review.run)[0], Score.objects.count()) == (status, 0)


def test_a_run_that_was_cancelled_closes_its_review(api_for, review, decide):
    operator = api_for(role="training_operator", organization=review.organization)
    answer = operator.post(f"/workflow-runs/{public('run', review.run)}/cancel")
    assert answer.status_code == 200, answer.content
    assert Review.objects.get().status == "cancelled"
    assert decide(409, approved=True)["code"] == "review_closed"
    assert Reward.objects.get().error_code == "cancelled"


# --- who may --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "status"),
    [("reviewer", 200), ("organization_admin", 200), ("training_operator", 403), ("grader_owner", 403)],
)
def test_the_role_decides_who_may_decide(api_for, review, role, status):
    caller = api_for(role=role, organization=review.organization)
    answer = caller.post(f"/reviews/{review.public_id}/decision", {"approved": True})
    assert answer.status_code == status, answer.content
    assert Score.objects.count() == (status == 200)


def test_a_stranger_finds_no_review(api_for, review):
    for role in ("reviewer", "organization_admin", "admin"):
        answer = api_for(role=role).post(f"/reviews/{review.public_id}/decision", {"approved": True})
        assert answer.status_code == 404
    assert Review.objects.get().status == "open"


def test_without_a_key_nothing_is_decided(api, review):
    api.key = None
    assert api.post(f"/reviews/{review.public_id}/decision", {"approved": True}).status_code == 401


@pytest.mark.parametrize(("role", "status"), [("reviewer", 403), ("organization_admin", 200)])
def test_nobody_but_an_administrator_reviews_what_they_submitted(api_for, role, status):
    caller = api_for(role=role)
    task = TaskFactory(organization=caller.organization)
    review = ReviewFactory(run__completion__task=task, run__completion__created_by=caller.user)
    for what, body in (("claim", None), ("decision", {"approved": True})):
        answer = caller.post(f"/reviews/{review.public_id}/{what}", body)
        assert answer.status_code == status
        if status == 403:
            assert answer.json()["code"] == "own_completion"


def test_the_operating_organization_decides_everywhere(admin_api, review):
    assert admin_api.post(f"/reviews/{review.public_id}/decision", {"approved": True}).status_code == 200
