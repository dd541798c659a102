"""Sign requests to graders, and verify their answers and callbacks (docs/protocol/README.md, section 2)."""

import hmac
import os
import re
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from graders.gateway.types import SharedSecret

MAX_SKEW_S: Final = 300

TIMESTAMP: Final = "X-Autotune-Timestamp"
REQUEST_ID: Final = "X-Autotune-Request-Id"
SIGNATURE: Final = "X-Autotune-Signature"
RESPONSE_TIMESTAMP: Final = "X-Autotune-Response-Timestamp"
RESPONSE_SIGNATURE: Final = "X-Autotune-Response-Signature"

_IS_TIMESTAMP = re.compile(r"[1-9][0-9]{0,11}", re.ASCII).fullmatch
_IS_REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII).fullmatch
_IS_SIGNATURE = re.compile(r"[0-9A-Fa-f]{64}", re.ASCII).fullmatch
_PATTERNS: Final = {
    TIMESTAMP.lower(): _IS_TIMESTAMP,
    RESPONSE_TIMESTAMP.lower(): _IS_TIMESTAMP,
    REQUEST_ID.lower(): _IS_REQUEST_ID,
    SIGNATURE.lower(): _IS_SIGNATURE,
    RESPONSE_SIGNATURE.lower(): _IS_SIGNATURE,
}

Headers = Iterable[tuple[str, str]]


class SignatureRefused(Exception):
    """A message has an invalid signature, time or id.

    code    missing_header, malformed_header, bad_signature, reflected, stale_timestamp
    skew_s  the sender's clock minus ours, if the signature is valid; `secret` is then the one that verified
    """

    def __init__(
        self, code: str, message: str, *, skew_s: float | None = None, secret: SharedSecret | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.skew_s = skew_s
        self.secret = secret


class VerifiedMessage(Struct, frozen=True):
    """A message with a valid signature, time and id. `skew_s` is the sender's clock minus ours."""

    secret: SharedSecret
    signature: str
    skew_s: float


def new_request_id() -> str:
    """Return a new request id for one HTTP attempt: 32 random hexadecimal digits."""
    return os.urandom(16).hex()


def sign(secret: str, timestamp: str, request_id: str, body: bytes) -> str:
    """Return the signature of one message: 64 lower-case hexadecimal digits."""
    return _digest(secret, timestamp, request_id, body).hex()


def _digest(secret: str, timestamp: str, request_id: str, body: bytes) -> bytes:
    message = b"%b.%b.%b" % (timestamp.encode("ascii"), request_id.encode("ascii"), body)
    return hmac.digest(secret.encode(), message, "sha256")


def verify_response(
    secrets: Sequence[SharedSecret],
    headers: Headers,
    body: bytes,
    *,
    request_id: str,
    sent_signature: str,
    now: float,
) -> VerifiedMessage:
    """Check a grader's answer against the request id and the signature that the platform sent.

    raises  SignatureRefused
    """
    timestamp, signature = _read(headers, RESPONSE_TIMESTAMP, RESPONSE_SIGNATURE)
    verified = _verify(secrets, timestamp, request_id, signature, body, now)
    _check_reflection(verified, sent_signature)
    _check_time(verified)
    return verified


def verify_callback(
    secrets: Sequence[SharedSecret],
    headers: Headers,
    body: bytes,
    *,
    request_id: str,
    sent_signature: str,
    now: float,
) -> VerifiedMessage:
    """Check a callback against the attempt that the grader answered with 202.

    A message without usable headers takes as much time as one with a wrong signature.

    raises  SignatureRefused
    """
    try:
        timestamp, claimed, signature = _read(headers, TIMESTAMP, REQUEST_ID, SIGNATURE)
    except SignatureRefused:
        for secret in secrets:
            _digest(secret.value, "1", request_id, body)
        raise
    verified = _verify(secrets, timestamp, request_id, signature, body, now)
    if claimed != request_id:
        raise SignatureRefused("bad_signature", f"{REQUEST_ID} is not the id of the request that was answered 202.")
    _check_reflection(verified, sent_signature)
    _check_time(verified)
    return verified


def _read(headers: Headers, *names: str) -> list[str]:
    """Return the values of the named headers, each of which must appear once and match its pattern."""
    values_by_name: dict[str, list[str]] = {name.lower(): [] for name in names}
    for name, value in headers:
        values = values_by_name.get(name.lower())
        if values is not None:
            values.append(value)
    for name, values in zip(names, values_by_name.values(), strict=True):
        if not values:
            raise SignatureRefused("missing_header", f"The header {name} is missing.")
    for name, (key, values) in zip(names, values_by_name.items(), strict=True):
        if len(values) > 1:
            raise SignatureRefused("malformed_header", f"The header {name} is present more than once.")
        if not _PATTERNS[key](values[0]):
            raise SignatureRefused("malformed_header", f"The header {name} is not in the documented format.")
    return [values[0] for values in values_by_name.values()]


def _verify(
    secrets: Sequence[SharedSecret], timestamp: str, request_id: str, signature: str, body: bytes, now: float
) -> VerifiedMessage:
    """Compare with the signature under every active secret; never stop early, so that timing reveals nothing."""
    signature_bytes = bytes.fromhex(signature)
    matching_secret: SharedSecret | None = None
    for secret in secrets:
        if (
            hmac.compare_digest(_digest(secret.value, timestamp, request_id, body), signature_bytes)
            and matching_secret is None
        ):
            matching_secret = secret
    if matching_secret is None:
        raise SignatureRefused(
            "bad_signature",
            "The signature does not match this message with any active secret. It must cover the time, the request "
            "id and the exact bytes of the body.",
        )
    return VerifiedMessage(matching_secret, signature, float(int(timestamp) - int(now)))


def _check_reflection(verified: VerifiedMessage, sent_signature: str) -> None:
    if hmac.compare_digest(verified.signature.lower(), sent_signature.lower()):
        raise SignatureRefused("reflected", "The message is the platform's own request, sent back.")


def _check_time(verified: VerifiedMessage) -> None:
    if abs(verified.skew_s) > MAX_SKEW_S:
        skew = verified.skew_s
        direction = "ahead of" if skew > 0 else "behind"
        raise SignatureRefused(
            "stale_timestamp",
            f"The message is dated {abs(skew):.0f} s {direction} the platform's clock; {MAX_SKEW_S} s are allowed. "
            "Set the grader's clock, and sign each message when you send it.",
            skew_s=skew,
            secret=verified.secret,
        )
