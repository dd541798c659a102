"""Storing feedback: in bulk, one current row for each rater, completion and grader."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from scores.feedback import recording
from scores.feedback.models import Feedback
from tests.factories import CompletionFactory, FeedbackFactory, ReviewFactory, RunFactory, TaskFactory, UserFactory

pytestmark = pytest.mark.django_db
NOW = timezone.now()


def decided(count, rater, **fields):
    """Reviews of one task that the rater has approved."""
    task = TaskFactory()
    reviews = []
    for _ in range(count):
        run = RunFactory(completion=CompletionFactory(task=task), status="completed")
        reviews.append(
            ReviewFactory(
                run=run, status="approved", decided_by=rater, decided_at=NOW, decided_value=0.5, decided_raw_value=0.5,
                explanation="Right.", expires_at=NOW, **fields,
            )
        )  # fmt: skip
    return reviews


def like(row, **fields):
    """Feedback that is not stored: of the same rater about the same completion and grader."""
    names = ("organization_id", "completion_id", "grader_id", "grader_version_id", "rater_id", "value", "raw_value")
    return Feedback(**{name: getattr(row, name) for name in names} | fields)


def queries_for(reviews):
    rows = [recording.of_review(review, anchored=True) for review in reviews]
    with CaptureQueriesContext(connection) as queries:
        recording.record(rows)
    return len(queries)


def test_500_decisions_in_bulk_take_no_query_each():
    """SQLite takes a limited number of parameters in a statement, so it needs a statement for some dozen rows."""
    reviews = decided(500, UserFactory())
    first = queries_for(reviews[:1])
    assert queries_for(reviews[1:]) <= first + 499 / 25
    assert Feedback.objects.current().count() == 500
    assert Feedback.objects.last().explanation == "Right."


def test_replacing_500_takes_no_query_each():
    rater = UserFactory()
    reviews = decided(500, rater)
    queries_for(reviews)
    Feedback.objects.update(review=None)
    assert queries_for(reviews) <= 60
    assert (Feedback.objects.count(), Feedback.objects.current().count()) == (1000, 500)


def test_recording_nothing_is_safe():
    recording.record([])
    assert not Feedback.objects.exists()


def test_the_last_of_several_about_the_same_is_current():
    row = FeedbackFactory()
    same = [like(row, value=n / 10, raw_value=n / 10, created_at=NOW + timedelta(hours=n)) for n in (1, 2, 3)]
    recording.record(same)
    rows = Feedback.objects.exclude(pk=row.pk).order_by("created_at").values_list("value", "replaced_at")
    assert list(rows) == [(0.1, same[1].created_at), (0.2, same[2].created_at), (0.3, None)]
    row.refresh_from_db()
    assert row.replaced_at == same[2].created_at


def test_other_graders_raters_and_completions_keep_theirs():
    first = FeedbackFactory()
    other_rater = FeedbackFactory(completion=first.completion)
    other_completion = FeedbackFactory(rater=first.rater)
    recording.record([like(first, value=0.9)])
    assert set(Feedback.objects.current().values_list("pk", flat=True)) >= {other_rater.pk, other_completion.pk}
    first.refresh_from_db()
    assert first.replaced_at is not None


def test_a_review_has_feedback_once():
    review = decided(1, UserFactory())[0]
    recording.record([recording.of_review(review, anchored=True)])
    with pytest.raises(IntegrityError), transaction.atomic():
        recording.record([recording.of_review(review, anchored=True)])


@pytest.mark.parametrize(
    "fields",
    [
        {"value": 1.5},
        {"value": -0.1},
        {"value": None, "raw_value": 1.0},
        {"value": 0.5, "raw_value": None},
        {"source_kind": "robot"},
    ],
)
def test_the_database_refuses_impossible_feedback(fields):
    with pytest.raises(IntegrityError), transaction.atomic():
        FeedbackFactory(**fields)


def test_the_database_keeps_one_current_row():
    first = FeedbackFactory()
    with pytest.raises(IntegrityError), transaction.atomic():
        like(first).save(force_insert=True)
