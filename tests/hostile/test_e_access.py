"""Rows E of the list: keys, and what people and keys leave behind."""

import logging

import pytest
from django.test import Client

from autotune.access.models import Membership
from scores.models import Score
from tests.conftest import Api
from tests.factories import CompletionFactory, RunFactory, ScoreFactory, TaskFactory, UserFactory, public
from tests.scores.conftest import drain, fake, grader  # noqa: F401 - fixtures
from tests.scores.submitting import item, problems, rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(api_for):
    return api_for(role="organization_admin")


def test_e01_e02_an_invalid_key_is_401_and_never_echoed(api, caplog):
    right = api.key
    for text in (
        "", "Bearer", "Bearer ", f"Bearer  {right}", f"Bearer {right} ", f"Bearer {right}x", f"Bearer {right[:-1]}", f"bearer: {right}",
        f"Bearer {right.upper()}", f"Bearer {right.swapcase()}", f"Token {right}", f"Basic {right}", right, f"Bearer {right},{right}",
        f"Bearer {right}\x00", "Bearer " + "x" * 2**20, "Bearer ключ", "Bearer at_live_" + "0" * 76, f"Bearer {right[:8]}*{right[9:]}",
    ):  # fmt: skip
        answer = Api().get("/tasks", authorization=text)
        assert answer.status_code in (401, 429), text[:60]
        assert right.encode() not in answer.content
        assert right not in caplog.text
    assert api.get("/tasks").status_code == 200


def test_e07_an_id_of_another_organization_in_the_body_is_not_found_and_nothing_is_created(api, api_for):
    other = TaskFactory()
    ours = TaskFactory(organization=api.organization)
    foreign = public("grader", other.version.members.first().grader)
    assert problems(api.post("/completions", item(other)), 404) == [("/taskId", "not_found")]
    body = {"name": "x", "promptTemplate": "x"}
    assert problems(api.post("/tasks", {**body, "graderId": foreign}), 404) == [("/graderId", "not_found")]
    nested = [{"graderId": public("grader", ours.version.members.first().grader)}, {"graderId": foreign}]
    assert problems(api.post("/tasks", {**body, "graders": nested}), 404) == [("/graders/1/graderId", "not_found")]
    assert problems(api.patch(f"/tasks/{public('task', ours)}", {"graderId": foreign}), 404) == [
        ("/graderId", "not_found")
    ]
    assert rows() == (0, 0)


def test_e11_of_a_hundred_items_the_foreign_one_is_never_processed(api):
    other, ours = TaskFactory(), TaskFactory(organization=api.organization)
    batch = {"completions": [*(item(ours, response=str(n)) for n in range(99)), item(other)]}
    assert api.post("/completions/batch", batch).status_code in (400, 404)
    assert rows() == (0, 0)
    answer = api.post("/completions/batch?partial=true", batch).json()
    assert ([error["index"] for error in answer["errors"]], len(answer["completions"])) == ([99], 99)
    assert other.completions.count() == 0


def test_e17_a_key_is_shown_only_when_it_is_created(api, caplog, admin_client):
    with caplog.at_level(logging.DEBUG):
        answers = [
            api.get("/tasks"),
            api.post("/tasks", {"name": api.key}),
            api.get(f"/tasks/{api.key}"),
            api.get(f"/tasks?x={api.key}"),
        ]
        listed = [
            admin_client.get("/admin/access/apikey/"),
            admin_client.get(f"/admin/access/apikey/{api.api_key.pk}/change/"),
        ]
    secret = api.key.rpartition("_")[2]
    assert not any(secret in page.content.decode() for page in (*answers[:2], *listed))
    assert secret not in caplog.text


def test_e18_work_of_a_removed_member_continues_and_their_key_ends(api, grader, drain):  # noqa: F811 - fixtures
    task = TaskFactory(organization=api.organization, graders=[grader], created_by=api.user)
    RunFactory(completion=CompletionFactory(task=task, created_by=api.user))
    Membership.objects.filter(user=api.user).delete()
    api.user.is_active = False
    api.user.save()
    assert api.get("/tasks").status_code == 401
    drain(grader)
    assert Score.objects.count() == 1


def test_e18_a_person_who_moved_sees_only_the_new_organization(api, api_for):
    score = ScoreFactory(run__completion__task=TaskFactory(organization=api.organization))
    mover = api_for(organization=api.organization, user=UserFactory(), role="training_operator")
    assert mover.get(f"/scores/{score.public_id}").status_code == 200
    Membership.objects.filter(user=mover.user).delete()
    there = api_for(user=mover.user, role="training_operator")
    assert mover.get(f"/scores/{score.public_id}").status_code == 401
    assert there.get(f"/scores/{score.public_id}").status_code == 404
    assert there.get("/scores").json()["pagination"]["total"] == 0


@pytest.mark.parametrize("origin", ["null", "https://evil.example.org", "http://localhost.evil.example.org", "file://"])
def test_e14_e15_another_origin_reads_nothing_and_changes_nothing(api, origin):
    task = TaskFactory(organization=api.organization)
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(api.user)
    for method, path in (
        ("OPTIONS", "/tasks"),
        ("GET", "/tasks"),
        ("POST", "/completions"),
        ("DELETE", f"/tasks/{public('task', task)}"),
    ):
        answer = browser.generic(
            method, f"/api/v1{path}", b"", HTTP_ORIGIN=origin, HTTP_COOKIE=browser.cookies.output(header="", sep=";"),
            HTTP_ACCESS_CONTROL_REQUEST_METHOD="POST", HTTP_ACCESS_CONTROL_REQUEST_HEADERS="authorization",
        )  # fmt: skip
        assert not [name for name in answer.headers if name.lower().startswith("access-control")]
        assert method in ("OPTIONS", "GET") or answer.status_code == 403
    assert rows() == (0, 0)
