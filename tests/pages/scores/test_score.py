"""A score's page, and deleting one."""

import pytest
from django.urls import reverse

from scores.models import Score
from tests.factories import LegalHoldFactory, ScoreFactory

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


def test_it_shows_value_reasoning_dimensions_and_where_it_comes_from(visitor, score):
    html = page_of(visitor("reviewer", score.organization), score)
    for told in (
        "0.500",
        "5.0 on the grader’s own scale",
        "It is half right.",
        "clarity",
        "weight 0.25",
        score.grader.name,
    ):
        assert told in html
    assert reverse("completion", args=[score.completion_id]) in html
    assert "Delete" not in html


def test_another_organization_does_not_find_it(visitor, score):
    page_of(visitor("organization_admin"), score, 404)


def test_a_deleted_one_is_gone(visitor, score):
    client = visitor("organization_admin", score.organization)
    there = reverse("score_delete", args=[score.pk])
    assert client.post(there, {"typed": "no"}).status_code == 400
    assert Score.objects.get().deleted_at is None
    assert client.post(there, {"typed": "delete"}).status_code == 302
    assert Score.objects.get().deleted_at is not None
    assert "deleted" in page_of(client, score, 410)


def test_only_who_may_deletes_it(visitor, score):
    there = reverse("score_delete", args=[score.pk])
    assert visitor("training_operator", score.organization).post(there, {"typed": "delete"}).status_code == 403
    assert visitor("organization_admin").post(there, {"typed": "delete"}).status_code == 404
    LegalHoldFactory(organization=score.organization)
    held = visitor("organization_admin", score.organization).post(there, {"typed": "delete"})
    assert held.status_code == 400
    assert "hold" in held.content.decode()
    assert Score.objects.get().deleted_at is None


def test_shadow_and_replaced_ones_say_so(visitor, score):
    Score.objects.update(shadow=True, superseded=True)
    html = page_of(visitor("reviewer", score.organization), score)
    assert "A shadow score." in html
    assert "Replaced." in html
