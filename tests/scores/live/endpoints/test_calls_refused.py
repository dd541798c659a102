"""Calls of trainers that are refused: by whom they come, for whom the endpoint acts, and what they send."""

import json

import pytest

from autotune.access.models import Membership
from tasks.models import Completion
from tests.factories import TaskFactory
from tests.scores.live.endpoints.conftest import whole

SLIME = {"prompt": "2+2?", "response": "4", "label": "4"}


# --- who ------------------------------------------------------------------------------------------------------------


def test_the_token_is_the_only_credential(endpoint_of, call):
    endpoint = endpoint_of()
    assert call(endpoint, whole("a"), authorization="Bearer nonsense").status == 200


def test_an_unknown_token_is_not_found(endpoint_of, call):
    endpoint = endpoint_of()
    for wrong in ({"token": endpoint.token + "x"}, {"token": "é"}, {"protocol": "slime"}, {"protocol": "pickle"}):
        answer = call(endpoint, whole("a"), **wrong)
        assert (answer.status, answer.json["code"]) == (404, "not_found")
        assert answer.headers["Content-Type"] == "application/problem+json"
    assert Completion.objects.count() == 0


def test_guessing_is_throttled_and_a_right_token_is_not(endpoint_of, call, settings):
    settings.FAILURE_RATE_PER_MINUTE = 3
    endpoint = endpoint_of()
    statuses = [call(endpoint, whole("a"), token=f"guess-{n}").status for n in range(5)]
    assert statuses == [404, 404, 404, 429, 429]
    assert int(call(endpoint, whole("a"), token="guess").headers["Retry-After"]) >= 1
    assert call(endpoint, whole("a")).status == 200


def test_a_disabled_endpoint_is_refused(endpoint_of, call):
    answer = call(endpoint_of(enabled=False), whole("a"))
    assert (answer.status, answer.json["code"]) == (403, "endpoint_disabled")


@pytest.mark.parametrize("loss", ["membership", "role", "person", "organization", "task"])
def test_an_endpoint_has_the_rights_of_its_creator(endpoint_of, call, key, live_task, loss):
    endpoint = endpoint_of()
    assert call(endpoint, whole("a")).status == 200
    membership = Membership.objects.get(user=key.user)
    if loss == "membership":
        membership.delete()
    elif loss == "role":
        membership.role = type(membership.role).objects.get(organization=None, name="reviewer")
        membership.save()
    elif loss == "person":
        key.user.is_active = False
        key.user.save()
    elif loss == "organization":
        key.organization.suspended = True
        key.organization.save()
    else:
        endpoint.task = TaskFactory()
        endpoint.save()
    answer = call(endpoint, whole("b"))
    assert (answer.status, answer.json["code"]) == (403, "forbidden")
    assert Completion.objects.count() == 1


# --- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "invalid_json"), (b"\x80\x04\x95\x10", "invalid_json"),
        (b'{"query":["a"],"prompts":["a"],"labels":[NaN]}', "invalid_json"), ({"query": ["a"]}, "missing_field"),
    ],
)  # fmt: skip
def test_a_malformed_body_is_refused(endpoint_of, call, body, code):
    answer = call(endpoint_of(), body)
    assert answer.status == 400
    assert [error["code"] for error in answer.json["errors"]] == [code]


@pytest.mark.parametrize("kind", ["application/octet-stream", "text/plain", "application/x-python-pickle"])
def test_only_json_is_accepted(endpoint_of, call, kind):
    assert call(endpoint_of(), json.dumps(whole("a")).encode(), content_type=kind).status == 415


@pytest.mark.parametrize("query", ["?rewardKey=score", "?rewardKey=", "?reward=1"])
def test_parameters_that_do_not_fit_are_refused(endpoint_of, call, query):
    assert call(endpoint_of(), whole("a"), query=query).status == 400


def test_the_reward_key_is_no_member_of_ours(endpoint_of, call):
    assert call(endpoint_of("slime"), SLIME, query="?rewardKey=state").status == 400


def test_a_call_has_a_bounded_number_of_samples(endpoint_of, call, settings):
    assert settings.MAX_LIVE_ITEMS == 1_000
    settings.MAX_LIVE_ITEMS = 2
    endpoint = endpoint_of()
    assert call(endpoint, whole("a", "b")).status == 200
    assert call(endpoint, whole("a", "b", "c")).status == 400
