"""Send HTTP requests to the API, with the key, timeouts, safe retries, and errors as exceptions."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3.exceptions import MaxRetryError, NewConnectionError

from . import _wire
from ._version import VERSION
from .errors import APIError, AutotuneError, ConnectionFailed, NotFound, RequestTimeout, UnexpectedAnswer, from_problem

CONNECT_TIMEOUT_S = 5.0
FIRST_BACKOFF_S, MAX_BACKOFF_S = 0.5, 8.0
MAX_RETRY_AFTER_S = 300.0
MIN_TIMEOUT_S = 0.05
RETRYABLE = frozenset({429, 502, 503, 504})
IN_FLIGHT = "idempotency_in_flight"  # 409: an earlier attempt is still running, and its response will be available soon
CONFLICT = "conflict"  # 409: another request changed the same objects


class _Bearer(AuthBase):
    """Sets the key on each request; as an `auth` object it also keeps a .netrc from replacing the header."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __call__(self, r: requests.PreparedRequest) -> requests.PreparedRequest:
        r.headers["Authorization"] = f"Bearer {self._key}"
        return r

    def __repr__(self) -> str:
        return "_Bearer(…)"


class Transport:
    """Sends requests to one server with one key.

    timeout_s    seconds without a response after which an attempt fails
    max_retries  attempts after the first
    """

    sleep: Callable[[float], None] = staticmethod(time.sleep)

    def __init__(self, api_key: str, root: str, timeout_s: float, max_retries: int) -> None:
        self.root, self.timeout_s, self.max_retries = root, timeout_s, max_retries
        self._auth = _Bearer(api_key)
        self._open()

    def _open(self) -> None:
        """Return the connections of this process; a child process must not use its parent's."""
        self._pid = os.getpid()
        self.session = requests.Session()
        self.session.headers["User-Agent"] = f"autotune-sdk-python/{VERSION}"
        self.session.headers["Accept"] = "application/json"
        self.session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        for scheme in ("http://", "https://"):
            self.session.mount(scheme, HTTPAdapter(pool_maxsize=32))

    def get(self, path: str, parameters: Mapping[str, Any] | None = None, *, extra_s: float = 0) -> Any:
        """Send a GET and return the parsed response. `extra_s` is added to the timeout (for a long poll)."""
        return self._json(self.send("GET", path, parameters=parameters, safe=True, extra_s=extra_s))

    def post(
        self,
        path: str,
        body: bytes,
        parameters: Mapping[str, Any] | None = None,
        *,
        safe: bool = False,
        idempotency_key: str | None = None,
        extra_s: float = 0,
        until: float | None = None,
    ) -> Any:
        """Send a POST and return the parsed response. safe: repeating it has no further effect, as with a key."""
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        sent = self.send(
            "POST",
            path,
            parameters=parameters,
            body=body,
            headers=headers,
            safe=safe or bool(idempotency_key),
            extra_s=extra_s,
            until=until,
        )
        return self._json(sent)

    def patch(self, path: str, body: bytes) -> Any:
        """Send a PATCH and return the parsed response."""
        return self._json(self.send("PATCH", path, body=body, safe=True))

    def delete(self, path: str, parameters: Mapping[str, Any] | None = None) -> None:
        """Send a DELETE. A 404 after an attempt whose response was lost means that the attempt succeeded."""
        try:
            self.send("DELETE", path, parameters=parameters, safe=True)
        except NotFound as exc:
            if exc.attempts == 1:
                raise

    @contextmanager
    def stream(
        self, path: str, parameters: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> Iterator[requests.Response]:
        """Open a response whose body is still to be read, byte for byte as sent (without content encoding)."""
        headers = {"Accept": "*/*", "Accept-Encoding": "identity", **(headers or {})}
        response = self.send("GET", path, parameters=parameters, headers=headers, safe=True, stream=True)
        try:
            yield response
        finally:
            response.close()

    def send(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        safe: bool = False,
        extra_s: float = 0,
        stream: bool = False,
        until: float | None = None,
    ) -> requests.Response:
        """Return a response with a status below 300; raise for any other. Retries as `_may_repeat_failure` allows.

        until  when (time.monotonic) the caller must have a response: attempts continue until then, however
               many and after whatever may pass (`is_passing`), and none waits for longer
        """
        if self._pid != os.getpid():
            self._open()
        all_headers = dict(headers or {})
        if body is not None:
            all_headers["Content-Type"] = "application/json"
        attempt = 0
        while True:
            attempt += 1
            failure: AutotuneError
            cause: Exception | None = None
            try:
                response = self.session.request(
                    method,
                    self.root + path,
                    params=_wire.query(parameters or {}),
                    data=body,
                    headers=all_headers,
                    auth=self._auth,
                    timeout=self._timeouts(extra_s, until),
                    allow_redirects=False,
                    stream=stream,
                )
            except requests.RequestException as exc:
                failure, cause = _connection_error(exc, method, path), exc
                repeat = _may_repeat_failure(exc, safe)
            else:
                if response.status_code < 300:
                    return response
                failure = _answer_error(response)
                again = response.status_code in RETRYABLE or failure.code == IN_FLIGHT
                again = again or (until is not None and is_passing(failure))
                repeat = again and (safe or response.status_code == 429)
                response.close()
            failure.attempts = attempt
            pause = backoff_s(attempt, getattr(failure, "retry_after_s", None))
            over = attempt > self.max_retries if until is None else time.monotonic() + pause >= until
            if not repeat or over:
                raise failure from cause
            self.sleep(pause)

    def _timeouts(self, extra_s: float, until: float | None) -> tuple[float, float]:
        """Return the timeout in seconds for the connection and the response."""
        answer = self.timeout_s + extra_s
        if until is None:
            return CONNECT_TIMEOUT_S, answer
        left = max(until - time.monotonic(), MIN_TIMEOUT_S)
        return min(CONNECT_TIMEOUT_S, left), min(answer, left)

    def close(self) -> None:
        """Close the connections."""
        self.session.close()

    @staticmethod
    def _json(response: requests.Response) -> Any:
        try:
            return response.json()
        except ValueError as exc:
            raise UnexpectedAnswer(f"the response is not JSON: {response.text[:100]!r}") from exc


def is_passing(error: AutotuneError) -> bool:
    """Return whether the same request may succeed later."""
    if isinstance(error, ConnectionFailed) or error.code in (CONFLICT, IN_FLIGHT):
        return True
    return error.status is not None and (error.status in RETRYABLE or error.status >= 500)


def backoff_s(attempt: int, retry_after_s: float | None) -> float:
    """Return the seconds before the next attempt: the server's value, else 0.5 doubling up to 8; both with jitter."""
    if retry_after_s is not None:
        return min(retry_after_s, MAX_RETRY_AFTER_S) + random.uniform(0, 0.25)
    ceiling = min(MAX_BACKOFF_S, FIRST_BACKOFF_S * 2.0 ** (attempt - 1))
    return random.uniform(ceiling / 2, ceiling)


def retry_after_s(value: str | None) -> float | None:
    """Return the seconds of a Retry-After header (a number or an HTTP date); None if it is missing or invalid."""
    if not value:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        then = parsedate_to_datetime(value)
    except ValueError:
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max(0.0, (then - datetime.now(UTC)).total_seconds())


def _may_repeat_failure(exc: requests.RequestException, safe: bool) -> bool:
    """Return whether to retry: always if the request was never sent, else only if repeating it is safe."""
    if isinstance(exc, requests.exceptions.SSLError):
        return False
    if isinstance(exc, requests.exceptions.ConnectTimeout):
        return True
    if _never_connected(exc):
        return True
    lost = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError)
    return safe and isinstance(exc, lost)


def _connection_error(exc: requests.RequestException, method: str, path: str) -> ConnectionFailed:
    kind = RequestTimeout if isinstance(exc, requests.Timeout) else ConnectionFailed
    return kind(f"{method} {path}: {_reason(exc)}")


def _reason(exc: requests.RequestException) -> str:
    """Describe why there is no response. The HTTP library's error is the cause of the client's."""
    if isinstance(exc, requests.exceptions.SSLError):
        return "the server's certificate could not be verified; check base_url and the trusted authorities"
    if isinstance(exc, requests.exceptions.ConnectTimeout):
        return "the server did not accept a connection in time; check base_url and the network"
    if isinstance(exc, requests.Timeout):
        return "the server did not respond in time"
    if isinstance(exc, requests.exceptions.ProxyError):
        return "the proxy from the environment could not be used; check HTTP_PROXY and HTTPS_PROXY"
    if _never_connected(exc):
        return "no connection to the server; check base_url, and that the server is running"
    if isinstance(exc, (requests.ConnectionError, requests.exceptions.ChunkedEncodingError)):
        return "the connection broke before the response was complete"
    return str(exc)


def _never_connected(exc: requests.RequestException) -> bool:
    reason = exc.args[0] if exc.args else None
    return isinstance(reason, MaxRetryError) and isinstance(reason.reason, NewConnectionError)


def _answer_error(response: requests.Response) -> APIError:
    if response.status_code < 400:
        place = response.headers.get("Location", "nowhere")
        return APIError(
            f"the server redirects to {place}; set base_url to that server's address",
            status=response.status_code,
            code="redirected",
        )
    try:
        text = response.text
    except requests.RequestException:
        text = ""
    try:
        problem = response.json() if text else None
    except (ValueError, requests.RequestException):
        problem = None
    return from_problem(
        response.status_code,
        problem,
        text,
        request_id=response.headers.get("X-Request-Id"),
        retry_after_s=retry_after_s(response.headers.get("Retry-After")),
    )
