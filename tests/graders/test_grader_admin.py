"""Admin actions of graders go through the registry."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from autotune.access.models import User
from graders import pauses
from graders.models import Grader, GraderCheck, GraderStatusChange
from tests.factories import GraderFactory
from tests.support.fakes import FakeGrader, serving

LIST = "admin:graders_grader_changelist"


@pytest.fixture
def site(db):
    client = Client()
    client.force_login(User.objects.create_user("boss@example.org", "x", is_staff=True, is_superuser=True))
    return client


def act(client, action, *graders):
    body = {
        "action": action,
        "_selected_action": [str(grader.pk) for grader in graders],
        "index": 0,
        "confirmed": "yes",
    }
    return client.post(reverse(LIST), body, follow=True)


def test_graders_are_switched_off_and_on_and_the_change_is_recorded(site):
    graders = [GraderFactory(), GraderFactory()]
    act(site, "switch_off", *graders)
    assert set(Grader.objects.values_list("status", flat=True)) == {"inactive"}
    act(site, "switch_on", graders[0])
    assert sorted(Grader.objects.values_list("status", flat=True)) == ["active", "inactive"]
    assert GraderStatusChange.objects.count() == 3


def test_an_unverified_grader_is_not_switched_on_and_the_page_says_why(site):
    grader = GraderFactory(status="inactive", verified_at=None)
    page = act(site, "switch_on", grader)
    assert "Verify the grader first" in page.content.decode()
    assert Grader.objects.get().status == "inactive"


def test_staff_that_only_views_cannot_switch(db):
    clerk = User.objects.create_user("clerk@example.org", "x", is_staff=True)
    clerk.user_permissions.add(Permission.objects.get(codename="view_grader"))
    client = Client()
    client.force_login(clerk)
    act(client, "switch_off", GraderFactory())
    assert Grader.objects.get().status == "active"


@pytest.mark.parametrize("view", ["add", "delete"])
def test_graders_are_neither_registered_nor_deleted_here(site, view):
    grader = GraderFactory()
    args = [grader.pk] if view == "delete" else []
    assert site.get(reverse(f"admin:graders_grader_{view}", args=args)).status_code == 403


def test_graders_are_checked_and_their_troubles_and_holds_are_shown(site):
    with serving(FakeGrader()) as fake:
        graders = [GraderFactory(endpoint=fake.url, status="degraded", troubles=["circuit"]), GraderFactory()]
        pauses.pause(graders[0].pk, timezone.now() + timedelta(minutes=3), pauses.CIRCUIT_OPEN)
        page = act(site, "check_health", *graders)
    assert "2 graders were called" in page.content.decode()
    assert set(GraderCheck.objects.values_list("grader_id", "passed")) == {
        (graders[0].pk, True),
        (graders[1].pk, False),
    }
    form = site.get(reverse("admin:graders_grader_change", args=[graders[0].pk])).content.decode()
    assert all(text in form for text in ("circuit_open", "[&quot;circuit&quot;]", "healthy"))
