"""A score's page, and deleting one."""

import pytest
from django.urls import reverse
from django.utils import timezone

from autotune.access.models import AuditEvent
from scores.models import Score
from tests.factories import GraderFactory, LegalHoldFactory, ReviewFactory, ScoreFactory, TaskFactory, public
from tests.support.markup import compact

pytestmark = pytest.mark.django_db


@pytest.fixture
def score():
    return ScoreFactory(
        value=0.5, raw_value=5.0, reasoning="It is half right.",
        dimensions=[{"name": "clarity", "value": 0.9, "weight": 0.25}],
    )  # fmt: skip


def page_of(client, score, status=200):
    answer = client.get(reverse("score", args=[score.pk]))
    assert answer.status_code == status
    return answer.content.decode()


def test_it_shows_value_reasoning_dimensions_and_origin(visitor, score):
    html = page_of(visitor("reviewer", score.organization), score)
    for text in (
        "0.500",
        "5.0 on the grader’s own scale",
        "It is half right.",
        "clarity",
        "weight 0.25",
        score.grader.name,
    ):
        assert text in html
    assert reverse("completion", args=[score.completion_id]) in html
    assert "Delete" not in html


def test_another_organization_does_not_find_it(visitor, score):
    page_of(visitor("organization_admin"), score, 404)


def test_a_deleted_score_is_404(visitor, score):
    client = visitor("organization_admin", score.organization)
    there = reverse("score_delete", args=[score.pk])
    assert client.post(there, {"typed": "no"}).status_code == 400
    assert Score.objects.get().deleted_at is None
    assert client.post(there, {"typed": "delete"}).status_code == 302
    assert Score.objects.get().deleted_at is not None
    assert "deleted" in page_of(client, score, 410)


def test_only_roles_with_the_right_delete_it(visitor, score):
    there = reverse("score_delete", args=[score.pk])
    assert visitor("training_operator", score.organization).post(there, {"typed": "delete"}).status_code == 403
    assert visitor("organization_admin").post(there, {"typed": "delete"}).status_code == 404
    LegalHoldFactory(organization=score.organization)
    held = visitor("organization_admin", score.organization).post(there, {"typed": "delete"})
    assert held.status_code == 400
    assert "hold" in held.content.decode()
    assert Score.objects.get().deleted_at is None


def test_shadow_and_replaced_scores_are_marked(visitor, score):
    Score.objects.update(purpose="shadow", superseded=True)
    html = page_of(visitor("reviewer", score.organization), score)
    assert "A shadow score." in html
    assert "Replaced." in html


def test_the_audit_log_records_its_deletion(visitor, score):
    client = visitor("organization_admin", score.organization)
    client.post(reverse("score_delete", args=[score.pk]), {"typed": "delete"})
    event = AuditEvent.objects.get(method="POST")
    assert (event.action, event.object_id, event.outcome) == ("scores.delete", public("score", score), "succeeded")


@pytest.fixture
def foreign(visitor):
    """A score by the grader of another organization, and a client of its owner."""
    owner = visitor("grader_owner")
    grader = GraderFactory(organization=owner.organization, created_by=owner.user, visibility="listed")
    task = TaskFactory(graders=[grader], share_text=False)
    score = ScoreFactory(
        run__completion__task=task, run__completion__model_id="secret-model", run__grader=grader, value=0.375
    )
    return owner, score


def test_the_model_of_a_completion_that_is_not_shared_is_a_dash(foreign):
    owner, score = foreign
    page = page_of(owner, score)
    listed = owner.get(reverse("scores")).content.decode()
    assert "0.375" in page
    assert "0.375" in listed
    assert "secret-model" not in page + listed
    assert '<dt>Model</dt><dd><span class="faint">–</span>' in compact(page)
    assert '<td data-label="Model"><span class="faint">–</span></td>' in compact(listed)


def test_the_model_is_shown_if_the_task_shares_its_texts(foreign):
    owner, score = foreign
    score.task.share_text = True
    score.task.save()
    assert "secret-model" in page_of(owner, score)
    assert owner.get(reverse("scores")).content.decode().count("secret-model") == 2  # its row, and the filter's choices


def test_a_review_is_linked_only_for_roles_that_read_reviews(foreign, visitor):
    owner, score = foreign
    review = ReviewFactory(run=score.run, status="approved", expires_at=timezone.now())
    Score.objects.filter(pk=score.pk).update(reviewed_by=visitor("reviewer", score.organization).user)
    assert reverse("review", args=[review.pk]) not in page_of(owner, score)
    assert reverse("review", args=[review.pk]) in page_of(visitor("reviewer", score.organization), score)
