"""Callbacks of asynchronous graders, as a grader sends them: signed, to the address that its request named."""

import json
import time
from urllib.parse import urlsplit

from graders.gateway.signing import sign
from tests.conftest import Api
from tests.factories import SECRET


def signature(request_id, body, *, secret=SECRET, at=None):
    """The three headers of a callback, as `Api` takes them."""
    now = str(int(time.time() if at is None else at))
    return {
        "x_autotune_timestamp": now,
        "x_autotune_request_id": request_id,
        "x_autotune_signature": sign(secret, now, request_id, body),
    }


def path_of(asked):
    """Where the answer to a request is wanted, below the API's base."""
    return urlsplit(asked["callbackUrl"]).path.removeprefix("/api/v1")


def call_back(asked, content, *, secret=SECRET, at=None, **changes):
    """Send the late answer to a request.

    asked    the request's body
    content  the answer: members, or octets
    changes  headers to replace; None leaves one out
    """
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    headers = signature(asked["requestId"], body, secret=secret, at=at) | changes
    kept = {name: value for name, value in headers.items() if value is not None}
    return Api().post(path_of(asked), raw=body, **kept)


def told(answer):
    """(status, code) of what a callback was answered."""
    return answer.status_code, answer.json()["code"]
