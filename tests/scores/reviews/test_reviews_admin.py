"""The administration's page of a review: what a superuser sees there, and that deciding is what the API does."""

import pytest
from django.test import Client
from django.urls import reverse

from autotune.access.models import User
from scores.models import Review, Reward, Score
from tests.factories import ReviewFactory
from tests.support.results import state


@pytest.fixture
def review(db):
    return ReviewFactory(run__completion__prompt="<script>alert(1)</script>", run__completion__response="javascript:x")


@pytest.fixture
def boss(db):
    return User.objects.create_superuser("boss@example.org", "a-password-that-nobody-sees")


@pytest.fixture
def client(boss):
    admin_client = Client()
    admin_client.force_login(boss)
    return admin_client


@pytest.fixture
def address(review):
    return reverse("admin:scores_review_change", args=[review.pk])


def send(client, address, **form):
    return client.post(address, {"decision": "approve", "score": "", "remark": "", **form}, follow=True)


def test_the_page_shows_the_texts_as_text(client, address):
    page = client.get(address).content.decode()
    for text in ("&lt;script&gt;alert(1)&lt;/script&gt;", "javascript:x", "Not sure.", "Approve the preliminary score"):
        assert text in page
    assert "<script>alert(1)</script>" not in page
    assert 'href="javascript:' not in page


def test_approving(client, boss, review, address):
    assert send(client, address).status_code == 200
    assert Review.objects.values_list("status", "decided_by", "decided_value").get() == ("approved", boss.pk, 0.25)
    assert (Score.objects.get().reviewed_by, Reward.objects.get().value) == (boss, 0.25)
    assert state(review.run)[0] == "completed"


def test_another_score(client, address):
    send(client, address, decision="adjust", score="0.9", remark="Fine.")
    assert (Score.objects.get().value, Score.objects.get().reasoning) == (0.9, "Fine.")


def test_zero_is_a_score(client, address):
    send(client, address, decision="adjust", score="0")
    assert Score.objects.get().value == 0


def test_rejecting(client, review, address):
    send(client, address, decision="reject")
    assert state(review.run)[:2] == ("failed", "review_rejected")


@pytest.mark.parametrize(
    "form",
    [{"decision": ""}, {"decision": "maybe"}, {"decision": "adjust"}, {"decision": "adjust", "score": "1.1"},
     {"decision": "adjust", "score": "nan"}, {"decision": "approve", "score": "0.5"},
     {"decision": "reject", "score": "0.5"}],
    ids=str,
)  # fmt: skip
def test_an_invalid_form_is_shown_again_and_decides_nothing(client, address, form):
    page = send(client, address, **form)
    assert page.status_code == 200
    assert "errorlist" in page.content.decode()
    assert Review.objects.get().status == "open"


def test_a_decided_review_is_shown_and_takes_no_other_decision(client, review, address):
    send(client, address)
    assert 'name="decision"' not in client.get(address).content.decode()
    assert send(client, address, decision="reject").status_code == 403
    assert (Review.objects.get().status, Score.objects.count()) == ("approved", 1)


def test_a_late_decision_is_reported(client, review, address):
    """The review is still open, and its run is not: the sweep has not closed the review yet."""
    type(review.run).objects.update(status="failed", waits_for="")
    page = send(client, address).content.decode()
    assert "The review is cancelled. A decision is no longer possible." in page
    assert "was changed successfully" not in page
    assert Score.objects.count() == 0


def test_read_only_staff_see_no_texts_and_decide_nothing(review, address):
    from django.contrib.auth.models import Permission

    person = User.objects.create_user("clerk@example.org", "a-password-that-nobody-sees", is_staff=True)
    for codename in ("view_review", "change_review"):
        person.user_permissions.add(Permission.objects.get(codename=codename))
    client = Client()
    client.force_login(person)
    page = client.get(address).content.decode()
    assert "Not sure." not in page
    assert 'name="decision"' not in page
    assert send(client, address).status_code == 403
    assert Review.objects.get().status == "open"
