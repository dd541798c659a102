"""A blind review shows the grader's verdict to nobody while it is open, and an approval needs the person's own value."""

import pytest

from autotune.webhooks.models import Event
from scores.feedback.models import Feedback
from scores.models import Review, Score
from tests.factories import GraderFactory, ReviewFactory, UserFactory, public
from tests.scores.reviewing import subscribe
from tests.scores.submitting import problems
from tests.support.results import Bench, claim

VERDICT = {"value": 0.123456, "confidence": 0.234567, "reasoning": "A telling reason."}
HIDDEN = ("preliminaryScore", "preliminaryRawValue", "preliminaryConfidence", "reasoning", "dimensions")
TRACES = ("0.123", "0.2345", "0.235", "23.5", "telling reason", "secret_dimension", "0.3456", "0.346")
ROLES = ("reviewer", "training_operator", "organization_admin", "admin")


@pytest.fixture
def review(db):
    dimensions = [{"name": "secret_dimension", "value": 0.345678, "weight": 1.0}]
    return ReviewFactory(blind=True, dimensions=dimensions, **VERDICT)


@pytest.fixture
def api(api_for, review):
    return api_for(role="reviewer", organization=review.organization)


def traces(answer):
    """Return the parts of the verdict in a response."""
    return [trace for trace in TRACES if trace in answer.content.decode()]


@pytest.mark.parametrize("role", ROLES)
def test_no_answer_about_an_open_review_contains_the_verdict(api_for, review, role):
    api = api_for(role=role, organization=review.organization)
    answers = [
        api.get(f"/reviews/{review.public_id}"),
        api.get("/reviews"),
        api.get(f"/workflow-runs/{public('run', review.run)}"),
        api.get(f"/completions/{public('comp', review.completion)}"),
    ]
    assert [answer.status_code for answer in answers] == [200] * 4
    assert [traces(answer) for answer in answers] == [[]] * 4
    detail = answers[0].json()["review"]
    assert (detail["blind"], {name: detail[name] for name in HIDDEN}) == (True, dict.fromkeys(HIDDEN))


@pytest.mark.parametrize("role", ["reviewer", "organization_admin", "admin"])
def test_no_page_about_an_open_review_contains_the_verdict(visitor, review, role):
    client = visitor(role, review.organization)
    for path in (
        "/",
        "/reviews",
        f"/reviews/{review.public_id}",
        f"/workflow-runs/{public('run', review.run)}",
        f"/completions/{public('comp', review.completion)}",
    ):
        answer = client.get(path)
        assert (path, answer.status_code, traces(answer)) == (path, 200, [])
    claimed = client.post("/reviews/next", follow=True)
    assert ("Your decision" in claimed.content.decode(), traces(claimed)) == (True, [])


def test_the_administration_hides_the_verdict_from_superusers(client, review):
    client.force_login(UserFactory(is_staff=True, is_superuser=True))
    for path in ("/admin/scores/review/", f"/admin/scores/review/{review.pk}/change/"):
        answer = client.get(path)
        assert (answer.status_code, traces(answer)) == (200, [])
        assert "hidden until a decision" in answer.content.decode()


def test_an_answer_that_refuses_a_claim_hides_the_verdict(api, api_for, review):
    api.post(f"/reviews/{review.public_id}/claim")
    other = api_for(role="reviewer", organization=review.organization)
    refused = other.post(f"/reviews/{review.public_id}/claim")
    assert (refused.status_code, refused.json()["current"]["review"]["preliminaryScore"]) == (409, None)
    assert traces(refused) == []


def test_an_approval_needs_a_value_and_changes_nothing_without_one(api, review):
    refused = api.post(f"/reviews/{review.public_id}/decision", {"approved": True})
    assert (refused.status_code, problems(refused), traces(refused)) == (400, [("/value", "required")], [])
    review.refresh_from_db()
    assert (review.status, Score.objects.count(), Feedback.objects.count()) == ("open", 0, 0)


@pytest.mark.parametrize("member", ["value", "rawValue"])
def test_after_the_decision_the_verdict_is_shown_and_the_feedback_is_blind(api, review, member):
    decided = api.post(f"/reviews/{review.public_id}/decision", {"approved": True, member: 0.5}).json()["review"]
    assert (decided["value"], decided["preliminaryScore"], decided["reasoning"]) == (0.5, 0.123456, "A telling reason.")
    feedback = Feedback.objects.get()
    assert (feedback.blind, feedback.anchored, feedback.value) == (True, False, 0.5)


def test_a_rejection_needs_no_value(api, review):
    decided = api.post(f"/reviews/{review.public_id}/decision", {"approved": False}).json()["review"]
    assert (decided["status"], decided["preliminaryScore"]) == ("rejected", 0.123456)
    assert Feedback.objects.get().blind


def test_a_review_is_blind_as_its_task_was_when_it_opened_and_its_event_has_no_score(db):
    bench = Bench(review_below_confidence=0.6, review_blind=True)
    subscribe(bench.task.organization, "review.requested")
    bench.save([bench.judged(claim(bench.run()), 0.25, 0.1)])
    bench.task.review_blind = False
    bench.task.save()
    assert Review.objects.get().blind
    assert Event.objects.get(kind="review.requested").data["preliminaryScore"] is None


def test_the_page_refuses_an_approval_without_a_value_and_keeps_the_explanation(visitor, review):
    client = visitor("reviewer", review.organization)
    form = {"approved": "true", "explanation": "What I wrote."}
    refused = client.post(f"/reviews/{review.public_id}/decide", form)
    text = refused.content.decode()
    assert (refused.status_code, "This review is blind" in text, "What I wrote." in text) == (400, True, True)
    assert traces(refused) == []


# --- the task's setting ---------------------------------------------------------------------------------------------


def test_blind_reviews_need_a_limit(api_for):
    api = api_for(role="organization_admin")
    grader = GraderFactory(organization=api.organization)
    task = api.post("/tasks", {"name": "t", "promptTemplate": "p", "graderId": public("grader", grader)}).json()["task"]
    address = f"/tasks/{task['id']}"
    assert problems(api.patch(address, {"review": {"blind": True}})) == [("/review/belowConfidence", "required")]
    both = api.patch(address, {"review": {"belowConfidence": 0.5, "blind": True}}).json()["task"]
    assert both["review"] == {"belowConfidence": 0.5, "blind": True}
    kept = api.patch(address, {"review": {"belowConfidence": 0.4}}).json()["task"]
    assert kept["review"] == {"belowConfidence": 0.4, "blind": True}
    assert api.patch(address, {"review": None}).json()["task"]["review"] is None
    again = api.patch(address, {"review": {"belowConfidence": 0.4}}).json()["task"]
    assert again["review"] == {"belowConfidence": 0.4, "blind": False}
