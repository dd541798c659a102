"""The admin pages of erasures and legal holds: shown to all of the staff, the reason to superusers, released by an action."""

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from autotune.access.models import User
from scores.models import LegalHold
from tests.factories import ErasureFactory, LegalHoldFactory, ScoreFactory, public

REASON = "a case that not everybody knows"


def of(user):
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def boss(db):
    return User.objects.create(email="boss@example.org", password="!", is_staff=True, is_superuser=True)


@pytest.fixture
def staff(db):
    user = User.objects.create(email="staff@example.org", password="!", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=("view_legalhold", "view_erasure")))
    return user


def test_lists_and_forms_say_what_a_row_is_about(boss):
    score = ScoreFactory()
    erasure = ErasureFactory(completion=score.completion, model_id="")
    hold = LegalHoldFactory(task=score.task, organization=score.organization)
    client = of(boss)
    for row, name, about in (
        (erasure, "erasure", public("comp", score.completion)),
        (hold, "legalhold", public("task", score.task)),
    ):
        for path in (
            reverse(f"admin:scores_{name}_changelist"),
            reverse(f"admin:scores_{name}_changelist") + f"?q={row.public_id}",
            reverse(f"admin:scores_{name}_change", args=[row.pk]),
        ):
            page = client.get(path)
            assert page.status_code == 200
            assert about in page.content.decode()


def test_the_object_of_a_row_may_be_deleted(boss):
    score = ScoreFactory()
    hold = LegalHoldFactory(task=score.task)
    LegalHold.objects.filter(pk=hold.pk).update(task=score.completion_id)  # an id that names no task
    assert of(boss).get(reverse("admin:scores_legalhold_change", args=[hold.pk])).status_code == 200


def test_the_reason_is_for_superusers(boss, staff):
    path = reverse("admin:scores_legalhold_change", args=[LegalHoldFactory(reason=REASON).pk])
    assert REASON in of(boss).get(path).content.decode()
    page = of(staff).get(path)
    assert page.status_code == 200
    assert REASON not in page.content.decode()


def test_an_action_releases_holds_for_who_may_change_them(boss, staff):
    hold = LegalHoldFactory()
    path, body = (
        reverse("admin:scores_legalhold_changelist"),
        {"action": "release", "_selected_action": [str(hold.pk)], "confirmed": "yes"},
    )
    of(staff).post(path, body)
    hold.refresh_from_db()
    assert hold.released_at is None
    of(boss).post(path, body)
    hold.refresh_from_db()
    assert hold.released_at is not None
    assert hold.released_by == boss
