"""Waits for sockets with epoll if available, else with poll. Unlike select, neither limits descriptor numbers."""

import contextlib
import select
from typing import Any


class Poller:
    """The sockets to watch. Tolerates descriptors that were closed, or closed and opened again, without notice."""

    def __init__(self) -> None:
        self._epoll: Any = select.epoll(flags=select.EPOLL_CLOEXEC) if hasattr(select, "epoll") else None
        self._poll: Any = self._epoll or select.poll()
        self._watched: set[int] = set()

    def watch(self, fd: int, mask: int) -> None:
        """Watch a socket for POLLIN, POLLOUT or both; this replaces an earlier mask."""
        if fd in self._watched:
            with contextlib.suppress(OSError):
                self._poll.modify(fd, mask)
                return
        try:
            self._poll.register(fd, mask)
        except FileExistsError:
            self._poll.modify(fd, mask)
        self._watched.add(fd)

    def forget(self, fd: int) -> None:
        self._watched.discard(fd)
        with contextlib.suppress(OSError, KeyError, ValueError):
            self._poll.unregister(fd)

    def wait(self, timeout_s: float) -> list[tuple[int, int]]:
        """Return (descriptor, events) of the ready sockets; wait at most `timeout_s` seconds for the first."""
        return self._poll.poll(timeout_s if self._epoll else timeout_s * 1000.0)

    def close(self) -> None:
        if self._epoll:
            self._epoll.close()
