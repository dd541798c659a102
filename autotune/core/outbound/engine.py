"""The outbound engine, through which Autotune makes every call to other servers, on libcurl's multi interface.

Each thread has its own engine, made after the fork. A resolved address is checked in the callback that opens the
socket, so a name and the connection cannot differ. Redirects are not followed, proxies and netrc of the environment
are ignored, no cookies are kept, nothing is decompressed, and time, headers and body are bounded.
"""

import os
import select
import threading
import time
from collections.abc import Hashable, Sequence
from typing import Any, Final

import certifi
import pycurl
from django.conf import settings

from autotune.core.outbound.addresses import VARIABLES, AllowedNetwork, Kind, allowed_by
from autotune.core.outbound.calls import OutboundError, OutboundRequest, OutboundResponse, Result
from autotune.core.outbound.polling import Poller
from autotune.core.outbound.transfers import Transfer

MAX_KEPT: Final = 512  # connections kept open by one engine
MAX_POOLED: Final = 512  # easy handles kept by one engine
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
        self._active: dict[Any, Transfer] = {}
        self._idle: dict[tuple[str, ...], list[Transfer]] = {}  # by pins, which libcurl cannot unset
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

    def _take(self, pins: tuple[str, ...]) -> Transfer:
        idle = self._idle.get(pins)
        if not idle:
            return Transfer(self._ca_file, self._kind)
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
