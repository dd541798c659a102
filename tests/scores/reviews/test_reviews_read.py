"""GET /reviews and /reviews/:id: what waits for a person, and what they need to decide."""

from datetime import timedelta

import pytest

from autotune.core import clock
from scores.models import Review
from tests.factories import OrganizationFactory, ReviewFactory, TaskFactory, UserFactory, public
from tests.scores.submitting import problems

MEMBERS = [
    "id", "workflowRunId", "completionId", "taskId", "graderId", "graderVersion", "status", "blind", "preliminaryScore",
    "preliminaryRawValue", "preliminaryConfidence", "scale", "claimedBy", "claimedUntil", "decidedBy", "decidedAt",
    "value", "rawValue", "reviewUrl", "expiresAt", "createdAt",
]  # fmt: skip


@pytest.fixture
def review(db):
    return ReviewFactory(
        run__completion__messages=[{"role": "user", "content": "Add."}],
        dimensions=[{"name": "tone", "value": 0.5, "weight": 1.0}],
    )


@pytest.fixture
def api(api_for, review):
    return api_for(role="reviewer", organization=review.organization)


def listed(api, query=""):
    answer = api.get(f"/reviews{query}")
    assert answer.status_code == 200, answer.content
    return [review["id"] for review in answer.json()["reviews"]]


def test_the_list_shows_no_texts(api, review):
    (shown,) = api.get("/reviews").json()["reviews"]
    assert list(shown) == MEMBERS
    assert shown["id"] == review.public_id
    assert (shown["workflowRunId"], shown["completionId"]) == (
        public("run", review.run), public("comp", review.completion),
    )  # fmt: skip
    assert (shown["taskId"], shown["graderId"]) == (public("task", review.task), public("grader", review.grader))
    assert (shown["status"], shown["preliminaryScore"], shown["preliminaryConfidence"]) == ("open", 0.25, 0.5)
    assert (shown["preliminaryRawValue"], shown["scale"]) == (0.25, {"min": 0.0, "max": 1.0})
    assert shown["expiresAt"] == clock.wire(review.expires_at)
    assert [shown[name] for name in MEMBERS[12:18]] == [None] * 6


def test_one_review_has_what_a_decision_needs(api, review):
    shown = api.get(f"/reviews/{review.public_id}").json()["review"]
    assert list(shown)[: len(MEMBERS)] == MEMBERS
    assert {name: shown[name] for name in list(shown)[len(MEMBERS) :]} == {
        "reasoning": "Not sure.",
        "dimensions": [{"name": "tone", "value": 0.5, "weight": 1.0}],
        "explanation": None,
        "taskName": review.task.name,
        "modelId": "model-a",
        "prompt": "What is 2 + 2?",
        "messages": [{"role": "user", "content": "Add."}],
        "response": "4",
    }


def test_the_filters_narrow_the_list(api, review):
    other = ReviewFactory(run__completion__task=TaskFactory(organization=review.organization), status="rejected")
    both = [other.public_id, review.public_id]
    assert listed(api) == both
    assert listed(api, "?sort=createdAt") == both[::-1]
    assert listed(api, "?sort=expiresAt,createdAt") == both[::-1]
    assert listed(api, "?status=open") == [review.public_id]
    assert listed(api, f"?taskId={public('task', other.task)}") == [other.public_id]
    assert listed(api, f"?graderId={public('grader', review.grader)}") == [review.public_id]
    assert listed(api, f"?completionId={public('comp', review.completion)}") == [review.public_id]
    assert listed(api, f"?completionId={public('comp', review.completion)}&status=expired") == []


@pytest.mark.parametrize(
    ("query", "status", "pointer"),
    [
        ("?status=waiting", 400, "?status"),
        ("?taskId=task_x", 400, "?taskId"),
        ("?taskId=task_01jd0000000000000000000000", 404, "?taskId"),
        ("?graderId=grader_01jd0000000000000000000000", 404, "?graderId"),
        ("?completionId=comp_01jd0000000000000000000000", 404, "?completionId"),
        ("?reviewer=me", 400, "?reviewer"),
        ("?sort=value", 400, "?sort"),
    ],
)
def test_a_filter_that_names_nothing_is_refused(api, query, status, pointer):
    assert [error_pointer for error_pointer, _ in problems(api.get(f"/reviews{query}"), status)] == [pointer]


def test_pages_follow_one_another(api, review):
    for _ in range(4):
        ReviewFactory(run__completion__task=review.task)
    first = api.get("/reviews?limit=3").json()
    second = api.get(f"/reviews?limit=3&cursor={first['pagination']['nextCursor']}").json()
    assert (first["pagination"]["total"], len(first["reviews"]), len(second["reviews"])) == (5, 3, 2)
    seen = [row["id"] for row in first["reviews"] + second["reviews"]]
    assert sorted(seen, reverse=True) == seen
    assert len(set(seen)) == 5


def test_the_list_takes_the_same_queries_for_one_and_many(api, review, django_assert_max_num_queries, keys_at_hand):
    for _ in range(20):
        ReviewFactory(run__completion__task=review.task)
    listed(api)
    keys_at_hand()
    with django_assert_max_num_queries(7):
        assert len(listed(api)) == 21


def test_texts_that_were_erased_are_null(api, review):
    type(review.completion).objects.update(prompt=None, response=None, messages=None)
    shown = api.get(f"/reviews/{review.public_id}").json()["review"]
    assert (shown["prompt"], shown["response"], shown["messages"]) == (None, None, None)


@pytest.mark.parametrize(
    ("role", "status"),
    [("training_operator", 200), ("organization_admin", 200), ("reviewer", 200), ("grader_owner", 403)],
)
def test_a_grader_owner_cannot_read_reviews(api_for, review, role, status):
    review.grader.created_by = UserFactory()
    caller = api_for(role=role, organization=review.organization, user=review.grader.created_by)
    review.grader.save(update_fields=["created_by"])
    for path in ("/reviews", f"/reviews/{review.public_id}"):
        assert caller.get(path).status_code == status


def test_a_stranger_sees_nothing(api_for, review):
    for role in ("reviewer", "organization_admin", "admin"):
        stranger = api_for(role=role, organization=OrganizationFactory())
        assert listed(stranger) == []
        assert stranger.get(f"/reviews/{review.public_id}").status_code == 404
        assert stranger.get(f"/reviews?taskId={public('task', review.task)}").status_code == 404


def test_without_a_key_reviews_are_401(api, review):
    api.key = None
    for path in ("/reviews", f"/reviews/{review.public_id}"):
        assert api.get(path).status_code == 401


def test_a_malformed_id_is_not_found(api):
    assert api.get("/reviews/rev_x").status_code == 404
    assert api.get("/reviews/comp_01jd0000000000000000000000").status_code == 404


# --- claims ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def claim(review):
    return lambda api, status=200: _claimed(api, review, status)


def _claimed(api, review, status):
    answer = api.post(f"/reviews/{review.public_id}/claim")
    assert answer.status_code == status, answer.content
    return answer.json()


def test_a_claim_reserves_a_review_for_a_while(api, review, claim):
    shown = claim(api)["review"]
    assert (shown["claimedBy"], shown["prompt"]) == (public("user", api.user), "What is 2 + 2?")
    left = Review.objects.get().claimed_until - clock.database_now()
    assert timedelta(minutes=14) < left <= timedelta(minutes=15)


def test_a_claimed_review_cannot_be_claimed_or_decided_by_others(api_for, api, review, claim):
    claim(api)
    other = api_for(role="reviewer", organization=review.organization)
    refused = claim(other, 409)
    assert (refused["code"], refused["current"]["review"]["claimedBy"]) == ("review_claimed", public("user", api.user))
    answer = other.post(f"/reviews/{review.public_id}/decision", {"approved": True})
    assert (answer.status_code, answer.json()["code"]) == (409, "review_claimed")
    assert api.post(f"/reviews/{review.public_id}/decision", {"approved": True}).status_code == 200


def test_claiming_again_extends_the_claim(api, claim):
    claim(api)
    soon = clock.database_now() + timedelta(seconds=5)
    Review.objects.update(claimed_until=soon)
    claim(api)
    assert Review.objects.get().claimed_until > soon


def test_an_expired_claim_has_no_effect(api_for, api, review, claim):
    claim(api)
    Review.objects.update(claimed_until=clock.database_now() - timedelta(seconds=1))
    other = api_for(role="reviewer", organization=review.organization)
    assert claim(other)["review"]["claimedBy"] == public("user", other.user)


@pytest.mark.parametrize("status", ["approved", "rejected", "expired", "cancelled"])
def test_a_closed_review_cannot_be_claimed(api, claim, status):
    Review.objects.update(status=status)
    assert claim(api, 409)["code"] == "review_closed"


@pytest.mark.parametrize(("role", "status"), [("training_operator", 403), ("grader_owner", 403)])
def test_a_role_that_cannot_decide_cannot_claim(api_for, review, claim, role, status):
    claim(api_for(role=role, organization=review.organization), status)
    claim(api_for(role="organization_admin"), 404)
    assert Review.objects.get().claimed_by is None
