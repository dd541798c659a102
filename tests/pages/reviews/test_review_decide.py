"""Claiming and deciding by plain forms, and what a refused decision keeps."""

from datetime import timedelta

import pytest
from django.utils import timezone

from autotune.access.models import AuditEvent
from scores.models import Review, Score
from scores.reviews import access, queue
from tests.factories import CompletionFactory, ReviewFactory, TaskFactory, UserFactory

JSON = {"HTTP_ACCEPT": "application/json"}


@pytest.fixture
def reviewer(visitor):
    client = visitor("reviewer")
    client.task = TaskFactory(organization=client.organization, name="Poems")
    return client


def review(client, **fields):
    return ReviewFactory(run__completion__task=client.task, **fields)


def test_the_oldest_is_claimed_decided_and_the_next_one_follows(reviewer):
    first, second = review(reviewer), review(reviewer)
    page = reviewer.post("/reviews/next", follow=True).content.decode()
    assert f'data-item="{first.public_id}"' in page
    first.refresh_from_db()
    assert first.claimed_by == reviewer.user
    sent = {"approved": "true", "value": "0.8", "explanation": "Better.", "back": "next"}
    page = reviewer.post(f"/reviews/{first.public_id}/decide", sent, follow=True).content.decode()
    assert f'data-item="{second.public_id}"' in page
    first.refresh_from_db()
    assert (first.status, first.decided_value, first.explanation) == ("approved", 0.8, "Better.")
    page = reviewer.post(
        f"/reviews/{second.public_id}/decide", {"approved": "true", "back": "next"}, follow=True
    ).content.decode()
    assert "No reviews left for you" in page
    second.refresh_from_db()
    assert (second.status, second.decided_value) == ("approved", 0.25)


def test_opening_the_page_claims_nothing(reviewer):
    review(reviewer)
    text = reviewer.get("/reviews/next").content.decode()
    assert "Claim the next review" in text
    assert not Review.objects.exclude(claimed_by=None).exists()


def test_an_approval_without_a_value_keeps_the_graders_confidence(reviewer):
    open_review = review(reviewer)
    reviewer.post(f"/reviews/{open_review.public_id}/decide", {"approved": "true"})
    assert (Score.objects.get().value, Score.objects.get().confidence) == (0.25, 0.5)


def test_a_rejection_ignores_the_value(reviewer):
    open_review = review(reviewer)
    reviewer.post(
        f"/reviews/{open_review.public_id}/decide", {"approved": "false", "value": "0.7", "explanation": "No."}
    )
    open_review.refresh_from_db()
    assert (open_review.status, open_review.explanation, Score.objects.count()) == ("rejected", "No.", 0)


def test_a_skipped_review_is_free_and_comes_last(reviewer):
    first, second = review(reviewer), review(reviewer)
    reviewer.post("/reviews/next")
    page = reviewer.post(f"/reviews/{first.public_id}/release", {"back": "next"}, follow=True).content.decode()
    assert f'data-item="{second.public_id}"' in page
    first.refresh_from_db()
    assert first.claimed_by is None
    page = reviewer.post(f"/reviews/{second.public_id}/release", {"back": "next"}, follow=True).content.decode()
    assert f'data-item="{first.public_id}"' in page


def test_a_value_out_of_range_saves_nothing_and_keeps_what_was_typed(reviewer):
    open_review = review(reviewer)
    response = reviewer.post(
        f"/reviews/{open_review.public_id}/decide", {"approved": "true", "value": "7", "explanation": "Kept text"}
    )
    assert response.status_code == 400
    assert "Kept text" in response.content.decode()
    open_review.refresh_from_db()
    assert open_review.status == "open"


def test_a_review_claimed_by_another_is_not_decided_and_the_text_stays(reviewer):
    claimed_review = review(reviewer, claimed_by=UserFactory(), claimed_until=timezone.now() + timedelta(minutes=5))
    response = reviewer.post(
        f"/reviews/{claimed_review.public_id}/decide", {"approved": "true", "explanation": "Kept text"}
    )
    assert response.status_code == 409
    assert "Kept text" in response.content.decode()
    assert "Another reviewer has claimed this review" in response.content.decode()


def test_a_second_decision_is_refused_and_the_text_stays(reviewer):
    open_review = review(reviewer)
    reviewer.post(f"/reviews/{open_review.public_id}/decide", {"approved": "true"})
    response = reviewer.post(
        f"/reviews/{open_review.public_id}/decide", {"approved": "false", "explanation": "Kept text"}
    )
    assert response.status_code == 409
    assert "Kept text" in response.content.decode()
    again = reviewer.post(f"/reviews/{open_review.public_id}/decide", {"approved": "true"}, **JSON)
    assert (again.status_code, again.json()["code"], again.json()["mine"]) == (409, "review_closed", True)
    assert Score.objects.count() == 1


def test_reviewers_skip_and_cannot_decide_what_they_submitted(reviewer):
    mine = ReviewFactory(run__completion=CompletionFactory(task=reviewer.task, created_by=reviewer.user))
    other = review(reviewer)
    assert f'data-item="{other.public_id}"' in reviewer.post("/reviews/next", follow=True).content.decode()
    text = reviewer.get(f"/reviews/{mine.public_id}").content.decode()
    assert "You submitted this completion" in text
    assert "Your decision" not in text
    assert reviewer.post(f"/reviews/{mine.public_id}/decide", {"approved": "true"}).status_code == 403
    mine.refresh_from_db()
    assert mine.status == "open"


def test_an_administrator_decides_on_their_own(visitor):
    admin = visitor("organization_admin")
    task = TaskFactory(organization=admin.organization)
    mine = ReviewFactory(run__completion=CompletionFactory(task=task, created_by=admin.user))
    assert f'data-item="{mine.public_id}"' in admin.post("/reviews/next", follow=True).content.decode()


def test_two_reviewers_never_get_the_same_review(visitor, reviewer):
    for _ in range(4):
        review(reviewer)
    other = visitor("reviewer", reviewer.organization)
    taken = [
        client.post("/reviews/next", {"count": "1"}, **JSON).json()["item"]
        for client in (reviewer, other, reviewer, other)
    ]
    ids = [text.split('data-item="')[1].split('"')[0] for text in taken]
    assert len(set(ids)) == 4
    assert reviewer.post("/reviews/next", **JSON).json()["item"] is None


def test_a_lost_claim_is_reported_to_the_script(reviewer):
    claimed_review = review(reviewer, claimed_by=UserFactory(), claimed_until=timezone.now() + timedelta(minutes=5))
    reply = reviewer.post(f"/reviews/{claimed_review.public_id}/claim", **JSON)
    assert (reply.status_code, reply.json()["code"]) == (409, "review_claimed")


def test_releasing_frees_only_own_claims(reviewer):
    other = UserFactory()
    claimed_review = review(reviewer, claimed_by=other, claimed_until=timezone.now() + timedelta(minutes=5))
    assert reviewer.post(f"/reviews/{claimed_review.public_id}/release", **JSON).status_code == 200
    claimed_review.refresh_from_db()
    assert claimed_review.claimed_by == other


def test_the_queue_of_one_task_stays_within_it(reviewer):
    review(reviewer)
    other_review = ReviewFactory(run__completion__task=TaskFactory(organization=reviewer.organization))
    page = reviewer.post("/reviews/next", {"taskId": other_review.task.public_id}, follow=True).content.decode()
    assert f'data-item="{other_review.public_id}"' in page
    assert f'name="taskId" value="{other_review.task.public_id}"' in page


def test_progress_counts_todays_and_remaining_reviews(reviewer):
    open_review = review(reviewer)
    review(reviewer)
    reviewer.post(f"/reviews/{open_review.public_id}/decide", {"approved": "true"})
    by = access.Reviewer(reviewer.user)
    progress = queue.progress(Review.objects.all(), by)
    assert (progress.today, progress.left, progress.own, progress.others) == (1, 1, 0, 0)


def test_the_remaining_count_excludes_unsent_decisions_of_the_browser(reviewer):
    first, _, _ = review(reviewer), review(reviewer), review(reviewer)
    request = {"count": "1", "decided": [first.public_id, "rev_none"]}
    assert reviewer.post("/reviews/next", request, **JSON).json()["left"] == 2
    reviewer.post(f"/reviews/{first.public_id}/decide", {"approved": "true"})
    assert reviewer.post("/reviews/next", request, **JSON).json()["left"] == 2


def test_a_claim_takes_few_queries(reviewer, django_assert_max_num_queries):
    review(reviewer)
    review(reviewer)
    reviewer.post("/reviews/next", {"count": "1"}, **JSON)
    with django_assert_max_num_queries(30):
        reviewer.post("/reviews/next", {"count": "1"}, **JSON)
    with django_assert_max_num_queries(20):
        reviewer.get("/reviews/next")


def _audited_ids(method, action):
    return list(
        AuditEvent.objects.filter(method=method, action=action).order_by("at").values_list("object_id", flat=True)
    )


def test_the_audit_log_names_the_shown_review(reviewer):
    open_review = review(reviewer)
    reviewer.post("/reviews/next", {"count": "1"}, **JSON)
    assert _audited_ids("POST", "reviews.update") == [open_review.public_id]
    reviewer.get("/reviews/next")
    assert _audited_ids("GET", "reviews.read") == [open_review.public_id]


def test_the_audit_log_names_the_review_claimed_by_a_form(reviewer):
    open_review = review(reviewer)
    reviewer.post("/reviews/next")
    assert _audited_ids("POST", "reviews.update") == [open_review.public_id]


def test_the_audit_log_names_the_decided_review(reviewer):
    open_review, _ = review(reviewer), review(reviewer)
    for deed in ("claim", "release", "decide"):
        reviewer.post(f"/reviews/{open_review.public_id}/{deed}", {"approved": "true", "back": "next"})
    assert _audited_ids("POST", "reviews.update") == [open_review.public_id] * 3


def test_the_response_is_formatted_and_stays_raw_from_one_review_to_the_next(reviewer):
    first, second = (review(reviewer, run__completion__response=f"**Poem {number}**") for number in (1, 2))
    page = reviewer.get(f"/reviews/{first.public_id}").content.decode()
    assert "<strong>Poem 1</strong>" in page
    page = reviewer.post("/reviews/next?view=raw", follow=True).content.decode()
    assert "**Poem 1**" in page
    sent = {"approved": "true", "back": "next"}
    page = reviewer.post(f"/reviews/{first.public_id}/decide?view=raw", sent, follow=True).content.decode()
    assert "**Poem 2**" in page
    assert f'action="/reviews/{second.public_id}/decide?view=raw"' in page
