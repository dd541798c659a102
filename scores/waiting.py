"""Waiting for a final score without a busy loop and without a held database connection.

One hub for each process asks for all waiting completions in one query, and wakes their requests. A waiting request
has given its connection back. At most LONG_POLL_MAX_WAITERS threads wait; beyond that the present state is answered.
"""

import logging
import threading
import time
from uuid import UUID

from django.conf import settings
from django.db import Error, connection

from autotune.core.connections import release
from scores.models import Reward

logger = logging.getLogger(__name__)
EVERY_S = 0.04
SLOWLY_S = 0.25  # once everybody has waited for a while
SLOW_AFTER_S = 3.0


class Hub:
    """The waiting requests of this process, by completion."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: dict[UUID, list[threading.Event]] = {}
        self._count = 0
        self._newest = 0.0
        self._running = False

    def wait(self, completion_id: UUID, seconds: float) -> bool:
        """True when the completion is final, False after `seconds` or when too many wait already."""
        if seconds <= 0:
            return False
        done = threading.Event()
        with self._changed:
            if self._count >= settings.LONG_POLL_MAX_WAITERS:
                return False
            self._count += 1
            self._newest = time.monotonic()
            self._waiting.setdefault(completion_id, []).append(done)
            self._start()
            self._changed.notify()
        release()
        try:
            return done.wait(seconds)
        finally:
            self._leave(completion_id, done)

    def _leave(self, completion_id: UUID, done: threading.Event) -> None:
        with self._changed:
            self._count -= 1
            if completion_id in self._waiting:
                held = [event for event in self._waiting[completion_id] if event is not done]
                if held:
                    self._waiting[completion_id] = held
                else:
                    del self._waiting[completion_id]

    def _start(self) -> None:
        if not self._running:
            self._running = True
            threading.Thread(target=self._run, name="score-hub", daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting:
                    connection.close()
                    self._changed.wait()
                wanted = list(self._waiting)
                pause = EVERY_S if time.monotonic() - self._newest < SLOW_AFTER_S else SLOWLY_S
            try:
                final = set(Reward.objects.filter(pk__in=wanted).values_list("pk", flat=True))
            except Error as exc:
                logger.warning("waiting: the database is away: %s", exc)
                connection.close()
                final = set()
            with self._changed:
                for completion_id in final:
                    for event in self._waiting.get(completion_id, ()):
                        event.set()
            time.sleep(pause)


hub = Hub()
