"""The outbound engine, through which Autotune makes every call to other servers, on libcurl's multi interface.

Each thread has its own engine, made after the fork. A resolved address is checked in the callback that opens the
socket, so a name and the connection cannot differ. Redirects are not followed, proxies and netrc of the environment
are ignored, no cookies are kept, nothing is decompressed, and time, headers and body are bounded.
"""

import logging
import os
import select
import socket
import threading
import time
from collections.abc import Hashable, Sequence
from typing import Any, Final

import certifi
import pycurl
from django.conf import settings

from autotune.core.outbound.addresses import VARIABLES, AllowedNetwork, Kind, address_allowed, allowed_by
from autotune.core.outbound.calls import OutboundError, OutboundRequest, OutboundResponse, Result, from_curl
from autotune.core.outbound.polling import Poller
from autotune.core.outbound.receiving import ResponseReceiver

logger = logging.getLogger(__name__)
USER_AGENT: Final = "Autotune/1"
MAX_IDLE_S: Final = 30  # an idle connection is reused at most this long
MAX_LIFE_S: Final = 600  # and no connection lives longer than this
DNS_CACHE_S: Final = 30
MAX_KEPT: Final = 512  # connections kept open by one engine
MAX_POOLED: Final = 512  # easy handles kept by one engine


class _Transfer:
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


_HTTP_AND_HTTPS: Final = pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS
_FIXED_HEADERS: Final = [f"User-Agent: {USER_AGENT}", "Accept-Encoding: identity", "Expect:"]
_MASKS: Final = {
    pycurl.POLL_IN: select.POLLIN,
    pycurl.POLL_OUT: select.POLLOUT,
    pycurl.POLL_INOUT: select.POLLIN | select.POLLOUT,
}


class Engine:
    """Runs many exchanges at once on one thread. Do not share it between threads or carry it over a fork.

    kind     the kind of its calls; kinds share no engine, because a kept connection is not checked again
    allow    allowances; None reads those of the kind from the settings at each request
    ca_file  the certificates that are trusted; certifi's unless given
    """

    def __init__(
        self, kind: Kind = "grader", *, allow: Sequence[AllowedNetwork] | None = None, ca_file: str | None = None
    ) -> None:
        self._kind: Kind = kind
        self._allow = allow
        self._ca_file = ca_file or certifi.where()
        self._multi = pycurl.CurlMulti()
        self._poller = Poller()
        self._deadline: float | None = None
        self._active: dict[Any, _Transfer] = {}
        self._idle: dict[tuple[str, ...], list[_Transfer]] = {}  # by pins, which libcurl cannot unset
        self._idle_count = 0
        self._done: list[tuple[Hashable, Result]] = []
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)
        self._multi.setopt(pycurl.M_MAXCONNECTS, MAX_KEPT)

    @property
    def in_flight(self) -> int:
        """How many submitted exchanges `poll` has not returned yet."""
        return len(self._active) + len(self._done)

    def submit(self, request: OutboundRequest, tag: Hashable) -> None:
        """Start an exchange; `poll` returns its result with `tag`. Never raises for the content of the request."""
        allow = getattr(settings, VARIABLES[self._kind]) if self._allow is None else self._allow
        transfer = self._take(request.pins)
        try:
            if not allow and request.url[:6].lower() != "https:":
                raise OutboundError("address_refused", f"Only https URLs are allowed. {allowed_by(self._kind)}", 0.0)
            transfer.prepare(request, tag, allow)
            self._multi.add_handle(transfer.curl)
        except OutboundError as exc:
            self._done.append((tag, exc))
        except (ValueError, TypeError, UnicodeError, pycurl.error) as exc:
            self._done.append((tag, OutboundError("invalid_request", f"The request could not be made: {exc}.", 0.0)))
        else:
            self._active[transfer.curl] = transfer
            return
        transfer.curl.close()

    def _take(self, pins: tuple[str, ...]) -> _Transfer:
        idle = self._idle.get(pins)
        if not idle:
            return _Transfer(self._ca_file, self._kind)
        self._idle_count -= 1
        return idle.pop()

    def poll(self, timeout_s: float) -> list[tuple[Hashable, Result]]:
        """Return the exchanges that have ended; wait up to `timeout_s` for the first. Empty if none is in flight."""
        end = time.monotonic() + timeout_s
        self._turn(0.0 if self._done else timeout_s)
        while not self._done and self._active and (left := end - time.monotonic()) > 0:
            self._turn(left)
        done, self._done = self._done, []
        return done

    def fetch(self, request: OutboundRequest) -> OutboundResponse:
        """Run one exchange and wait for it; others in flight continue. Raises OutboundError."""
        tag = object()
        self.submit(request, tag)
        while (place := next((at for at, (other, _) in enumerate(self._done) if other is tag), None)) is None:
            self._turn(1.0)
        result = self._done.pop(place)[1]
        if isinstance(result, OutboundError):
            raise result
        return result

    def abandon(self) -> None:
        """Drop all exchanges and results, for a caller that gives up. The engine stays usable."""
        for transfer in self._active.values():
            self._multi.remove_handle(transfer.curl)
            transfer.curl.close()
        self._active.clear()
        self._done.clear()

    def close(self) -> None:
        """Drop all exchanges and close every connection."""
        self.abandon()
        for idle in self._idle.values():
            for transfer in idle:
                transfer.curl.close()
        self._idle.clear()
        self._multi.close()
        self._poller.close()

    def _turn(self, timeout_s: float) -> None:
        """Wait for sockets or libcurl's timer, at most `timeout_s`, and let libcurl act."""
        if not self._active:
            return
        act = self._multi.socket_action
        if self._deadline is not None:
            timeout_s = min(timeout_s, max(0.0, self._deadline - time.monotonic()))
        for fd, events in self._poller.wait(timeout_s):
            mask = pycurl.CSELECT_IN if events & select.POLLIN else 0
            if events & select.POLLOUT:
                mask |= pycurl.CSELECT_OUT
            if events & (select.POLLERR | select.POLLHUP):
                mask |= pycurl.CSELECT_ERR | pycurl.CSELECT_IN
            act(fd, mask)
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self._deadline = None
            act(pycurl.SOCKET_TIMEOUT, 0)
        self._collect()

    def _collect(self) -> None:
        left = 1
        while left:
            left, good, bad = self._multi.info_read()
            for curl in good:
                self._finish(curl, None)
            for curl, code, text in bad:
                self._finish(curl, (code, text))

    def _finish(self, curl: Any, failure: tuple[int, str] | None) -> None:
        transfer = self._active.pop(curl)
        self._multi.remove_handle(curl)
        self._done.append((transfer.tag, transfer.result(failure)))
        pins = transfer.request.pins if transfer.request else ()
        transfer.recycle()
        if self._idle_count < MAX_POOLED:
            self._idle.setdefault(pins, []).append(transfer)
            self._idle_count += 1
        else:
            curl.close()

    def _on_socket(self, event: int, fd: int, multi: Any, data: Any) -> None:
        if event == pycurl.POLL_REMOVE:
            self._poller.forget(fd)
        elif event in _MASKS:
            self._poller.watch(fd, _MASKS[event])

    def _on_timer(self, timeout_ms: int) -> None:
        self._deadline = None if timeout_ms < 0 else time.monotonic() + timeout_ms / 1000.0


__all__ = ["Engine", "OutboundError", "OutboundRequest", "OutboundResponse", "Result", "engine", "fetch"]

_local = threading.local()
_engines: dict[tuple[threading.Thread, Kind], Engine] = {}
_engines_lock = threading.Lock()
_abandoned: list[Any] = []  # a parent's engines, kept from the garbage collector, which would close their connections


def engine(kind: Kind = "grader") -> Engine:
    """Return this thread's engine for calls of the kind; create it at first use."""
    thread_engine: Engine | None = getattr(_local, kind, None)
    if thread_engine is None:
        thread_engine = Engine(kind)
        setattr(_local, kind, thread_engine)
        with _engines_lock:
            for key in [key for key in _engines if not key[0].is_alive()]:
                _engines.pop(key).close()
            _engines[threading.current_thread(), kind] = thread_engine
    return thread_engine


def fetch(request: OutboundRequest, kind: Kind = "grader") -> OutboundResponse:
    """Run one exchange on this thread's engine for the kind. Raises OutboundError."""
    return engine(kind).fetch(request)


def _after_fork() -> None:
    """Replace the engines in a forked child, which must neither use nor close its parent's connections."""
    global _local, _engines, _engines_lock
    _abandoned.append(_engines)
    _local, _engines, _engines_lock = threading.local(), {}, threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
