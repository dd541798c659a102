"""Callbacks of asynchronous graders, as a grader sends them: signed, to the address that its request named."""

import json
import time
from urllib.parse import urlsplit

from graders.gateway.signing import sign
from tests.conftest import Api
from tests.factories import SECRET


def signature(request_id, body, *, secret=SECRET, sent_at=None):
    """The three headers of a callback, as `Api` takes them."""
    now = str(int(time.time() if sent_at is None else sent_at))
    return {
        "x_autotune_timestamp": now,
        "x_autotune_request_id": request_id,
        "x_autotune_signature": sign(secret, now, request_id, body),
    }


def path_of(request):
    """Where the answer to a request is wanted, below the API's base."""
    return urlsplit(request["callbackUrl"]).path.removeprefix("/api/v1")


def call_back(request, content, *, secret=SECRET, sent_at=None, **changes):
    """Send the late answer to a request.

    request  the request's body
    content  the answer: members, or bytes
    changes  headers to replace; None leaves one out
    """
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    headers = signature(request["requestId"], body, secret=secret, sent_at=sent_at) | changes
    kept = {name: value for name, value in headers.items() if value is not None}
    return Api().post(path_of(request), raw=body, **kept)


def status_and_code(answer):
    """(status, code) of what a callback was answered."""
    return answer.status_code, answer.json()["code"]
