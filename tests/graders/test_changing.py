"""PATCH and DELETE /graders/:id."""

from datetime import timedelta

import pytest

from autotune.core.errors import Conflict
from graders import credentials, pauses, status, targets
from graders.models import Grader, GraderSecret, GraderStatusChange
from graders.signals import grader_retiring
from graders.states import Trouble
from tests.factories import SECRET, GraderFactory


def pointers(response):
    return {error["pointer"]: error["code"] for error in response.json()["errors"]}


def patched(api, path, body):
    answer = api.patch(path, body)
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_named_members_are_replaced_and_the_rest_stays(owner, grader, path):
    body = patched(owner, path, {"name": "Maritime law", "description": None, "visibility": "listed"})
    assert body["credentials"] is None
    assert body["grader"]["name"] == "Maritime law"
    assert (body["grader"]["description"], body["grader"]["visibility"]) == (None, "listed")
    assert (body["grader"]["status"], body["grader"]["endpoint"]) == ("active", grader.endpoint)
    assert owner.get(path).json()["grader"] == body["grader"]


def test_limits_merge_member_by_member(owner, path):
    patched(owner, path, {"limits": {"ratePerMinute": 60, "timeoutMs": 1000}})
    body = patched(owner, path, {"limits": {"maxConcurrency": 2, "timeoutMs": None}})
    assert body["grader"]["limits"] == {
        "ratePerMinute": 60,
        "maxConcurrency": 2,
        "timeoutMs": 4000,
        "batchTimeoutMs": 30000,
    }
    body = patched(owner, path, {"limits": {"ratePerMinute": None}})
    assert body["grader"]["limits"]["ratePerMinute"] is None
    assert patched(owner, path, {"limits": None})["grader"]["limits"]["maxConcurrency"] == 16


def test_capabilities_are_replaced_as_a_whole(owner, path):
    patched(owner, path, {"capabilities": {"maxBatchSize": 7, "domains": ["law"]}})
    body = patched(owner, path, {"capabilities": {"supportsDimensions": True}})
    assert body["grader"]["capabilities"]["maxBatchSize"] == 1
    assert body["grader"]["capabilities"]["domains"] == []
    assert body["grader"]["capabilities"]["supportsDimensions"] is True


def test_an_empty_patch_changes_nothing(owner, path):
    before = owner.get(path).json()
    assert patched(owner, path, {})["grader"] == before["grader"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"name": None}, "/name"),
        ({"name": " "}, "/name"),
        ({"endpoint": None}, "/endpoint"),
        ({"endpoint": "https://10.0.0.1"}, "/endpoint"),
        ({"capabilities": None}, "/capabilities"),
        ({"status": None}, "/status"),
        ({"status": "degraded"}, "/status"),
        ({"limits": {"timeoutMs": 1}}, "/limits/timeoutMs"),
        ({"pins": "none"}, "/pins"),
        ({"kind": "rubric"}, "/kind"),
        ({"owner": "me"}, "/owner"),
        ({"version": "2"}, "/version"),
    ],
)
def test_a_refused_patch_changes_nothing(owner, path, body, pointer):
    before = owner.get(path).json()
    answer = owner.patch(path, {"description": "changed", **body})
    assert (answer.status_code, list(pointers(answer))) == (400, [pointer])
    assert owner.get(path).json() == before


def test_a_body_is_needed(owner, path):
    assert owner.patch(path).status_code == 400


def test_a_taken_name_is_a_conflict(owner, grader, path):
    GraderFactory(organization=grader.organization, name="Other")
    answer = owner.patch(path, {"name": "Other", "description": "changed"})
    assert (answer.status_code, answer.json()["code"]) == (409, "name_taken")
    grader.refresh_from_db()
    assert (grader.name, grader.description) == ("Law", "Judges law")


def test_its_own_name_is_not_taken(owner, path):
    assert owner.patch(path, {"name": "Law"}).status_code == 200


@pytest.mark.parametrize(
    "endpoint",
    ["https://other.example.org", "https://grader.example.org:8443", "https://grader.example.org.evil.example.com"],
)
def test_another_address_makes_a_new_secret_without_grace(owner, grader, path, endpoint):
    body = patched(owner, path, {"endpoint": endpoint})
    secret = body["credentials"]["sharedSecret"]
    assert secret != SECRET
    assert [held.secret for held in credentials.active_secrets(grader)] == [secret]
    assert GraderSecret.objects.count() == 1
    assert (body["grader"]["status"], body["grader"]["verifiedAt"]) == ("inactive", None)
    assert body["grader"]["authentication"]["previousKeyId"] is None
    assert GraderStatusChange.objects.get().current == "inactive"
    answer = owner.patch(path, {"status": "active"})
    assert (answer.status_code, answer.json()["code"]) == (409, "not_verified")


def test_another_path_keeps_the_secret(owner, grader, path):
    body = patched(owner, path, {"endpoint": "https://grader.example.org/v2"})
    assert (body["credentials"], body["grader"]["status"]) == (None, "active")
    assert credentials.active_secrets(grader)[0].secret == SECRET


def test_the_same_address_in_another_spelling_keeps_the_secret(owner, path):
    assert patched(owner, path, {"endpoint": "https://GRADER.example.org:443/"})["credentials"] is None


def test_a_move_with_a_taken_name_keeps_the_secret(owner, grader, path):
    GraderFactory(organization=grader.organization, name="Other")
    assert owner.patch(path, {"endpoint": "https://b.example.org", "name": "Other"}).status_code == 409
    assert credentials.active_secrets(grader)[0].secret == SECRET


def test_a_grader_is_switched_off_and_on(owner, grader, path):
    assert patched(owner, path, {"status": "inactive"})["grader"]["status"] == "inactive"
    assert patched(owner, path, {"status": "inactive"})["grader"]["status"] == "inactive"
    assert patched(owner, path, {"status": "active"})["grader"]["status"] == "active"
    assert [change.current for change in GraderStatusChange.objects.order_by("id")] == ["inactive", "active"]


def test_switching_on_does_not_hide_a_degradation(owner, grader, path):
    status.trouble(grader.pk, Trouble.CIRCUIT, "open")
    assert patched(owner, path, {"status": "active"})["grader"]["status"] == "degraded"
    patched(owner, path, {"status": "inactive"})
    assert patched(owner, path, {"status": "active"})["grader"]["status"] == "degraded"


def test_another_address_starts_without_the_troubles_of_the_old_one(owner, grader, path):
    status.trouble(grader.pk, Trouble.HEALTH, "ill")
    pauses.pause(grader.pk, grader.created_at + timedelta(days=1), pauses.UNHEALTHY)
    patched(owner, path, {"endpoint": "https://other.example.org"})
    grader.refresh_from_db()
    assert (grader.troubles, grader.held_until, grader.held_reason, grader.health) == ([], None, "", "")


def test_pins_are_replaced_as_a_whole(owner, grader, path):
    first_pin, second_pin = "A" * 43 + "=", "B" * 42 + "A="
    assert patched(owner, path, {"pins": [first_pin, second_pin, first_pin]})["grader"]["pins"] == [
        first_pin,
        second_pin,
    ]
    assert targets.load(Grader.objects.get()).pins == (f"sha256//{first_pin}", f"sha256//{second_pin}")
    assert patched(owner, path, {"name": "Sea law"})["grader"]["pins"] == [first_pin, second_pin]
    assert patched(owner, path, {"pins": [second_pin]})["grader"]["pins"] == [second_pin]
    assert patched(owner, path, {"pins": None})["grader"]["pins"] == []


def test_an_unverified_grader_cannot_be_switched_on(owner, grader, path):
    Grader.objects.update(verified_at=None, status="inactive")
    answer = owner.patch(path, {"status": "active"})
    assert (answer.status_code, answer.json()["code"]) == (409, "not_verified")


def test_an_operator_may_read_and_not_change(colleague, path):
    operator = colleague("training_operator")
    assert operator.get(path).status_code == 200
    assert operator.patch(path, {"name": "x"}).status_code == 403
    assert operator.delete(path).status_code == 403


def test_a_listed_grader_of_another_organization_is_403_to_change(api_for, grader, path):
    """Its role may update graders, of its own organization; it may read this one and no more."""
    Grader.objects.update(visibility="listed")
    other = api_for(role="organization_admin")
    assert other.get(path).status_code == 200
    assert other.patch(path, {"name": "x"}).status_code == 403
    assert other.delete(path).status_code == 403


@pytest.mark.parametrize("role", ["grader_owner", "organization_admin", "admin"])
def test_a_stranger_meets_404(api_for, path, role):
    stranger = api_for(role=role)
    assert stranger.patch(path, {"name": "x"}).status_code == 404
    assert stranger.delete(path).status_code == 404
    assert Grader.objects.get().name == "Law"


def test_without_a_key_it_is_401(owner, path):
    owner.key = None
    assert (owner.patch(path, {}).status_code, owner.delete(path).status_code) == (401, 401)


def test_deleting_leaves_a_tombstone_without_secrets(owner, grader, path):
    answer = owner.delete(path)
    assert (answer.status_code, answer.content) == (204, b"")
    grader.refresh_from_db()
    assert grader.deleted_at is not None
    assert grader.status == "inactive"
    assert not GraderSecret.objects.exists()
    assert owner.get(path).status_code == 404
    assert owner.delete(path).status_code == 404
    assert owner.patch(path, {"name": "x"}).status_code == 404
    assert owner.post(f"{path}/rotate-secret").status_code == 404
    assert owner.post(f"{path}/verify").status_code == 404


def test_deleting_is_refused_when_something_objects(owner, grader, path):
    def object_(sender, grader, **_):
        raise Conflict("A task's panel names it.", code="in_use")

    grader_retiring.connect(object_)
    try:
        answer = owner.delete(path)
    finally:
        grader_retiring.disconnect(object_)
    assert (answer.status_code, answer.json()["code"]) == (409, "in_use")
    grader.refresh_from_db()
    assert (grader.deleted_at, grader.status) == (None, "active")
    assert GraderSecret.objects.count() == 1


def test_a_body_with_a_delete_is_refused(owner, path):
    assert owner.delete(path, body={"force": True}).status_code == 400
