"""`/reward-endpoints`: making, changing, rotating, and who may."""

import pytest

from autotune.access.models import Role
from scores.live import endpoints
from scores.models import RewardEndpoint
from tests.conftest import Api
from tests.factories import ApiKeyFactory, RewardEndpointFactory, TaskFactory, public

NEVER = "rwd_00000000000000000000000000"


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


@pytest.fixture
def body(task):
    return {"taskId": public("task", task), "protocol": "openrlhf", "unscored": "hold"}


def codes(answer):
    return [(error["pointer"], error["code"]) for error in answer.json()["errors"]]


def test_the_address_is_shown_once(api, body):
    answer = api.post("/reward-endpoints", body)
    assert answer.status_code == 201
    row, url = answer.json()["rewardEndpoint"], answer.json()["url"]
    address, _, token = url.rpartition("/")
    assert address == "http://localhost:8000/api/v1/rewards/openrlhf"
    assert len(token) == 43
    assert (row["deadlineMs"], row["unscored"], row["neutralValue"]) == (170_000, "hold", None)
    assert (row["enabled"], row["modelId"]) == (True, "live")
    assert row["counts"] == {"answered": 0, "unscored": 0, "withoutText": 0}
    stored = RewardEndpoint.objects.get()
    assert bytes(stored.token_digest) == endpoints.digest_of(token)
    for shown in (api.get(f"/reward-endpoints/{row['id']}"), api.get("/reward-endpoints")):
        assert shown.status_code == 200
        assert token not in shown.content.decode()


def test_an_address_has_no_comma_and_is_no_file(api, body):
    """OpenRLHF splits its flag at commas, and loads what ends in `.py`."""
    for _ in range(20):
        url = api.post("/reward-endpoints", body).json()["url"]
        assert "," not in url
        assert not url.endswith(".py")


def test_a_repeated_request_does_not_show_the_address_again(api, body):
    first = api.call("POST", "/reward-endpoints", body, idempotency_key="k")
    again = api.call("POST", "/reward-endpoints", body, idempotency_key="k")
    assert again.json() == {**first.json(), "url": None}
    assert RewardEndpoint.objects.count() == 1


@pytest.mark.parametrize(
    ("protocol", "deadline"), [("openrlhf", 170_000), ("slime", 110_000), ("verify", 110_000), ("foundry", 300_000)]
)
def test_the_default_deadline_is_below_the_clients_timeout(api, body, settings, protocol, deadline):
    settings.FOUNDRY_GRADER = True
    answer = api.post("/reward-endpoints", {**body, "protocol": protocol})
    assert answer.json()["rewardEndpoint"]["deadlineMs"] == deadline


def test_foundry_is_available_only_behind_its_flag(api, body):
    refused = api.post("/reward-endpoints", {**body, "protocol": "foundry"})
    assert (refused.status_code, codes(refused)) == (400, [("/protocol", "invalid_choice")])


@pytest.mark.parametrize(
    ("change", "pointer", "code"),
    [
        ({"protocol": "pickle"}, "/protocol", "invalid_choice"),
        ({"unscored": "zero"}, "/unscored", "invalid_choice"),
        ({"unscored": "neutral"}, "/neutralValue", "missing_field"),
        ({"withoutText": "zero"}, "/withoutText", "invalid_choice"),
        ({"withoutText": None}, "/withoutText", "wrong_type"),
        ({"neutralValue": 1.5}, "/neutralValue", "out_of_range"),
        ({"neutralValue": "0"}, "/neutralValue", "wrong_type"),
        ({"deadlineMs": 0}, "/deadlineMs", "out_of_range"),
        ({"deadlineMs": 175_001}, "/deadlineMs", "out_of_range"),
        ({"deadlineMs": 115_001, "protocol": "slime"}, "/deadlineMs", "out_of_range"),
        ({"modelId": " "}, "/modelId", "invalid_format"),
        ({"token": "mine"}, "/token", "unknown_field"),
        ({"taskId": "task_x"}, "/taskId", "malformed_id"),
    ],
)
def test_invalid_endpoints_are_refused(api, body, change, pointer, code):
    refused = api.post("/reward-endpoints", {**body, **change})
    assert (refused.status_code, codes(refused)) == (400, [(pointer, code)])
    assert RewardEndpoint.objects.count() == 0


def test_verify_has_a_neutral_value_of_its_own(api, body):
    answer = api.post("/reward-endpoints", {**body, "protocol": "verify", "unscored": "neutral"})
    assert (answer.status_code, answer.json()["rewardEndpoint"]["neutralValue"]) == (201, None)


def test_another_organizations_task_is_not_found(api, body):
    refused = api.post("/reward-endpoints", {**body, "taskId": public("task", TaskFactory())})
    assert (refused.status_code, codes(refused)) == (404, [("/taskId", "not_found")])


def test_an_archived_task_gets_no_endpoint(api, body, task):
    task.archived = True
    task.save(update_fields=["archived"])
    refused = api.post("/reward-endpoints", body)
    assert (refused.status_code, refused.json()["code"]) == (409, "task_archived")


def test_an_organization_has_a_limit_of_endpoints(api, body, monkeypatch):
    monkeypatch.setattr(endpoints, "MAX_ENDPOINTS", 2)
    assert [api.post("/reward-endpoints", body).status_code for _ in range(3)] == [201, 201, 409]
    assert api.last.json()["code"] == "too_many_reward_endpoints"


def test_a_change_keeps_what_it_does_not_name(api, body):
    endpoint = api.post("/reward-endpoints", {**body, "deadlineMs": 9, "modelId": "policy-1"}).json()["rewardEndpoint"]
    path = f"/reward-endpoints/{endpoint['id']}"
    changed = api.patch(path, {"unscored": "neutral", "neutralValue": 0.5, "enabled": False})
    row = changed.json()["rewardEndpoint"]
    assert changed.status_code == 200
    assert (row["unscored"], row["neutralValue"], row["enabled"]) == ("neutral", 0.5, False)
    assert (row["deadlineMs"], row["modelId"]) == (9, "policy-1")
    cleared = api.patch(path, {"deadlineMs": None, "modelId": None}).json()["rewardEndpoint"]
    assert (cleared["deadlineMs"], cleared["modelId"]) == (170_000, "live")
    refused = api.patch(path, {"neutralValue": None})
    assert (refused.status_code, codes(refused)) == (400, [("/neutralValue", "missing_field")])
    assert api.patch(path, {"taskId": body["taskId"]}).status_code == 400


def test_c4_the_policy_for_answers_without_text_is_set_and_changed(api, body):
    created = api.post("/reward-endpoints", body).json()["rewardEndpoint"]
    assert created["withoutText"] == "unscored"
    path = f"/reward-endpoints/{created['id']}"
    for policy in ("empty", "strict", "unscored"):
        assert api.patch(path, {"withoutText": policy}).json()["rewardEndpoint"]["withoutText"] == policy
    assert api.patch(path, {"enabled": False}).json()["rewardEndpoint"]["withoutText"] == "unscored"
    strict = api.post("/reward-endpoints", {**body, "withoutText": "strict"}).json()["rewardEndpoint"]
    assert strict["withoutText"] == "strict"


def test_rotating_creates_another_address(api, body, client):
    registration = api.post("/reward-endpoints", body).json()
    rotated = api.post(f"/reward-endpoints/{registration['rewardEndpoint']['id']}/rotate")
    assert rotated.status_code == 200
    assert rotated.json()["url"] != registration["url"]

    def answer(url):
        return client.post(url.removeprefix("http://localhost:8000"), {"query": [], "prompts": []}, "application/json")

    assert answer(registration["url"]).status_code == 404
    assert answer(rotated.json()["url"]).status_code == 200


def test_a_deleted_endpoint_is_404(api, body):
    path = f"/reward-endpoints/{api.post('/reward-endpoints', body).json()['rewardEndpoint']['id']}"
    assert api.delete(path).status_code == 204
    assert api.get(path).status_code == 404
    assert RewardEndpoint.objects.count() == 0


def test_the_list_is_filtered_and_paged(api, body, task):
    other = TaskFactory(organization=api.organization)
    rows = [RewardEndpointFactory(task=task, created_by=api.user) for _ in range(3)]
    slime = RewardEndpointFactory(task=other, created_by=api.user, protocol="slime")
    RewardEndpointFactory()

    def listed(query=""):
        return [endpoint["id"] for endpoint in api.get(f"/reward-endpoints{query}").json()["rewardEndpoints"]]

    assert listed() == [row.public_id for row in (slime, *reversed(rows))]
    assert listed(f"?taskId={public('task', other)}") == listed("?protocol=slime") == [slime.public_id]
    first = api.get("/reward-endpoints?limit=2").json()
    assert first["pagination"]["total"] == 4
    assert listed(f"?limit=2&cursor={first['pagination']['nextCursor']}") == [rows[1].public_id, rows[0].public_id]


def test_a_test_key_creates_no_address(body, task):
    test = Api(ApiKeyFactory(organization=task.organization, kind="test").text)
    assert test.post("/reward-endpoints", body).status_code == 403
    row = RewardEndpointFactory(task=task)
    assert test.post(f"/reward-endpoints/{row.public_id}/rotate").status_code == 403


def test_a_role_without_live_rewards_creates_no_address(body, task):
    actions = ["create", "read", "update", "delete"]
    grants = [
        {"resource": "reward_endpoints", "actions": actions, "scope": "organization"},
        {"resource": "tasks", "actions": ["read"], "scope": "organization"},
    ]
    role = Role.objects.create(organization=task.organization, name="endpoints only", permissions=grants)
    api = Api(ApiKeyFactory(organization=task.organization, role=role).text)
    assert api.post("/reward-endpoints", body).status_code == 403
    row = RewardEndpointFactory(task=task)
    assert api.post(f"/reward-endpoints/{row.public_id}/rotate").status_code == 403
    assert api.patch(f"/reward-endpoints/{row.public_id}", {"enabled": False}).status_code == 200


def test_a_role_that_cannot_read_the_task_creates_no_new_address(task):
    grants = [
        {"resource": "reward_endpoints", "actions": ["read", "update"], "scope": "organization"},
        {"resource": "rewards", "actions": ["create"], "scope": "organization"},
    ]
    role = Role.objects.create(organization=task.organization, name="without tasks", permissions=grants)
    api = Api(ApiKeyFactory(organization=task.organization, role=role).text)
    row = RewardEndpointFactory(task=task)
    answer = api.post(f"/reward-endpoints/{row.public_id}/rotate")
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert answer.json()["detail"] == "Your role may not read the task of this reward endpoint."
    token_digest = row.token_digest
    row.refresh_from_db()
    assert bytes(row.token_digest) == bytes(token_digest)


@pytest.mark.parametrize("path", ["", "/rotate"])
def test_a_stranger_finds_nothing(api_for, path):
    row = RewardEndpointFactory()
    api = api_for(role="organization_admin")
    method = "POST" if path else "GET"
    assert api.call(method, f"/reward-endpoints/{row.public_id}{path}").status_code == 404
    assert api.call(method, f"/reward-endpoints/{NEVER}{path}").status_code == 404
