"""One exchange of the outbound engine: the options of its request, the check of its address, and its bounded answer."""

import logging
import socket
from collections.abc import Hashable, Sequence
from typing import Any, Final

import pycurl

from autotune.core.outbound.addresses import AllowedNetwork, Kind, address_allowed, allowed_by
from autotune.core.outbound.calls import OutboundError, OutboundRequest, OutboundResponse, Result, from_curl

logger = logging.getLogger(__name__)
USER_AGENT: Final = "Autotune/1"
MAX_IDLE_S: Final = 30  # an idle connection is reused at most this long
MAX_LIFE_S: Final = 600  # and no connection lives longer than this
DNS_CACHE_S: Final = 30
STOP: Final = -1  # what libcurl's callbacks return to end the exchange
_JUDGED: Final = b"cCtT \t"  # first characters of the headers that are checked
_ENCODED: Final = "The answer is compressed (Content-Encoding), but Autotune requested identity."
_HTTP_AND_HTTPS: Final = pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS
_FIXED_HEADERS: Final = [f"User-Agent: {USER_AGENT}", "Accept-Encoding: identity", "Expect:"]


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


class Transfer:
    """An easy handle with what it receives. Pooled: the lasting options are set once, the rest for every request."""

    __slots__ = ("allow", "curl", "kind", "receipt", "request", "tag")

    def __init__(self, ca_file: str, kind: Kind) -> None:
        self.kind: Kind = kind
        self.curl = curl = pycurl.Curl()
        self.receipt = ResponseReceiver()
        self.request: OutboundRequest | None = None
        self.tag: Hashable = None
        self.allow: Sequence[AllowedNetwork] = ()
        for option, value in (
            (pycurl.NOSIGNAL, 1),
            (pycurl.FOLLOWLOCATION, 0),
            (pycurl.PROXY, ""),
            (pycurl.NOPROXY, "*"),
            (pycurl.NETRC, pycurl.NETRC_IGNORED),
            (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1),
            (pycurl.HTTP09_ALLOWED, 0),
            (pycurl.REDIR_PROTOCOLS, pycurl.PROTO_HTTPS),
            (pycurl.CAINFO, ca_file),
            (pycurl.SSLVERSION, pycurl.SSLVERSION_TLSv1_2),
            (pycurl.SSL_VERIFYPEER, 1),
            (pycurl.SSL_VERIFYHOST, 2),
            (pycurl.MAXAGE_CONN, MAX_IDLE_S),
            (pycurl.MAXLIFETIME_CONN, MAX_LIFE_S),
            (pycurl.DNS_CACHE_TIMEOUT, DNS_CACHE_S),
            (pycurl.TCP_NODELAY, 1),
            (pycurl.OPENSOCKETFUNCTION, self._open_socket),
            (pycurl.HEADERFUNCTION, self.receipt.on_header),
            (pycurl.WRITEFUNCTION, self.receipt.on_body),
        ):
            curl.setopt(option, value)

    def prepare(self, request: OutboundRequest, tag: Hashable, allow: Sequence[AllowedNetwork]) -> None:
        """Set what differs from request to request. Raises ValueError for a header that would break the framing."""
        self.request, self.tag, self.allow = request, tag, allow
        self.receipt.start(request)
        lines = request.header_lines()
        curl = self.curl
        curl.setopt(pycurl.URL, request.url)
        curl.setopt(pycurl.PROTOCOLS, _HTTP_AND_HTTPS if allow else pycurl.PROTO_HTTPS)
        curl.setopt(pycurl.HTTPHEADER, lines + _FIXED_HEADERS)
        if request.method == "GET":
            curl.setopt(pycurl.HTTPGET, 1)
        else:
            curl.setopt(pycurl.POST, 1)
            curl.setopt(pycurl.POSTFIELDS, request.body)
            if request.method != "POST":
                curl.setopt(pycurl.CUSTOMREQUEST, request.method)
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, min(request.connect_timeout_ms, request.timeout_ms))
        curl.setopt(pycurl.TIMEOUT_MS, request.timeout_ms)
        curl.setopt(pycurl.MAXFILESIZE_LARGE, request.max_body)
        if request.pins:
            curl.setopt(pycurl.PINNEDPUBLICKEY, ";".join(request.pins))

    def recycle(self) -> None:
        """Forget the request, and reset what the next one would not overwrite. Pins stay: see `Engine._idle`."""
        request, self.request, self.tag = self.request, None, None
        self.receipt.start(None)
        if request is not None and request.method not in ("GET", "POST"):
            self.curl.unsetopt(pycurl.CUSTOMREQUEST)

    def _open_socket(self, purpose: int, address: Any) -> Any:
        """libcurl's call for a socket to a resolved address. One refused address refuses the exchange."""
        family, kind, protocol, place = address
        request = self.request
        if request is None or self.receipt.error is not None or family not in (socket.AF_INET, socket.AF_INET6):
            return pycurl.SOCKET_BAD
        try:
            host = place[0].decode("ascii") if isinstance(place[0], bytes) else place[0]
            port = place[1]
            scheme = request.url.partition(":")[0].lower()
            if address_allowed(host, port, scheme=scheme, allow=self.allow):
                return socket.socket(family, kind, protocol)
        except (OSError, ValueError):
            return pycurl.SOCKET_BAD
        # only the log has the address: the person who registered the name must not learn about the inner network
        logger.warning("%s is not called: its host resolves to %s port %s", self.kind, host, port)
        message = f"The host resolves to an address or port that is not allowed. {allowed_by(self.kind)}"
        self.receipt.refuse("address_refused", message)
        return pycurl.SOCKET_BAD

    def result(self, failure: tuple[int, str] | None) -> Result:
        """Return the result of the exchange. `failure` is libcurl's (code, text), or None if it succeeded."""
        elapsed_ms = self.curl.getinfo(pycurl.TOTAL_TIME) * 1000.0
        if self.receipt.error is not None:
            return OutboundError(*self.receipt.error, elapsed_ms)
        if failure is not None and self.request is not None:
            connected = self.curl.getinfo(pycurl.CONNECT_TIME) > 0
            return from_curl(*failure, elapsed_ms, connected=connected, request=self.request)
        response = self.receipt.response(elapsed_ms)
        return response or OutboundError("malformed_answer", "The answer has no valid HTTP status.", elapsed_ms)
