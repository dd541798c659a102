"""Receives the answer of one exchange, and enforces the limits and rules for its headers and body."""

from typing import Final

from autotune.core.outbound.calls import OutboundRequest, OutboundResponse

STOP: Final = -1  # what libcurl's callbacks return to end the exchange
_JUDGED: Final = b"cCtT \t"  # first characters of the headers that are checked
_ENCODED: Final = "The answer is compressed (Content-Encoding), but Autotune requested identity."


class ResponseReceiver:
    """Collects an answer within the limits of its request. Reusable after `start`.

    error  (code, message) of the first breach, which ends the exchange
    """

    __slots__ = ("_body", "_ended", "_framing", "_head", "_head_size", "_request", "_size", "error")

    def __init__(self) -> None:
        self.start(None)

    def start(self, request: OutboundRequest | None) -> None:
        self._request = request
        self.error: tuple[str, str] | None = None
        self._head: list[bytes] = []
        self._head_size = 0
        self._ended = False  # whether the empty line after the headers has come
        self._framing = False  # whether a header has defined where the body ends
        self._body: list[bytes] = []
        self._size = 0

    def refuse(self, code: str, message: str) -> int:
        if self.error is None:
            self.error = (code, message)
        return STOP

    def on_header(self, line: bytes) -> int | None:
        """Receive one line of the head, with its line end. Interim answers (1xx) and trailers are counted, not kept."""
        request = self._request
        if request is None:
            return STOP
        self._head_size += len(line)
        if line[:5] == b"HTTP/" and (self._ended or not self._head):
            if self._head and self._status() >= 200:
                return self.refuse("malformed_answer", "A second status line follows the answer.")
            self._head = [line]
            self._ended = self._framing = False
        elif line == b"\r\n":
            self._ended = True
        elif not self._ended:
            self._head.append(line)
            if line[:1] in _JUDGED and (breach := self._breach(line)):
                return self.refuse(*breach)
        if line[-2:] != b"\r\n":
            return self.refuse("malformed_answer", "A line of the head does not end with CR LF.")
        if self._head_size > request.max_header_bytes or len(self._head) - 1 > request.max_headers:
            limits = f"{request.max_headers} headers or {request.max_header_bytes:,} bytes of them"
            return self.refuse("headers_too_large", f"The answer has more than {limits}.")
        return None

    def _breach(self, line: bytes) -> tuple[str, str] | None:
        """Return code and text of what is wrong with a header that defines where the body ends.

        Two such headers can be read in two ways: a proxy in between may have seen another answer than we would.
        """
        if line[:1] in b" \t":
            return "malformed_answer", "A header is folded over two lines."
        name, _, value = line.partition(b":")
        name, value = name.lower(), value.strip(b" \t\r\n").lower()
        if name == b"content-encoding" and value not in (b"", b"identity"):
            return "content_encoding_refused", _ENCODED
        if name.strip() not in (b"content-length", b"transfer-encoding"):
            return None
        if self._framing:
            return "malformed_answer", "The answer repeats Content-Length or Transfer-Encoding, or has both."
        self._framing = True
        is_right = value == b"chunked" if name == b"transfer-encoding" else value.isdigit()
        if not is_right or name.strip() != name:
            return "malformed_answer", "Content-Length is not a number, or Transfer-Encoding is not chunked."
        return None

    def on_body(self, chunk: bytes) -> int | None:
        self._size += len(chunk)
        if self._request is None or self._size > self._request.max_body:
            limit = self._request.max_body if self._request else 0
            return self.refuse("body_too_large", f"The answer's body is larger than {limit:,} bytes.")
        self._body.append(chunk)
        return None

    def response(self, elapsed_ms: float) -> OutboundResponse | None:
        """Return the whole answer, or None if its status is not valid in HTTP."""
        status = self._status()
        if not 200 <= status <= 599:
            return None
        headers = []
        for line in self._head[1:]:
            name, _, value = line.decode("latin-1").partition(":")
            headers.append((name, value.strip(" \t\r\n")))
        return OutboundResponse(status, headers, b"".join(self._body), elapsed_ms)

    def _status(self) -> int:
        """Return the status of the newest head; 0 if it is not valid."""
        parts = self._head[0].split(None, 2) if self._head else []
        return int(parts[1]) if len(parts) > 1 and len(parts[1]) == 3 and parts[1].isdigit() else 0
