"""Requests, responses and errors of the outbound engine."""

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

_LINE_BREAK = re.compile("[\r\n\0]")


class OutboundRequest(Struct, frozen=True):
    """One HTTP exchange. Times are milliseconds; sizes are bytes.

    timeout_ms  the whole exchange, from the name lookup to the last byte
    pins        SHA-256 pins of public keys ("sha256//" and base64), any of which must match beside normal verification
    """

    method: str
    url: str
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""
    connect_timeout_ms: int = 1_000
    timeout_ms: int = 10_000
    max_body: int = 1 << 20
    max_headers: int = 100
    max_header_bytes: int = 32_768
    pins: tuple[str, ...] = ()

    def header_lines(self) -> list[str]:
        """`Name: value` lines. Raises ValueError for a header that would break the framing."""
        lines = [f"{name}: {value}" for name, value in self.headers]
        if _LINE_BREAK.search("".join(lines)):
            raise ValueError("a header holds a line break")
        return lines


class OutboundResponse(Struct, frozen=True):
    """A whole answer, of any status from 200 to 599. Header names are as sent; values are latin-1 text."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes
    elapsed_ms: float

    def header(self, name: str) -> str | None:
        """The first value of a header, or None."""
        lower_name = name.lower()
        return next((value for key, value in self.headers if key.lower() == lower_name), None)


RETRYABLE: Final = frozenset(
    {"timeout", "connect_failed", "connection_reset", "name_not_resolved", "malformed_answer", "outbound_failed"}
)
"""Codes for which a retry may succeed. The others persist until the grader or its registration changes."""


class OutboundError(Exception):
    """An exchange without an answer. Raised by `fetch`, and a value among the results of `poll`.

    code        timeout, connect_failed, connection_reset, name_not_resolved, malformed_answer, outbound_failed;
                address_refused, tls_failed, pin_mismatch, body_too_large, headers_too_large,
                content_encoding_refused, invalid_request
    elapsed_ms  from the start of the exchange to its end
    """

    def __init__(self, code: str, message: str, elapsed_ms: float = 0.0) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.elapsed_ms = elapsed_ms

    @property
    def retryable(self) -> bool:
        return self.code in RETRYABLE

    def __repr__(self) -> str:
        return f"OutboundError({self.code!r}, {self.message!r}, {self.elapsed_ms:.1f})"


Result = OutboundResponse | OutboundError

# libcurl's codes: https://curl.se/libcurl/c/libcurl-errors.html
_BY_CODE: Final = {
    1: ("malformed_answer", "The answer is not HTTP/1.1."),
    3: ("invalid_request", "The URL cannot be called."),
    6: ("name_not_resolved", "The host name could not be resolved."),
    7: ("connect_failed", "The server did not accept a connection."),
    8: ("malformed_answer", "The answer is not well-formed HTTP."),
    16: ("malformed_answer", "The answer is not well-formed HTTP."),
    18: ("connection_reset", "The connection ended before the whole answer arrived."),
    35: ("tls_failed", "The TLS handshake failed (TLS 1.2 or later is required)."),
    52: ("connection_reset", "The connection was closed without an answer."),
    55: ("connection_reset", "The connection was closed while the request was sent."),
    56: ("connection_reset", "The connection was closed or broken before the whole answer arrived."),
    60: (
        "tls_failed",
        "The certificate does not verify: it must be valid, for this name, and from a public authority.",
    ),
    61: ("content_encoding_refused", "The answer is compressed (Content-Encoding), but Autotune requested identity."),
    63: ("body_too_large", "The answer's body is larger than the limit."),
    90: ("pin_mismatch", "The server's public key matches none of the registered pins."),
    100: ("headers_too_large", "The answer's headers are larger than the limit."),
}
_TLS_CODES: Final = frozenset({53, 54, 58, 59, 66, 77, 80, 82, 83, 91, 98})
_CUT_OFF: Final = ("reset", "syscall", "unexpected eof", "broken pipe", "connection was closed")


def from_curl(code: int, text: str, elapsed_ms: float, *, connected: bool, request: OutboundRequest) -> OutboundError:
    """Convert libcurl's code and text to one of our errors. `connected` distinguishes the two timeouts."""
    if code == 28:
        if connected:
            message = f"No complete answer arrived within {request.timeout_ms:,} ms."
        else:
            message = (
                f"No connection was established within {min(request.connect_timeout_ms, request.timeout_ms):,} ms."
            )
        return OutboundError("timeout", message, elapsed_ms)
    if code == 35 and any(sign in text.lower() for sign in _CUT_OFF):
        return OutboundError("connection_reset", "The connection was closed in the TLS handshake.", elapsed_ms)
    if code == 56 and "chunk" in text.lower():
        return OutboundError("malformed_answer", "The answer's chunks are not well-formed.", elapsed_ms)
    if code in _TLS_CODES:
        return OutboundError("tls_failed", "The TLS connection failed.", elapsed_ms)
    code_and_message = _BY_CODE.get(code, ("outbound_failed", f"The exchange failed (libcurl {code})."))
    return OutboundError(*code_and_message, elapsed_ms)
