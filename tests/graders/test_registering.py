"""POST /graders."""

import re

import pytest
from django.db import IntegrityError, transaction

from graders import registry
from graders.models import Grader, GraderSecret

PIN = "A" * 43 + "="  # 32 bytes
BODY = {"name": "Law", "endpoint": "https://grader.example.org/v1", "capabilities": {"maxBatchSize": 10}}


def pointers(response):
    return {error["pointer"]: error["code"] for error in response.json()["errors"]}


def test_the_answer_has_the_grader_and_its_secret_once(owner):
    answer = owner.post("/graders", {**BODY, "description": "Judges law"})
    assert answer.status_code == 201
    body = answer.json()
    assert re.fullmatch(r"atgs_[A-Za-z0-9_-]{43,}", body["credentials"]["sharedSecret"])
    assert body["credentials"]["graderId"] == body["grader"]["id"]
    grader = body["grader"]
    key_id = grader["authentication"].pop("keyId")
    assert key_id.startswith("gkey_")
    times = {name: grader.pop(name) for name in ("createdAt", "updatedAt")}
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text) for text in times.values())
    assert grader == {
        "id": body["credentials"]["graderId"],
        "name": "Law",
        "description": "Judges law",
        "kind": "endpoint",
        "endpoint": "https://grader.example.org/v1",
        "rubric": None,
        "owner": f"org_{grader['owner'][4:]}",
        "createdBy": f"user_{grader['createdBy'][5:]}",
        "capabilities": {
            "maxBatchSize": 10,
            "supportsDimensions": False,
            "supportsExplanations": False,
            "supportsAsync": False,
            "avgLatencyMs": 1000,
            "domains": [],
        },
        "authentication": {"scheme": "hmac-sha256", "previousKeyId": None, "previousValidUntil": None},
        "status": "inactive",
        "visibility": "private",
        "version": None,
        "limits": {"ratePerMinute": None, "maxConcurrency": 16, "timeoutMs": 4000, "batchTimeoutMs": 30000},
        "pins": [],
        "redaction": {"reasoning": False, "dimensions": False},
        "verifiedAt": None,
    }
    again = owner.get(f"/graders/{grader['id']}")
    assert again.status_code == 200
    assert body["credentials"]["sharedSecret"] not in again.content.decode()


def test_the_secret_is_ciphertext_at_rest(owner, django_assert_num_queries):
    secret = owner.post("/graders", BODY).json()["credentials"]["sharedSecret"]
    row = GraderSecret.objects.get()
    stored = bytes(row.__dict__["secret"])
    assert secret.encode() not in stored
    assert row.secret == secret


def test_every_member_is_stored(owner):
    capabilities = {
        "maxBatchSize": 1000,
        "supportsDimensions": True,
        "supportsExplanations": True,
        "supportsAsync": True,
        "avgLatencyMs": 80,
        "domains": ["code", "право"],
    }
    limits = {"ratePerMinute": 600, "maxConcurrency": 1024, "timeoutMs": 100, "batchTimeoutMs": 120000}
    body = {**BODY, "capabilities": capabilities, "limits": limits, "visibility": "listed"}
    grader = owner.post("/graders", body).json()["grader"]
    assert (grader["capabilities"], grader["limits"], grader["visibility"]) == (capabilities, limits, "listed")


def test_null_for_an_optional_member_counts_as_absent(owner):
    body = {**BODY, "description": None, "limits": None, "visibility": None}
    body["capabilities"] = {"maxBatchSize": None, "domains": None}
    grader = owner.post("/graders", body).json()["grader"]
    assert (grader["description"], grader["visibility"], grader["limits"]["maxConcurrency"]) == (None, "private", 16)
    assert (grader["capabilities"]["maxBatchSize"], grader["capabilities"]["domains"]) == (1, [])


def test_an_endpoint_is_normalized(owner):
    grader = owner.post("/graders", {**BODY, "endpoint": "HTTPS://Grader.Example.org:443/v1/"}).json()["grader"]
    assert grader["endpoint"] == "https://grader.example.org/v1"


@pytest.mark.parametrize(
    ("change", "pointer", "code"),
    [
        ({"name": None}, "/name", "wrong_type"),
        ({"name": ""}, "/name", "invalid_length"),
        ({"name": "   "}, "/name", "blank"),
        ({"name": "x" * 201}, "/name", "invalid_length"),
        ({"name": "a\nb"}, "/name", "invalid_text"),
        ({"name": "a\x00b"}, "/name", "invalid_text"),
        ({"name": "a\ud800"}, "/name", "invalid_text"),
        ({"name": 1}, "/name", "wrong_type"),
        ({"description": "x" * 10_001}, "/description", "invalid_length"),
        ({"description": True}, "/description", "wrong_type"),
        ({"endpoint": None}, "/endpoint", "wrong_type"),
        ({"endpoint": "http://grader.example.org"}, "/endpoint", "scheme_refused"),
        ({"endpoint": "ftp://grader.example.org"}, "/endpoint", "scheme_refused"),
        ({"endpoint": "https://127.0.0.1"}, "/endpoint", "address_refused"),
        ({"endpoint": "https://[::1]/"}, "/endpoint", "address_refused"),
        ({"endpoint": "https://localhost"}, "/endpoint", "address_refused"),
        ({"endpoint": "https://169.254.169.254/latest"}, "/endpoint", "address_refused"),
        ({"endpoint": "https://a:b@grader.example.org"}, "/endpoint", "userinfo_refused"),
        ({"endpoint": "https://grader.example.org?key=1"}, "/endpoint", "query_refused"),
        ({"endpoint": "https://grader.example.org:6379"}, "/endpoint", "port_refused"),
        ({"endpoint": "https://grader.example.org/score"}, "/endpoint", "endpoint_path_refused"),
        ({"endpoint": "https://grader.example.org/" + "x" * 2048}, "/endpoint", "url_too_long"),
        ({"capabilities": None}, "/capabilities", "wrong_type"),
        ({"capabilities": []}, "/capabilities", "wrong_type"),
        ({"capabilities": {"maxBatchSize": 0}}, "/capabilities/maxBatchSize", "out_of_range"),
        ({"capabilities": {"maxBatchSize": 1001}}, "/capabilities/maxBatchSize", "out_of_range"),
        ({"capabilities": {"maxBatchSize": True}}, "/capabilities/maxBatchSize", "wrong_type"),
        ({"capabilities": {"maxBatchSize": "10"}}, "/capabilities/maxBatchSize", "wrong_type"),
        ({"capabilities": {"avgLatencyMs": -1}}, "/capabilities/avgLatencyMs", "out_of_range"),
        ({"capabilities": {"domains": "code"}}, "/capabilities/domains", "wrong_type"),
        ({"capabilities": {"domains": [""]}}, "/capabilities/domains/0", "invalid_length"),
        ({"capabilities": {"domains": ["ok", " "]}}, "/capabilities/domains/1", "blank"),
        ({"capabilities": {"domains": ["x"] * 33}}, "/capabilities/domains", "invalid_length"),
        ({"capabilities": {"speed": 1}}, "/capabilities/speed", "unknown_field"),
        ({"limits": {"ratePerMinute": 0}}, "/limits/ratePerMinute", "out_of_range"),
        ({"limits": {"ratePerMinute": 1e12}}, "/limits/ratePerMinute", None),
        ({"limits": {"maxConcurrency": 1025}}, "/limits/maxConcurrency", "out_of_range"),
        ({"limits": {"timeoutMs": 99}}, "/limits/timeoutMs", "out_of_range"),
        ({"limits": {"timeoutMs": 30001}}, "/limits/timeoutMs", "out_of_range"),
        ({"limits": {"timeoutMs": "fast"}}, "/limits/timeoutMs", "wrong_type"),
        ({"limits": {"batchTimeoutMs": 120001}}, "/limits/batchTimeoutMs", "out_of_range"),
        ({"visibility": "public"}, "/visibility", "invalid_choice"),
        ({"rubric": {}}, "/rubric", "unknown_field"),
        ({"pins": "x" * 44}, "/pins", "wrong_type"),
        ({"pins": [PIN] * 9}, "/pins", "invalid_length"),
        ({"pins": [PIN, "x" * 43]}, "/pins/1", "invalid_length"),
        ({"pins": ["-----BEGIN PUBLIC KEY-----" + "A" * 1_000_000]}, "/pins/0", "invalid_length"),
        ({"pins": [PIN[:-1] + "\n"]}, "/pins/0", "invalid_pin"),
        ({"pins": ["!" * 43 + "="]}, "/pins/0", "invalid_pin"),
        ({"pins": ["A" * 44]}, "/pins/0", "invalid_pin"),
        ({"pins": ["A" * 42 + "B="]}, "/pins/0", "invalid_pin"),
        ({"pins": ["sha256//" + "A" * 36]}, "/pins/0", "invalid_pin"),
        ({"redaction": {"reasoning": "true"}}, "/redaction/reasoning", "wrong_type"),
        ({"redaction": {"scores": True}}, "/redaction/scores", "unknown_field"),
        ({"owner": "org_x"}, "/owner", "unknown_field"),
        ({"status": "active"}, "/status", "unknown_field"),
        ({"organization": 1}, "/organization", "unknown_field"),
    ],
)
def test_a_refusal_names_its_member(owner, change, pointer, code):
    answer = owner.post("/graders", {**BODY, **change})
    assert answer.status_code == 400, answer.content
    errors = pointers(answer)
    assert list(errors) == [pointer]
    assert code in (None, errors[pointer])
    assert not Grader.objects.exists()


@pytest.mark.parametrize("member", ["name", "endpoint", "capabilities"])
def test_a_missing_required_member_is_named(owner, member):
    answer = owner.post("/graders", {name: value for name, value in BODY.items() if name != member})
    assert (answer.status_code, pointers(answer)) == (400, {f"/{member}": "missing_field"})


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "{{7*7}}", "=1+1", "\u202egnp.exe", "👩‍⚖️", "a" * 200])
def test_unusual_names_are_returned_unchanged(owner, name):
    assert owner.post("/graders", {**BODY, "name": name}).json()["grader"]["name"] == name


def test_the_same_name_twice_is_a_conflict(owner):
    assert owner.post("/graders", BODY).status_code == 201
    answer = owner.post("/graders", BODY)
    assert (answer.status_code, answer.json()["code"]) == (409, "name_taken")
    assert (Grader.objects.count(), GraderSecret.objects.count()) == (1, 1)


def test_another_organization_may_use_the_name(owner, api_for):
    owner.post("/graders", BODY)
    assert api_for(role="grader_owner").post("/graders", BODY).status_code == 201


def test_the_name_of_a_deleted_grader_is_free(owner):
    first = owner.post("/graders", BODY).json()["grader"]["id"]
    assert owner.delete(f"/graders/{first}").status_code == 204
    assert owner.post("/graders", BODY).status_code == 201


def test_only_a_taken_name_is_a_name_conflict(owner, monkeypatch):
    grader = Grader(organization_id=owner.organization.pk, created_by_id=owner.user.pk, name="x", status="nonsense")
    with pytest.raises(IntegrityError), transaction.atomic():
        registry._store(grader)


def test_without_a_key_it_is_401(owner):
    owner.key = None
    assert owner.post("/graders", BODY).status_code == 401


@pytest.mark.parametrize("role", ["training_operator", "reviewer"])
def test_a_role_that_may_not_create_is_403(colleague, role):
    assert colleague(role).post("/graders", BODY).status_code == 403


def test_a_grader_cannot_be_made_for_another_organization(owner, api_for):
    stranger = api_for(role="admin")  # only the operating organization has `all`
    answer = stranger.post("/graders", BODY).json()["grader"]
    assert answer["owner"] == f"org_{answer['owner'][4:]}"
    assert Grader.objects.get().organization_id == stranger.organization.pk
