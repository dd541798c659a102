"""The children of this process that judge: spawned (never forked), shared by all drains, and never more than a few.

A child judges for one call at a time. A child that took too long, used too much memory or died is replaced; nothing of
it is used again.
"""

import logging
import os
import threading
import time
from multiprocessing import connection, get_context
from typing import Final

import msgspec
from django.conf import settings

from graders.hosted import child as program
from graders.hosted.messages import MAX_REPLY, ChildReply, ChildWork, read_reply

logger = logging.getLogger(__name__)
BOOT_S: Final = 30.0  # until a child is ready for its first item
MOST_JUDGED: Final = 10_000  # then a child is replaced: libraries may leak memory
_SPAWN: Final = get_context("spawn")


class Child:
    """One child process. It is idle, or has work of which it has returned a part of the results.

    since  the monotonic time at which its present step began: the preparation, or the item after the last reply
    """

    def __init__(self, memory_bytes: int) -> None:
        self.pipe, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=program.main, args=(theirs, memory_bytes), name="judge", daemon=True)
        self._process.start()
        theirs.close()
        self.judged = 0
        self.is_ready = False
        self.since = time.monotonic()

    def start(self, work: ChildWork) -> bool:
        """Send work to an idle child. Return False if it has died."""
        self.is_ready, self.since = False, time.monotonic()
        try:
            self.pipe.send(work)
        except OSError:
            return False
        return True

    def reply(self) -> ChildReply | None:
        """Receive a reply that has arrived; None if the child died or sent something that is no reply."""
        try:
            reply = read_reply(self.pipe.recv_bytes(MAX_REPLY))
        except (EOFError, OSError, msgspec.DecodeError) as exc:
            logger.warning("a judging process ended or sent no valid reply: %r", exc)
            return None
        if self.is_ready:
            self.judged += 1
        self.is_ready, self.since = True, time.monotonic()
        return reply

    def is_alive(self) -> bool:
        return self._process.is_alive()

    def end(self) -> None:
        """End the process at once."""
        self._process.kill()
        self.pipe.close()
        self._process.join(5)
        if self._process.exitcode is not None:
            self._process.close()


class Children:
    """The children of one process: at most `most` at the same time."""

    def __init__(self, most: int, memory_bytes: int) -> None:
        self._most, self._memory_bytes = most, memory_bytes
        self._idle: list[Child] = []
        self._busy = 0
        self._lock = threading.Lock()

    def borrow(self) -> Child | None:
        """Return an idle or a new child, or None while all are busy. The caller gives it back or replaces it."""
        with self._lock:
            if self._busy >= self._most:
                return None
            self._busy += 1
            idle = self._idle.pop() if self._idle else None
        try:
            if idle is not None:
                if idle.is_alive():
                    return idle
                idle.end()
            return Child(self._memory_bytes)
        except BaseException:
            self._release()
            raise

    def give_back(self, child: Child) -> None:
        """Return a child that has no work."""
        if child.judged >= MOST_JUDGED:
            self.discard(child)
            return
        with self._lock:
            self._busy -= 1
            self._idle.append(child)

    def discard(self, child: Child) -> None:
        """End a child that was borrowed."""
        try:
            child.end()
        finally:
            self._release()

    def close(self) -> None:
        """End the idle children."""
        with self._lock:
            idle, self._idle = self._idle, []
        for child in idle:
            child.end()

    def _release(self) -> None:
        with self._lock:
            self._busy -= 1


_lock = threading.Lock()
_children: list[Children] = []


def shared() -> Children:
    """The children of this process. The first call creates the pool; its children start when they are needed."""
    with _lock:
        if not _children:
            most = settings.JUDGE_PROCESSES or os.cpu_count() or 1
            _children.append(Children(most, settings.JUDGE_MEMORY_BYTES))
        return _children[0]


def close() -> None:
    """End the idle children of this process; the next `shared` starts again with none."""
    with _lock:
        pools, _children[:] = list(_children), []
    for pool in pools:
        pool.close()


def wait(children: list[Child], seconds: float) -> set[Child]:
    """Return the children that replied or died, after at most `seconds`; sleep if there are none."""
    if not children:
        time.sleep(seconds)
        return set()
    ready = set(connection.wait([child.pipe for child in children], seconds))
    return {child for child in children if child.pipe in ready}
