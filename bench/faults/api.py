"""Calls to the server under test, with only the standard library."""

import http.client
import json
import time
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

from autotune.site.local.supervisor import SupervisorError

PREFIX = "/api/v1"
TIMEOUT_S = 30.0
UNAVAILABLE_S = 20.0  # for so long a call that must succeed is repeated


class Api:
    """One connection, made again when it broke. Not for two threads at once."""

    def __init__(self, url: str, key: str, *, timeout_s: float = TIMEOUT_S) -> None:
        address = urlsplit(url)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self._connection = http.client.HTTPConnection(address.hostname or "127.0.0.1", address.port, timeout=timeout_s)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, dict]:
        """(status, answer).

        raises OSError or HTTPException if there was none
        """
        data = json.dumps(body).encode() if body is not None else b"" if method == "POST" else None
        try:
            self._connection.request(method, PREFIX + path, data, self._headers | headers)
            answer = self._connection.getresponse()
            status, raw = answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise
        try:
            return status, json.loads(raw) if raw else {}
        except ValueError:
            return status, {"raw": raw[:200].decode("utf-8", "replace")}

    def need(self, expected: int | Collection[int], method: str, path: str, body: Any = None) -> dict:
        """The answer of a call that must succeed. A 503 is asked again, as it says: servers that were restarted by the
        scenario before leave connections in the pools, each of which fails once."""
        end = time.monotonic() + UNAVAILABLE_S
        while True:
            status, answer = self.call(method, path, body)
            if status != 503 or time.monotonic() > end:
                break
            time.sleep(0.5)
        if status not in ({expected} if isinstance(expected, int) else expected):
            raise SupervisorError(f"{method} {path}: {status}, expected {expected}: {json.dumps(answer)[:600]}")
        return answer


def control(port: int, name: str, **members: Any) -> dict:
    """Set the behaviour of a grader of the harness and return its counters."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("POST", f"/control/{name}", json.dumps(members))
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()
