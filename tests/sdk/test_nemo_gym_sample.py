"""The sample for NeMo Gym in the guide, against a small server."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
import requests

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "integrations" / "nemo-gym.md"


class Session:
    """As much of an aiohttp session as the sample uses."""

    def post(self, url, json):
        return Reply(requests.post(url, json=json, timeout=5))


class Reply:
    def __init__(self, response):
        self.status, self.headers, self.raise_for_status = (
            response.status_code,
            response.headers,
            response.raise_for_status,
        )
        self._response = response

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        return None

    async def json(self):
        return self._response.json()


class Body:
    """A stub of the request and for the response that the sample makes of an answer."""

    def model_dump(self, mode):
        return {"response": {"output": []}}

    @staticmethod
    def model_validate(answer):
        return answer["reward"]


@pytest.fixture
def verify(httpserver):
    (code,) = re.findall(r"```python\n(import asyncio.*?)```", GUIDE.read_text(), re.DOTALL)
    names = {"URL": httpserver.url_for("/verify"), "MyVerifyResponse": Body}
    exec(code, names)
    server = type("Server", (), {"verify": names["verify"], "session": Session()})()
    return lambda: asyncio.run(server.verify(Body()))


def test_it_retries_when_the_server_is_full(httpserver, verify):
    for _ in range(2):
        httpserver.expect_ordered_request("/verify").respond_with_data("", 503, {"Retry-After": "0"})
    httpserver.expect_ordered_request("/verify").respond_with_json({"reward": 0.5})
    assert verify() == 0.5


def test_another_error_is_raised(httpserver, verify):
    httpserver.expect_request("/verify").respond_with_data("", 404)
    with pytest.raises(requests.HTTPError):
        verify()
