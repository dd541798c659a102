"""Reward endpoints of one task, and trainers that call them."""

import json
from types import SimpleNamespace

import pytest
from django.test import Client

from tests.factories import RewardEndpointFactory


@pytest.fixture
def endpoint_of(key, live_task):
    """`endpoint_of(protocol, **members)`: an endpoint of the key's person."""

    def make(protocol="openrlhf", **members):
        members = {"deadline_ms": 1, **members}
        return RewardEndpointFactory(task=live_task, created_by=key.user, protocol=protocol, **members)

    return make


def whole(*responses, prompt="Q:"):
    """A body of OpenRLHF."""
    return {
        "query": [f"{prompt}{response}" for response in responses], "prompts": [prompt] * len(responses),
        "labels": [None] * len(responses),
    }  # fmt: skip


@pytest.fixture
def call():
    """`call(endpoint, body)`: what the web process answers; `.json` is the parsed answer."""
    client = Client()

    def post(endpoint, body, *, token=None, protocol=None, query="", content_type="application/json", **headers):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        path = f"/api/v1/rewards/{protocol or endpoint.protocol}/{token or endpoint.token}{query}"
        answer = client.post(path, raw, content_type=content_type, headers=headers)
        return SimpleNamespace(
            status=answer.status_code, json=json.loads(answer.content), raw=answer.content, headers=answer.headers
        )

    return post
