"""The administration's pages of feedback: read-only, and the explanation only for superusers."""

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.factories import FeedbackFactory, UserFactory, public

TEXT = "a reason that no list shows"
LIST = "admin:feedback_feedback_changelist"


@pytest.fixture
def superuser(client, db):
    client.force_login(UserFactory(is_staff=True, is_superuser=True))
    return client


def change(row):
    return reverse("admin:feedback_feedback_change", args=[row.pk])


def test_a_list_takes_few_queries_and_shows_no_text(superuser, django_assert_max_num_queries):
    for _ in range(20):
        FeedbackFactory(explanation=TEXT)
    with django_assert_max_num_queries(15):
        page = superuser.get(reverse(LIST))
    assert page.status_code == 200
    assert TEXT not in page.content.decode()


@pytest.mark.parametrize(
    ("fields", "state"),
    [({}, "current"), ({"value": None, "raw_value": None}, "rejected"), ({"replaced_at": timezone.now()}, "replaced")],
)
def test_a_row_says_what_it_is_worth(superuser, fields, state):
    FeedbackFactory(**fields)
    assert state in superuser.get(reverse(LIST)).content.decode()


def test_the_form_shows_the_explanation_and_takes_no_change(superuser):
    row = FeedbackFactory(explanation=TEXT)
    page = superuser.get(change(row)).content.decode()
    assert TEXT in page
    assert public("comp", row.completion) in page
    assert superuser.post(change(row), {"value": "0"}).status_code == 403
    assert superuser.post(reverse("admin:feedback_feedback_add"), {}).status_code == 403
    assert superuser.post(reverse("admin:feedback_feedback_delete", args=[row.pk])).status_code == 403


@pytest.mark.parametrize("kind", ["fb", "comp", "grader", "graderv", "org", "user"])
def test_an_id_finds_the_rows_that_name_it(superuser, kind):
    row, other = FeedbackFactory(), FeedbackFactory()
    ids = {
        "fb": row.public_id, "comp": public("comp", row.completion), "grader": public("grader", row.grader),
        "graderv": public("graderv", row.grader_version), "org": public("org", row.organization),
        "user": public("user", row.rater),
    }  # fmt: skip
    page = superuser.get(reverse(LIST), {"q": ids[kind]}).content.decode()
    assert change(row) in page
    assert change(other) not in page
