"""Verify the signatures of requests and sign responses, as the grader protocol, version 1, requires of a grader.

signed bytes = timestamp "." request id "." body;  signature = HMAC-SHA256(whole secret, signed bytes), hexadecimal
"""

from __future__ import annotations

import hashlib
import hmac
import re
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

MAX_SKEW_S = 300
REMEMBER_S = 660  # a request dated 300 s ahead stays valid for 600 s
BUCKET_S = 60
MAX_REMEMBERED = 2_000_000  # request ids, about 100 bytes each

TIMESTAMP = re.compile(rb"[1-9][0-9]{0,11}")
REQUEST_ID = re.compile(rb"[A-Za-z0-9_-]{1,64}")
SIGNATURE = re.compile(rb"[0-9A-Fa-f]{64}")

TIMESTAMP_HEADER, REQUEST_ID_HEADER, SIGNATURE_HEADER = (
    b"x-autotune-timestamp",
    b"x-autotune-request-id",
    b"x-autotune-signature",
)
RESPONSE_TIMESTAMP, RESPONSE_SIGNATURE = "X-Autotune-Response-Timestamp", "X-Autotune-Response-Signature"

Header = tuple[str | bytes, str | bytes]


class Refused(Exception):
    """Raised for an invalid request. code: missing_header, malformed_header, bad_signature, stale_timestamp,
    replayed_request, wrong_request_id; or too_many_requests when the memory for request ids is full."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class Verified:
    """A request whose headers, signature and time are valid."""

    request_id: str
    secret: str


class ReplayCache:
    """Request ids of the last 660 seconds. It stores only ids of signed requests, so nobody else can fill it.

    clock  a monotonic clock in seconds
    """

    def __init__(self, limit: int = MAX_REMEMBERED, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit, self.clock, self.lock = limit, clock, threading.Lock()
        self.buckets: deque[tuple[float, set[bytes]]] = deque()
        self.size = 0

    def add(self, request_id: str) -> None:
        """Store an id. Raises Refused if it was seen before, or if the memory is full."""
        key = hashlib.blake2b(request_id.encode(), digest_size=16).digest()
        with self.lock:
            now = self.clock()
            while self.buckets and now - self.buckets[0][0] > REMEMBER_S + BUCKET_S:
                self.size -= len(self.buckets.popleft()[1])
            if any(key in seen for _, seen in self.buckets):
                raise Refused("replayed_request")
            if self.size >= self.limit:
                raise Refused("too_many_requests")
            if not self.buckets or now - self.buckets[-1][0] > BUCKET_S:
                self.buckets.append((now, set()))
            self.buckets[-1][1].add(key)
            self.size += 1


def sign(secret: str, timestamp: str, request_id: str, body: bytes) -> str:
    """Return the signature of one message: 64 hexadecimal digits, lower case."""
    return _digest(secret, timestamp.encode(), request_id.encode(), body).hex()


def sign_request(secret: str, body: bytes = b"", request_id: str | None = None) -> dict[str, str]:
    """Return the headers with which the platform would send `body`, for tests of a grader."""
    request_id, timestamp = request_id or uuid.uuid4().hex, str(int(time.time()))
    return {
        "Content-Type": "application/json",
        "X-Autotune-Protocol": "1",
        "X-Autotune-Timestamp": timestamp,
        "X-Autotune-Request-Id": request_id,
        "X-Autotune-Signature": sign(secret, timestamp, request_id, body),
    }


def sign_answer(secret: str, request_id: str, body: bytes) -> list[tuple[str, str]]:
    """Return the headers that sign a response to `request_id`."""
    timestamp = str(int(time.time()))
    return [(RESPONSE_TIMESTAMP, timestamp), (RESPONSE_SIGNATURE, sign(secret, timestamp, request_id, body))]


def verify(
    headers: Iterable[Header],
    body: bytes,
    secrets: Sequence[str],
    *,
    now: float | None = None,
    replays: ReplayCache | None = None,
) -> Verified:
    """Check a request: headers, signature, time, replay, in this order. The body is not parsed.

    headers  pairs as received; names in any case
    secrets  those that are active; each is tried, in constant time
    now      seconds since 1970; default the clock
    raises   Refused with the code of the first check that fails
    """
    values_by_name: dict[bytes, list[bytes]] = {TIMESTAMP_HEADER: [], REQUEST_ID_HEADER: [], SIGNATURE_HEADER: []}
    for name, value in headers:
        values = values_by_name.get(_as_bytes(name).lower())
        if values is not None:
            values.append(_as_bytes(value))
    if not all(values_by_name.values()):
        raise Refused("missing_header")
    if any(len(values) > 1 for values in values_by_name.values()):
        raise Refused("malformed_header")
    timestamp, request_id, signature = (values[0] for values in values_by_name.values())
    if not (TIMESTAMP.fullmatch(timestamp) and REQUEST_ID.fullmatch(request_id) and SIGNATURE.fullmatch(signature)):
        raise Refused("malformed_header")
    received_digest = bytes.fromhex(signature.decode("ascii"))
    matching = [s for s in secrets if hmac.compare_digest(_digest(s, timestamp, request_id, body), received_digest)]
    if not matching:
        raise Refused("bad_signature")
    if abs((time.time() if now is None else now) - int(timestamp)) > MAX_SKEW_S:
        raise Refused("stale_timestamp")
    if replays is not None:
        replays.add(request_id.decode("ascii"))
    return Verified(request_id.decode("ascii"), matching[0])


def request_id_of(headers: Iterable[Header]) -> str | None:
    """Return the request id of an unverified request, if it occurs once and is well formed."""
    values = [_as_bytes(value) for name, value in headers if _as_bytes(name).lower() == REQUEST_ID_HEADER]
    return values[0].decode("ascii") if len(values) == 1 and REQUEST_ID.fullmatch(values[0]) else None


def _digest(secret: str, timestamp: bytes, request_id: bytes, body: bytes) -> bytes:
    return hmac.digest(secret.encode(), b"%b.%b.%b" % (timestamp, request_id, body), "sha256")


def _as_bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")
