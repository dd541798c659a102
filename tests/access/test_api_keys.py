"""`/api-keys`: creating, limiting, rotating and revoking; and no key exceeds the rights of its creator."""

from datetime import timedelta

import pytest
from django.utils import timezone

from autotune.access.keys import tokens
from autotune.access.models import ApiKey, Membership, Role
from tests.conftest import Api
from tests.factories import ApiKeyFactory, OrganizationFactory

BODY = {"name": "trainer", "role": "training_operator"}
DAY = timedelta(days=1)


@pytest.fixture
def boss(api_for):
    return api_for(role="organization_admin")


@pytest.fixture
def operator(api_for, boss):
    return api_for(role="training_operator", organization=boss.organization)


def role_of(name):
    return Role.objects.get(organization=None, name=name)


def code(answer):
    return answer.status_code, answer.json()["code"]


def fields(answer):
    return [(error["pointer"], error["code"]) for error in answer.json()["errors"]]


# --- making ---------------------------------------------------------------------------------------------------------


def test_a_new_key_is_shown_once_and_works(boss):
    answer = boss.post("/api-keys", {**BODY, "networks": ["127.0.0.0/8", "127.0.0.1", "2001:db8::/32"]})
    assert answer.status_code == 201
    key, secret = answer.json()["apiKey"], answer.json()["secret"]
    assert tokens.KEY.fullmatch(secret)
    assert secret.startswith(key["prefix"] + "_")
    assert secret.endswith(key["lastFour"])
    assert (key["role"], key["kind"], key["lastUsedAt"], key["revokedAt"]) == ("training_operator", "live", None, None)
    assert key["networks"] == ["127.0.0.0/8", "127.0.0.1/32", "2001:db8::/32"]
    assert Api(secret).get("/tasks").status_code == 200
    for shown in (boss.get(f"/api-keys/{key['id']}"), boss.get("/api-keys")):
        assert shown.status_code == 200
        assert secret not in shown.content.decode()
        assert secret.split("_")[3][:43] not in shown.content.decode()


def test_the_same_request_with_a_key_answers_the_first_without_the_secret(boss):
    first = boss.post("/api-keys", BODY, idempotency_key="once")
    again = boss.post("/api-keys", BODY, idempotency_key="once")
    assert again.json()["apiKey"]["id"] == first.json()["apiKey"]["id"]
    assert (again.json()["secret"], again["Idempotency-Replayed"]) == (None, "true")
    assert ApiKey.objects.filter(name="trainer").count() == 1


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"role": "nobody"}, ("/role", "unknown_role")),
        ({"networks": ["10.0.0.1/8"]}, ("/networks/0", "invalid_format")),
        ({"networks": ["10.0.0.0/8", "everywhere"]}, ("/networks/1", "invalid_format")),
        ({"networks": ["::ffff:10.0.0.0/104"]}, ("/networks/0", "invalid_format")),
        ({"networks": ["fe80::%1/64"]}, ("/networks/0", "invalid_format")),
        ({"expiresAt": "2001-01-01T00:00:00Z"}, ("/expiresAt", "out_of_range")),
        ({"expiresAt": "soon"}, ("/expiresAt", "invalid_date")),
        ({"name": "two\nlines"}, ("/name", "invalid_format")),
        ({"name": " "}, ("/name", "invalid_format")),
        ({"kind": "root"}, ("/kind", "invalid_choice")),
        ({"user": "somebody"}, ("/user", "unknown_field")),
        ({"organizationId": "org_00000000000000000000000000"}, ("/organizationId", "unknown_field")),
    ],
)
def test_an_invalid_field_is_named_and_no_key_is_created(boss, change, expected):
    before = ApiKey.objects.count()
    answer = boss.post("/api-keys", {**BODY, **change})
    assert (answer.status_code, fields(answer)) == (400, [expected])
    assert ApiKey.objects.count() == before


def test_a_role_of_another_organization_is_not_found(boss):
    foreign = Role.objects.create(organization=OrganizationFactory(), name="theirs", permissions=[])
    answer = boss.post("/api-keys", {**BODY, "role": f"role_{_suffix(foreign)}"})
    assert (answer.status_code, fields(answer)) == (404, [("/role", "not_found")])
    assert code(boss.post("/api-keys", {**BODY, "role": "theirs"})) == (400, "invalid_request")


def _suffix(role):
    from autotune.core import ids

    return ids.encode("role", role.pk).removeprefix("role_")


# --- no higher than its maker ---------------------------------------------------------------------------------------


def test_no_key_has_more_than_its_maker(operator, boss, api_for):
    for role in ("organization_admin", "admin", "grader_owner", "reviewer"):
        assert code(operator.post("/api-keys", {**BODY, "role": role})) == (403, "beyond_own_role"), role
    assert operator.post("/api-keys", BODY).status_code == 201
    assert code(boss.post("/api-keys", {**BODY, "role": "admin"})) == (403, "beyond_own_role")
    assert ApiKey.objects.filter(user=operator.user).count() == 2


def test_a_restricted_key_of_an_admin_creates_only_restricted_keys(boss):
    weak = Api(boss.post("/api-keys", {**BODY, "role": "reviewer"}).json()["secret"])
    assert code(weak.post("/api-keys", {**BODY, "role": "organization_admin"})) == (403, "beyond_own_role")
    assert code(weak.post("/api-keys", BODY)) == (403, "beyond_own_role")
    assert weak.post("/api-keys", {**BODY, "role": "reviewer"}).status_code == 201


def test_a_restricted_key_cannot_rotate_or_unbind_a_stronger_key_of_the_same_person(boss):
    weak = Api(boss.post("/api-keys", {**BODY, "role": "reviewer"}).json()["secret"])
    mighty = f"/api-keys/{boss.api_key.public_id}"
    assert weak.get(mighty).status_code == 200
    assert code(weak.post(f"{mighty}/rotate")) == (403, "beyond_own_role")
    assert code(weak.patch(mighty, {"networks": []})) == (403, "beyond_own_role")
    assert ApiKey.objects.filter(user=boss.user).count() == 2


def test_nobody_rotates_the_key_of_another_person(boss, operator):
    answer = boss.post(f"/api-keys/{operator.api_key.public_id}/rotate")
    assert code(answer) == (403, "forbidden")
    assert operator.get("/tasks").status_code == 200


def test_a_test_key_cannot_create_or_rotate_a_live_key(boss):
    trial = Api(boss.post("/api-keys", {**BODY, "role": "organization_admin", "kind": "test"}).json()["secret"])
    assert code(trial.post("/api-keys", {**BODY, "kind": "live"})) == (403, "beyond_own_key")
    assert code(trial.post(f"/api-keys/{boss.api_key.public_id}/rotate")) == (403, "beyond_own_key")
    new_key = trial.post("/api-keys", BODY).json()
    assert new_key["apiKey"]["kind"] == "test"
    assert new_key["secret"].startswith("at_test_")


def test_an_expiring_or_bound_key_creates_no_key_with_wider_limits(boss):
    end = (timezone.now() + DAY).isoformat()
    bounds = {"expiresAt": end, "networks": ["127.0.0.0/8"]}
    bound = Api(boss.post("/api-keys", {**BODY, **bounds}).json()["secret"])
    later = (timezone.now() + 2 * DAY).isoformat()
    wide = [{"expiresAt": later}, {"networks": []}, {"networks": ["126.0.0.0/7"]}, {"networks": ["127.0.0.1", "::/0"]}]
    for reach in wide:
        assert code(bound.post("/api-keys", {**BODY, **reach})) == (403, "beyond_own_key"), reach
    own = f"/api-keys/{ApiKey.objects.latest('id').public_id}"
    assert code(bound.patch(own, {"networks": None})) == (403, "beyond_own_key")
    inherits = bound.post("/api-keys", {**BODY, "networks": None}).json()["apiKey"]
    assert inherits["networks"] == ["127.0.0.0/8"]
    assert inherits["expiresAt"] == bound.get(own).json()["apiKey"]["expiresAt"]
    assert bound.post("/api-keys", {**BODY, "networks": ["127.1.0.0/16"]}).status_code == 201


def test_a_key_loses_what_its_person_loses_at_the_next_request(boss, operator):
    assert operator.get("/tasks").status_code == 200
    assert operator.post("/webhooks", {}).status_code == 400
    Membership.objects.filter(user=operator.user).update(role=role_of("reviewer"))
    assert operator.get("/tasks").status_code == 200
    assert operator.post("/webhooks", {}).status_code == 403
    Membership.objects.filter(user=operator.user).update(role=role_of("organization_admin"))
    assert operator.get("/members").status_code == 403  # the key's own role is the other bound


# --- networks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("networks", "address", "works"),
    [
        (["192.0.2.0/24"], "192.0.2.77", True),
        (["192.0.2.0/24"], "::ffff:192.0.2.77", True),
        (["192.0.2.0/24"], "192.0.3.1", False),
        (["192.0.2.0/24"], "2001:db8::1", False),
        (["192.0.2.0/24"], "", False),
        (["192.0.2.0/24", "2001:db8::/32"], "2001:db8::1", True),
        (["2001:db8::/32"], "2001:db9::1", False),
        ([], "203.0.113.9", True),
    ],
)
def test_a_bound_key_works_only_from_its_networks(db, networks, address, works):
    key = ApiKeyFactory(networks=networks)
    assert (tokens.find(key.text, address) is not None) is works


def test_from_another_network_it_is_refused_like_an_invalid_key(boss):
    new_key = boss.post("/api-keys", {**BODY, "networks": ["192.0.2.0/24"]}).json()
    bound, wrong = Api(new_key["secret"]), Api("at_live_" + "0" * 26 + "_" + "a" * 49)
    refused = [api.get("/tasks").json() for api in (bound, wrong)]
    assert refused[0]["status"] == 401
    assert {**refused[0], "requestId": ""} == {**refused[1], "requestId": ""}
    sent_by_itself = bound.get("/tasks", x_forwarded_for="192.0.2.1")
    assert sent_by_itself.status_code == 401
    assert ApiKey.objects.get(name="trainer").last_used_at is None


# --- changing, rotating, revoking -----------------------------------------------------------------------------------


def test_a_key_is_renamed_and_bound(boss):
    new_key = boss.post("/api-keys", BODY).json()
    path = f"/api-keys/{new_key['apiKey']['id']}"
    changed = boss.patch(path, {"name": "night run", "networks": ["10.0.0.0/8"]}).json()["apiKey"]
    assert (changed["name"], changed["networks"]) == ("night run", ["10.0.0.0/8"])
    assert Api(new_key["secret"]).get("/tasks").status_code == 401
    assert boss.patch(path, {"networks": None}).json()["apiKey"]["networks"] == []
    assert Api(new_key["secret"]).get("/tasks").status_code == 200
    for member in ("role", "expiresAt", "kind"):
        assert boss.patch(path, {member: "admin"}).status_code == 400


def test_rotation_creates_a_new_key_and_keeps_the_old_one_for_a_grace_period(boss):
    end = timezone.now() + 9 * DAY
    options = {"networks": ["127.0.0.0/8"], "expiresAt": end.isoformat(), "kind": "test"}
    old = boss.post("/api-keys", {**BODY, **options}).json()
    path = f"/api-keys/{old['apiKey']['id']}"
    rotation = boss.post(f"{path}/rotate", {"graceHours": 2})
    assert rotation.status_code == 201
    new = rotation.json()
    same = ("name", "kind", "role", "networks", "expiresAt", "createdBy")
    assert [new["apiKey"][name] for name in same] == [old["apiKey"][name] for name in same]
    left = boss.get(path).json()["apiKey"]
    assert left["replacedBy"] == new["apiKey"]["id"]
    grace = ApiKey.objects.get(name="trainer", replaced_by__isnull=False).expires_at - timezone.now()
    assert timedelta(hours=1, minutes=55) < grace < timedelta(hours=2)
    assert {Api(key["secret"]).get("/tasks").status_code for key in (old, new)} == {200}
    assert code(boss.post(f"{path}/rotate")) == (409, "rotation_in_progress")


def test_without_a_grace_period_the_old_key_ends_at_once_even_if_it_rotates_itself(boss):
    old = boss.post("/api-keys", {**BODY, "role": "training_operator"}).json()
    itself = Api(old["secret"])
    new = itself.post(f"/api-keys/{old['apiKey']['id']}/rotate", {"graceHours": 0}).json()
    assert itself.get("/tasks").status_code == 401
    assert Api(new["secret"]).get("/tasks").status_code == 200
    assert code(boss.post(f"/api-keys/{old['apiKey']['id']}/rotate")) == (409, "key_ended")


def test_rotation_does_not_extend_the_expiry(boss):
    end = (timezone.now() + timedelta(hours=1)).isoformat()
    old = boss.post("/api-keys", {**BODY, "expiresAt": end}).json()["apiKey"]
    new = boss.post(f"/api-keys/{old['id']}/rotate").json()["apiKey"]
    assert new["expiresAt"] == old["expiresAt"] == boss.get(f"/api-keys/{old['id']}").json()["apiKey"]["expiresAt"]


@pytest.mark.parametrize("how", ["DELETE", "POST"])
def test_a_revoked_key_stops_at_once_and_stays_listed(boss, how):
    new_key = boss.post("/api-keys", BODY).json()
    path = f"/api-keys/{new_key['apiKey']['id']}"
    for _ in range(2):
        answer = boss.delete(path) if how == "DELETE" else boss.post(f"{path}/revoke")
        assert answer.status_code == (204 if how == "DELETE" else 200)
    assert Api(new_key["secret"]).get("/tasks").status_code == 401
    assert code(boss.patch(path, {"name": "x"})) == (409, "key_ended")
    listed = [key["id"] for key in boss.get("/api-keys?status=ended").json()["apiKeys"]]
    assert listed == [new_key["apiKey"]["id"]]
    assert [key["id"] for key in boss.get("/api-keys?status=usable").json()["apiKeys"]] == [boss.api_key.public_id]


def test_an_admin_revokes_keys_of_members_but_not_stronger_ones(operating, api_for):
    boss = api_for(role="organization_admin", organization=operating)
    operator = api_for(role="training_operator", organization=operating)
    above = api_for(role="admin", organization=operating)
    assert boss.delete(f"/api-keys/{operator.api_key.public_id}").status_code == 204
    assert operator.get("/tasks").status_code == 401
    assert code(boss.delete(f"/api-keys/{above.api_key.public_id}")) == (403, "beyond_own_role")
    assert above.get("/tasks").status_code == 200


def test_own_keys_are_those_of_the_person_in_this_organization(operator, boss, api_for):
    elsewhere = api_for(role="training_operator", user=operator.user)
    assert [key["id"] for key in operator.get("/api-keys").json()["apiKeys"]] == [operator.api_key.public_id]
    for foreign in (elsewhere.api_key, boss.api_key):
        for method, tail in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/rotate"), ("POST", "/revoke")):
            body = {"name": "x"} if method == "PATCH" else None
            assert operator.call(method, f"/api-keys/{foreign.public_id}{tail}", body).status_code == 404


def test_a_list_takes_the_same_queries_for_many_keys(boss, django_assert_max_num_queries):
    for n in range(5):
        ApiKeyFactory(organization=boss.organization, user=boss.user, name=f"key {n}")
    with django_assert_max_num_queries(12):
        assert len(boss.get("/api-keys").json()["apiKeys"]) == 6


def test_a_stranger_gets_401(db):
    for method, path in (("GET", "/api-keys"), ("POST", "/api-keys")):
        assert Api().call(method, path).status_code == 401
