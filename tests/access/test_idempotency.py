"""A POST that comes again with its `Idempotency-Key` is answered with what it was answered first."""

import json
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from autotune.access import idempotency
from autotune.access.idempotency import answers, repeats
from autotune.access.jobs import clean_up
from autotune.access.models import StoredAnswer
from graders.models import Grader, GraderSecret
from tasks.models import Task
from tests.factories import ApiKeyFactory, GraderFactory, OrganizationFactory, TaskFactory, public
from tests.scores.submitting import item, problems, rows
from tests.support.fakes import FakeGrader, serving

pytestmark = pytest.mark.django_db
ONE, BATCH = "/completions", "/completions/batch"
KEY = {"idempotency_key": "k-1"}


@pytest.fixture
def api(api_for):
    return api_for(role="organization_admin")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


def same(first, again):
    """The second answer is the first one, and says that it is repeated."""
    assert (again.status_code, again.content, again.get("Content-Type")) == (
        first.status_code, first.content, first.get("Content-Type"),
    )  # fmt: skip
    assert "Idempotency-Replayed" not in first
    assert again["Idempotency-Replayed"] == "true"
    return True


# --- repeating ------------------------------------------------------------------------------------------------------


def test_a_repeated_submission_returns_the_first_response_and_stores_nothing(api, task):
    first = api.post(ONE, item(task), **KEY)
    assert first.status_code == 202
    assert same(first, api.post(ONE, item(task), **KEY))
    assert same(first, api.post(ONE, item(task), **KEY))
    assert rows() == (1, 1)


def test_a_repeated_batch_returns_the_first_response(api, task):
    body = {"completions": [item(task), item(task)]}
    assert same(api.post(BATCH, body, **KEY), api.post(BATCH, body, **KEY))
    assert rows() == (2, 2)


def test_a_repeated_partial_batch_returns_the_first_response(api, task):
    body = {"completions": [item(task), item(task, modelId="")]}
    first = api.post(f"{BATCH}?partial=true", body, **KEY)
    assert first.status_code == 207
    assert same(first, api.post(f"{BATCH}?partial=true", body, **KEY))
    assert rows() == (1, 1)


def test_a_repeated_submission_of_an_existing_object_returns_the_first_response(api, task):
    api.post(ONE, item(task, externalId="x"))
    first = api.post(ONE, item(task, externalId="x"), **KEY)
    assert first.status_code == 200
    assert same(first, api.post(ONE, item(task, externalId="x"), **KEY))


def test_any_other_repeated_post_returns_the_first_response(api):
    body = {"name": "Gone", "endpoint": "https://g.example.org", "capabilities": {}}
    grader = api.post("/graders", body).json()["grader"]["id"]
    body = {"name": "T", "promptTemplate": "{{q}}", "graderId": grader}
    assert same(api.post("/tasks", body, **KEY), api.post("/tasks", body, **KEY))
    assert Task.objects.count() == 1


def test_without_a_key_each_request_is_separate(api, task):
    assert api.post(ONE, item(task)).json()["completion"]["id"] != api.post(ONE, item(task)).json()["completion"]["id"]
    assert StoredAnswer.objects.count() == 0


def test_the_repeated_answer_keeps_its_own_request_id(api, task):
    api.post(ONE, item(task), **KEY)
    assert api.post(ONE, item(task), **KEY, x_request_id="mine")["X-Request-Id"] == "mine"


# --- another request ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [ONE, f"{BATCH}?partial=true"])
def test_another_body_with_the_same_key_is_refused(api, task, path):
    bodies = [item(task), item(task, response="5")]
    if path != ONE:
        bodies = [{"completions": [body]} for body in bodies]
    first = api.post(path, bodies[0], **KEY)
    refused = api.post(path, bodies[1], **KEY)
    assert problems(refused, 422) == []
    assert refused.json()["code"] == "idempotency_key_reused"
    assert same(first, api.post(path, bodies[0], **KEY))
    assert rows() == (1, 1)


def test_another_query_is_another_request(api, task):
    body = {"completions": [item(task)]}
    api.post(BATCH, body, **KEY)
    assert api.post(f"{BATCH}?partial=true", body, **KEY).status_code == 422


def test_a_key_holds_for_one_route(api, task):
    api.post(ONE, item(task), **KEY)
    assert api.post(BATCH, {"completions": [item(task)]}, **KEY).status_code == 202
    assert rows() == (2, 2)


def test_a_key_of_another_organization_is_another_key(api, task, api_for):
    other = api_for(role="organization_admin")
    mine = api.post(ONE, item(task), **KEY)
    theirs = other.post(ONE, item(TaskFactory(organization=other.organization)), **KEY)
    assert theirs.status_code == 202
    assert "Idempotency-Replayed" not in theirs
    assert other.post(ONE, item(task), **KEY).status_code == 422
    assert same(mine, api.post(ONE, item(task), **KEY))


def test_a_role_limited_to_own_objects_does_not_get_a_colleagues_stored_response(api_for):
    owner = api_for(role="grader_owner")
    grader = GraderFactory(organization=owner.organization, created_by=owner.user)
    path = f"/graders/{public('grader', grader)}/rotate-secret"
    assert owner.post(path, {"force": True}, **KEY).status_code == 200
    colleague = api_for(role="grader_owner", organization=owner.organization)
    assert colleague.post(path, {"force": True}, **KEY).status_code == 404
    assert owner.post(path, {"force": True}, **KEY)["Idempotency-Replayed"] == "true"


def test_two_keys_of_one_organization_share_its_idempotency_keys(api, task, api_for):
    colleague = api_for(role="training_operator", organization=api.organization)
    assert same(api.post(ONE, item(task), **KEY), colleague.post(ONE, item(task), **KEY))


def test_a_role_without_the_permission_gets_no_stored_response(api, task, api_for):
    api.post(ONE, item(task), **KEY)
    assert api_for(role="reviewer", organization=api.organization).post(ONE, item(task), **KEY).status_code == 403
    assert api.post(ONE, item(task), **KEY, authorization="Bearer nonsense").status_code == 401


# --- the key --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["a", "~" * 255, "with space", '"quoted"', "0" * 36], ids=lambda key: key[:10])
def test_a_key_is_any_printable_ascii(api, task, key):
    assert api.post(ONE, item(task), idempotency_key=key).status_code == 202
    assert api.post(ONE, item(task), idempotency_key=key)["Idempotency-Replayed"] == "true"


@pytest.mark.parametrize(
    "key",
    ["", " ", "x" * 256, "a\tb", "a\nb", "a\x00", "\x7f", "ä", "键"],
    ids=["empty", "space", "long", "tab", "line", "nul", "del", "latin", "wide"],
)
def test_any_other_key_is_refused_and_stores_nothing(api, task, key):
    refused = api.post(ONE, item(task), idempotency_key=key)
    assert problems(refused) == [("@Idempotency-Key", "invalid_idempotency_key")]
    assert refused.json()["code"] == "invalid_idempotency_key"
    assert rows() == (0, 0)


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_other_methods_ignore_it(api, task, method):
    body = {"description": "d"} if method == "PATCH" else None
    for _ in range(2):
        answer = api.call(method, f"/tasks/{public('task', task)}", body, idempotency_key="ä")
        assert answer.status_code in (200, 204, 404)
        assert "Idempotency-Replayed" not in answer
    assert StoredAnswer.objects.count() == 0


# --- what is stored -------------------------------------------------------------------------------------------------


def test_a_refusal_is_not_stored_and_leaves_nothing(api, task):
    assert api.post(ONE, item(task, response=...), **KEY).status_code == 400
    Task.objects.update(archived=True)
    assert api.post(ONE, item(task), **KEY).status_code == 409
    assert StoredAnswer.objects.count() == 0
    Task.objects.update(archived=False)
    assert api.post(ONE, item(task), **KEY).status_code == 202


def test_an_error_after_the_work_rolls_it_back(api, task, monkeypatch):
    monkeypatch.setattr(answers, "without_secrets", lambda secrets, body: 1 / 0)
    assert api.post(ONE, item(task), **KEY).status_code == 500
    assert rows() == (0, 0)
    assert StoredAnswer.objects.count() == 0


def test_the_answer_is_stored_encrypted_and_the_key_as_a_digest(api, task):
    first = api.post(ONE, item(task, prompt="a secret question"), **KEY)
    with connection.cursor() as cursor:
        cursor.execute("select key_digest, request_digest, answer from access_storedanswer")
        (stored,) = cursor.fetchall()
    assert not any(word in bytes(value) for value in stored for word in (b"k-1", b"secret question", b"completion"))
    assert StoredAnswer.objects.get().answer == first.content.decode()


def test_an_expired_response_counts_as_absent(api, task):
    first = api.post(ONE, item(task), **KEY)
    row = StoredAnswer.objects.get()
    kept = row.expires_at - timezone.now()
    assert abs(kept - timedelta(hours=24)) < timedelta(minutes=1)
    StoredAnswer.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    second = api.post(ONE, item(task, response="5"), **KEY)
    assert second.status_code == 202
    assert second.json()["completion"]["id"] != first.json()["completion"]["id"]
    assert same(second, api.post(ONE, item(task, response="5"), **KEY))
    assert StoredAnswer.objects.count() == 1


def test_the_clean_up_deletes_those_and_no_others(api, task, monkeypatch):
    monkeypatch.setattr(answers, "CLEANED_AT_ONCE", 2)
    for number in range(6):
        api.post(ONE, item(task), idempotency_key=f"k{number}")
    gone = StoredAnswer.objects.order_by("pk").values_list("pk", flat=True)[:5]
    StoredAnswer.objects.filter(pk__in=list(gone)).update(expires_at=timezone.now() - timedelta(seconds=1))
    clean_up()
    assert StoredAnswer.objects.count() == 1


def test_deleting_an_organization_deletes_its_stored_responses():
    organization = OrganizationFactory()
    StoredAnswer.objects.create(
        organization=organization, route="POST /x", key_digest=b"k", request_digest=b"r", status=202, answer="{}",
        expires_at=timezone.now(),
    )  # fmt: skip
    organization.delete()
    assert StoredAnswer.objects.count() == 0


def test_no_migration_is_missing():
    call_command("makemigrations", "access", check=True, dry_run=True, verbosity=0)


# --- secrets --------------------------------------------------------------------------------------------------------


def test_a_grader_is_registered_once_and_its_secret_is_null_in_the_repeated_answer(api):
    body = {"name": "G", "endpoint": "https://g.example.org", "capabilities": {}}
    first = api.post("/graders", body, **KEY)
    secret = first.json()["credentials"]["sharedSecret"]
    assert secret.startswith("atgs_")
    again = api.post("/graders", body, **KEY)
    expected = first.json()
    expected["credentials"]["sharedSecret"] = None
    assert (again.status_code, again.json(), again["Idempotency-Replayed"]) == (201, expected, "true")
    assert secret not in str(StoredAnswer.objects.get().answer)
    assert Grader.objects.count() == 1


def test_a_secret_is_rotated_once(api):
    body = {"name": "G", "endpoint": "https://g.example.org", "capabilities": {}}
    grader = api.post("/graders", body).json()["grader"]["id"]
    path = f"/graders/{grader}/rotate-secret"
    first, again = api.post(path, **KEY), api.post(path, **KEY)
    assert first.json()["credentials"]["sharedSecret"]
    assert again.json() == {"credentials": {"graderId": grader, "sharedSecret": None}}
    assert GraderSecret.objects.count() == 2


def test_a_stored_response_has_null_instead_of_any_secret():
    body = json.dumps({"a": {"b": {"secret": "s", "c": 0.1}}, "credentials": None, "é": [1]})
    paths = ("a.b.secret", "credentials.sharedSecret", "x.y", "é.z")
    assert json.loads(answers.without_secrets(paths, body)) == {
        "a": {"b": {"secret": None, "c": 0.1}}, "credentials": None, "é": [1],
    }  # fmt: skip


# --- work that waits for somebody else's server ---------------------------------------------------------------------


@pytest.fixture
def probed(api):
    """The path of a verification, and the grader that it asks."""
    with serving(FakeGrader()) as fake:
        body = {"name": "G", "endpoint": fake.url, "capabilities": {}}
        registration = api.post("/graders", body).json()
        fake.secret = registration["credentials"]["sharedSecret"]
        yield f"/graders/{registration['grader']['id']}/verify", fake


def test_a_verification_is_made_once(api, probed):
    path, fake = probed
    first = api.post(path, **KEY)
    assert (first.status_code, first.json()["verified"]) == (200, True)
    calls = len(fake.calls)
    assert same(first, api.post(path, **KEY))
    assert len(fake.calls) == calls


def test_the_key_is_in_flight_during_the_outbound_call(api, probed, monkeypatch):
    path, _ = probed
    rival = []
    verify = repeats._is_success

    def meanwhile(response):
        if not rival:
            rival.append(None)
            rival[0] = api.post(path, **KEY)
        return verify(response)

    monkeypatch.setattr(repeats, "_is_success", meanwhile)
    first = api.post(path, **KEY)
    assert first.status_code == 200
    assert (rival[0].status_code, rival[0].json()["code"]) == (409, "idempotency_in_flight")
    assert int(rival[0]["Retry-After"]) == 1


def test_a_failed_verification_frees_the_key(api, probed, monkeypatch):
    path, _ = probed
    grader = Grader.objects.get()
    secrets = list(GraderSecret.objects.all())
    GraderSecret.objects.all().delete()
    assert api.post(path, **KEY).status_code == 409
    assert StoredAnswer.objects.count() == 0
    GraderSecret.objects.bulk_create(secrets)
    assert grader.secrets.count() == 1
    assert api.post(path, **KEY).status_code == 200


def test_a_reservation_left_by_a_crash_expires(api, probed):
    path, _ = probed
    api.post(path, **KEY)
    StoredAnswer.objects.update(status=0, expires_at=timezone.now() + idempotency.RESERVED)
    assert api.post(path, **KEY).status_code == 409
    StoredAnswer.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert api.post(path, **KEY).status_code == 200


def test_a_session_may_use_keys_too(client, task, api):
    client.force_login(api.user)
    for replayed in (None, "true"):
        answer = client.post(
            "/api/v1/completions",
            json.dumps(item(task)),
            content_type="application/json",
            headers={"Idempotency-Key": "s"},
        )
        assert (answer.status_code, answer.get("Idempotency-Replayed")) == (202, replayed)
    assert ApiKeyFactory._meta.model.objects.count() == 1
