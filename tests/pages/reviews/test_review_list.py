"""The queue of reviews: what waits, who holds what, and who sees it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from autotune.core import ids
from tests.factories import CompletionFactory, GraderFactory, ReviewFactory, RunFactory, TaskFactory, UserFactory

HOSTILE = "<script>alert(1)</script>‮" + "x" * 150


@pytest.fixture
def reviewer(visitor):
    client = visitor("reviewer")
    client.task = TaskFactory(organization=client.organization, name="Poems")
    return client


def review(client, **fields):
    return ReviewFactory(run__completion__task=client.task, **fields)


def own(client):
    return ReviewFactory(run__completion=CompletionFactory(task=client.task, created_by=client.user))


def test_open_reviews_are_listed_oldest_first(reviewer):
    first, second, decided = review(reviewer), review(reviewer), review(reviewer, status="approved", decided_value=0.5)
    text = reviewer.get("/reviews").content.decode()
    assert text.index(first.public_id) < text.index(second.public_id)
    assert decided.public_id not in text
    assert decided.public_id in reviewer.get("/reviews?show=decided").content.decode()
    assert "Start reviewing" in text


def test_claimed_reviews_name_the_reviewer_if_the_reader_may_know(visitor, reviewer):
    other = UserFactory(email="other@example.org")
    review(reviewer, claimed_by=other, claimed_until=timezone.now() + timedelta(minutes=9))
    text = reviewer.get("/reviews").content.decode()
    assert "other@example.org" not in text
    assert ids.encode("user", other.pk)[:12] in text
    assert "1 held by others" in text
    admin = visitor("organization_admin", reviewer.organization)
    assert "other@example.org" not in admin.get("/reviews").content.decode()  # no member of the organization
    visitor("reviewer", reviewer.organization, other)
    assert "other@example.org" in admin.get("/reviews").content.decode()


def test_own_reviews_are_those_claimed_now(reviewer):
    mine = review(reviewer, claimed_by=reviewer.user, claimed_until=timezone.now() + timedelta(minutes=9))
    over = review(reviewer, claimed_by=reviewer.user, claimed_until=timezone.now() - timedelta(minutes=1))
    text = reviewer.get("/reviews?show=mine").content.decode()
    assert mine.public_id in text
    assert over.public_id not in text


def test_own_submissions_are_marked_for_another_reviewer(reviewer):
    own(reviewer)
    text = reviewer.get("/reviews").content.decode()
    assert "You submitted it: somebody else decides" in text
    assert "Not yours to decide" in text
    assert "Start reviewing" not in text


def test_the_query_string_filters(reviewer):
    open_review = review(reviewer)
    other = ReviewFactory(run__completion__task=TaskFactory(organization=reviewer.organization))
    text = reviewer.get(f"/reviews?taskId={reviewer.task.public_id}").content.decode()
    assert open_review.public_id in text
    assert other.public_id not in text
    assert 'role="alert"' in reviewer.get(f"/reviews?taskId={ids.encode('task', ids.new())}").content.decode()
    assert reviewer.get("/reviews?status=approved").status_code == 200


def test_an_operator_reads_and_cannot_start_reviewing(visitor):
    operator = visitor("training_operator")
    open_review = ReviewFactory(run__completion__task=TaskFactory(organization=operator.organization))
    text = operator.get("/reviews").content.decode()
    assert open_review.public_id in text
    assert "Start reviewing" not in text
    assert operator.get("/reviews/next").status_code == 403
    page = operator.get(f"/reviews/{open_review.public_id}").content.decode()
    assert "Your decision" not in page


def test_a_grader_owner_sees_none(visitor):
    owner = visitor("grader_owner")
    grader = GraderFactory(organization=owner.organization, created_by=owner.user)
    hidden_review = ReviewFactory(run__completion__task=TaskFactory(graders=[grader]))
    for path in ("/reviews", "/reviews/next", f"/reviews/{hidden_review.public_id}"):
        assert owner.get(path).status_code == 403, path


def test_another_organizations_review_is_not_listed(reviewer):
    foreign = ReviewFactory()
    assert foreign.public_id not in reviewer.get("/reviews?show=all").content.decode()
    assert reviewer.get(f"/reviews/{foreign.public_id}").status_code == 404
    assert reviewer.post(f"/reviews/{foreign.public_id}/decide", {"approved": "true"}).status_code == 404


def test_an_empty_queue_says_where_reviews_come_from(reviewer):
    assert "No open reviews" in reviewer.get("/reviews").content.decode()


def test_hostile_names_stay_text(reviewer):
    reviewer.task.name = HOSTILE
    reviewer.task.save()
    hostile_review = ReviewFactory(
        run=RunFactory(
            completion__task=reviewer.task,
            completion__prompt=HOSTILE,
            completion__response=HOSTILE,
            status="waiting",
            waits_for="review",
            wake_at=timezone.now() + timedelta(days=1),
        ),
        reasoning=HOSTILE,
    )
    for path in ("/reviews", f"/reviews/{hostile_review.public_id}"):
        assert "<script>alert" not in reviewer.get(path).content.decode()


def test_the_queries_are_few(reviewer, django_assert_max_num_queries):
    for _ in range(12):
        ReviewFactory(run__completion__task=TaskFactory(organization=reviewer.organization))
    with django_assert_max_num_queries(20):
        assert reviewer.get("/reviews").status_code == 200
    open_review = review(reviewer)
    with django_assert_max_num_queries(20):
        assert reviewer.get(f"/reviews/{open_review.public_id}").status_code == 200
