"""Each decision on a review writes the reviewer's feedback, in its own transaction."""

import pytest

from graders.models import GraderVersion
from scores.feedback import recording
from scores.feedback.models import Feedback
from scores.models import Review, Score, WorkflowRun
from scores.reviews import decisions
from tests.conftest import Api
from tests.factories import ApiKeyFactory, ReviewFactory, RunFactory, public
from tests.support.concurrency import together

COMMITTED = pytest.mark.django_db(transaction=True, serialized_rollback=True)


@pytest.fixture
def review(db):
    return ReviewFactory(raw_value=0.26)


@pytest.fixture
def api(api_for, review):
    return api_for(role="reviewer", organization=review.organization)


def decide(api, review, expected=200, *, headers=None, **body):
    answer = api.post(f"/reviews/{review.public_id}/decision", body, **(headers or {}))
    assert answer.status_code == expected, answer.content
    return answer


def values():
    return list(Feedback.objects.order_by("pk").values_list("value", "raw_value", "anchored"))


# --- what is written --------------------------------------------------------------------------------------------------


def test_an_approval_is_the_graders_value_and_anchored(api, review):
    decide(api, review, approved=True, explanation="Looks right.")
    row = Feedback.objects.get()
    assert (row.value, row.raw_value, row.anchored, row.explanation) == (0.25, 0.26, True, "Looks right.")
    assert (row.completion_id, row.grader_id, row.grader_version_id) == (
        review.completion_id,
        review.grader_id,
        review.grader_version_id,
    )
    assert (row.organization_id, row.rater, row.review) == (review.organization_id, api.user, review)
    assert (row.source_kind, row.label_policy, row.blind, row.adjudicated) == ("human", "", False, False)
    review.refresh_from_db()
    assert (row.replaced_at, row.created_at, row.updated_at) == (None, review.decided_at, review.decided_at)


@pytest.mark.parametrize("value", [0, 1, 0.25])
def test_an_adjusted_score_is_the_persons_value_also_if_it_is_the_graders(api, review, value):
    decide(api, review, approved=True, value=value)
    assert values() == [(value, value, False)]


def test_a_decision_on_the_graders_scale_keeps_its_raw_value(api, review):
    version = GraderVersion.objects.create(grader=review.grader, label="2", scale_min=-3, scale_max=3)
    Review.objects.update(grader_version=version)
    decide(api, review, approved=True, rawValue=1.5)
    assert values() == [(0.75, 1.5, False)]


def test_a_rejection_has_no_value_and_is_no_label(api, review):
    decide(api, review, approved=False, explanation="Nonsense.")
    assert values() == [(None, None, False)]
    assert Feedback.objects.get().explanation == "Nonsense."
    assert (Feedback.objects.current().count(), Feedback.objects.labels().count()) == (1, 0)


def test_the_explanation_is_encrypted(api, review):
    decide(api, review, approved=True, explanation="a-secret-reason")
    assert b"a-secret-reason" not in bytes(Feedback.objects.values_list("explanation", flat=True).get())


# --- once -------------------------------------------------------------------------------------------------------------


def test_a_replayed_decision_writes_no_more(api, review):
    first = decide(api, review, headers={"Idempotency_Key": "k"}, approved=True, value=0.5)
    again = decide(api, review, headers={"Idempotency_Key": "k"}, approved=True, value=0.5)
    assert again.json() == first.json()
    decide(api, review, 409, approved=False)
    assert values() == [(0.5, 0.5, False)]


def test_a_refused_decision_writes_none(api, review):
    decide(api, review, 400, approved=True, rawValue=2)
    decide(api, review, 400, approved=False, value=0.5)
    assert not Feedback.objects.exists()


def test_a_claim_and_an_expiry_write_none(api, review):
    assert api.post(f"/reviews/{review.public_id}/claim").status_code == 200
    assert decisions.expire(review.expires_at) == 1
    assert not Feedback.objects.exists()


@COMMITTED
@pytest.mark.parametrize("approved", [(True, True), (True, False)], ids=["same", "opposite"])
def test_one_of_two_concurrent_reviewers_writes_feedback(approved):
    review = ReviewFactory()
    keys = [ApiKeyFactory(role="reviewer", organization=review.organization) for _ in approved]
    path = f"/reviews/{review.public_id}/decision"
    answers = together(
        *(
            lambda key=key, value=value: Api(key.text).post(path, {"approved": value})
            for key, value in zip(keys, approved, strict=True)
        )
    )
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    review.refresh_from_db()
    row = Feedback.objects.get()
    assert (row.rater_id, row.value) == (review.decided_by_id, 0.25 if review.status == "approved" else None)


@COMMITTED
def test_a_decision_that_is_rolled_back_leaves_no_feedback(monkeypatch):
    review = ReviewFactory()
    reviewer = decisions.Reviewer(ApiKeyFactory(role="reviewer", organization=review.organization).user)

    def broken(rows):
        Feedback.objects.bulk_create(rows)
        raise RuntimeError("the database went away")

    monkeypatch.setattr(recording, "record", broken)
    with pytest.raises(RuntimeError, match="went away"):
        decisions.decide(review.pk, decisions.ReviewDecision(approved=True), reviewer)
    assert (Feedback.objects.count(), Score.objects.count(), Review.objects.get().status) == (0, 0, "open")


# --- again ------------------------------------------------------------------------------------------------------------


def second_review(review):
    """Another review of the same completion and grader, as after a rejection and a retry."""
    run = RunFactory(
        completion=review.completion, grader=review.grader, status="waiting", waits_for="review", attempt=1,
        wake_at=review.run.wake_at, generation=1,
    )  # fmt: skip
    return ReviewFactory(run=run, value=0.75)


def test_a_later_decision_of_the_same_person_replaces_the_first_which_is_kept(api, review):
    decide(api, review, approved=False, explanation="Nonsense.")
    decide(api, second_review(review), approved=True)
    first, second = Feedback.objects.order_by("pk")
    assert (first.value, first.explanation, first.replaced_at) == (None, "Nonsense.", second.created_at)
    assert (second.value, second.replaced_at) == (0.75, None)
    assert list(Feedback.objects.current()) == [second]


def test_a_decision_of_another_person_replaces_nothing(api, api_for, review):
    decide(api, review, approved=False)
    other = api_for(role="reviewer", organization=review.organization)
    decide(other, second_review(review), approved=True)
    assert Feedback.objects.current().count() == 2


def test_a_run_that_is_retried_after_a_rejection_is_judged_again(api, api_for, review):
    decide(api, review, approved=False)
    operator = api_for(role="training_operator", organization=review.organization)
    assert operator.post(f"/workflow-runs/{public('run', review.run)}/retry").status_code in (200, 202)
    WorkflowRun.objects.update(status="waiting", waits_for="review", wake_at=review.expires_at)
    again = ReviewFactory(run=review.run, value=0.5, expires_at=review.expires_at)
    decide(api, again, approved=True)
    assert values() == [(None, None, False), (0.5, 0.5, True)]
    assert Feedback.objects.current().get().review == again
