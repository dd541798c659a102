"""The pump fans out the events of the outbox and delivers what is due. It needs only the database, no broker.

Each worker process runs one pump in a thread, and a Celery job can start one too. Any number of pumps share the work
through leases. A pump holds no transaction or connection while tries are in flight, and a slow try delays no other.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from django.db import DatabaseError

from autotune.core import clock, connections
from autotune.core.background import JOIN_S, BackgroundLoop
from autotune.core.outbound.engine import Engine, Result
from autotune.webhooks import endpoints
from autotune.webhooks.delivery import attempts, claims, results
from autotune.webhooks.delivery.attempts import DeliveryOutcome
from autotune.webhooks.delivery.claims import DeliveryTry
from autotune.webhooks.events import fanout
from autotune.webhooks.models import Event

logger = logging.getLogger(__name__)
EVERY_S: Final = 1.0  # between two passes when there is no work
WINDOW: Final = 256  # tries in flight at once
STRUGGLING_WINDOW: Final = 64  # of these, tries to endpoints that have failed for a while
GROUP: Final = 64  # results saved together,
GROUP_S: Final = 0.05  # or after this time
GRACE_S: Final = JOIN_S - 1.0  # for tries in flight when the pump stops; other pumps repeat what has not ended by then
PARK_EVERY: Final = 60  # passes
STALE_S: Final = 60.0  # results that could not be saved for this long are dropped: their leases have ended


class Pump:
    """Fans out and delivers, in the one thread that runs it."""

    def __init__(self) -> None:
        self._engine = Engine("webhook")
        self._out: dict[UUID, DeliveryTry] = {}
        self._outcomes: list[DeliveryOutcome] = []
        self._since = 0.0  # time of the oldest outcome that is not saved
        self._passes = 0

    def run_pass(self, stopping: threading.Event) -> None:
        """Start what is due, and receive outcomes for a while. Return early if `stopping` is set."""
        self._wait(0.0 if self._start_due() else EVERY_S, stopping)

    def drain(self, limit_s: float = 30.0) -> None:
        """Run until nothing is due and nothing is in flight, or until `limit_s` has passed."""
        end = time.monotonic() + limit_s
        never = threading.Event()
        try:
            while time.monotonic() < end and (self._start_due() or self._out or self._outcomes):
                self._wait(GROUP_S if self._out or self._outcomes else 0.0, never)
        finally:
            self.close()

    def close(self) -> None:
        """Wait a moment for tries in flight, save their outcomes, and release the rest to other pumps."""
        end = time.monotonic() + GRACE_S
        try:
            while self._out and (left := end - time.monotonic()) > 0:
                self._receive(left)
            self._save()
            claims.give_back(list(self._out.values()))
        except DatabaseError as exc:
            logger.warning("webhooks: the database is away: %s", exc)
        finally:
            self._out.clear()
            self._engine.close()
            connections.release()

    def _start_due(self) -> bool:
        """Fan out a group of events, and start due tries. Return whether there is probably more to do."""
        if self._passes % PARK_EVERY == 0:
            endpoints.park_remaining()
        self._passes += 1
        waiting = Event.objects.filter(fanned_out_at=None).order_by("pk").values_list("pk", flat=True)
        # Ordered as its index: EXISTS may read all events if the statistics are from a moment with many due.
        fanned = fanout.fan_out() if waiting.first() else 0
        started = self._start()
        return bool(fanned or started)

    def _start(self) -> int:
        out = list(self._out.values())
        struggling = sum(trial.struggling for trial in out)
        tries = claims.claim(
            Counter(trial.webhook_id for trial in out),
            room=WINDOW - len(out),
            struggling_room=STRUGGLING_WINDOW - struggling,
        )
        for trial in tries:
            if trial.body is None:
                self._keep(attempts.unreadable(trial, clock.shared_now(may_read=False)))
            else:
                self._out[trial.delivery_id] = trial
                self._engine.submit(attempts.request(trial), trial)
        return len(tries)

    def _wait(self, seconds: float, stopping: threading.Event) -> None:
        """Receive outcomes for `seconds`, or until a group is saved and makes room."""
        end = time.monotonic() + seconds
        while True:
            left = max(end - time.monotonic(), 0.0)
            if not self._out and not self._outcomes:
                connections.release()
                stopping.wait(left)
                return
            if self._out:
                self._receive(min(left, GROUP_S))
            if self._outcomes and (not self._out or self._is_due()):
                self._save()
                return
            if left <= 0.0 or stopping.is_set():
                return

    def _is_due(self) -> bool:
        return len(self._outcomes) >= GROUP or time.monotonic() - self._since >= GROUP_S

    def _receive(self, seconds: float) -> None:
        connections.release()
        for trial, result in self._engine.poll(seconds):
            self._took(trial, result)  # type: ignore[arg-type]

    def _took(self, trial: DeliveryTry, result: Result) -> None:
        self._out.pop(trial.delivery_id, None)
        self._keep(attempts.outcome(trial, result, clock.shared_now(may_read=False)))

    def _keep(self, outcome: DeliveryOutcome) -> None:
        if not self._outcomes:
            self._since = time.monotonic()
        self._outcomes.append(outcome)

    def _save(self) -> None:
        """Save the outcomes. They are kept until that succeeds, since the database may return."""
        if not self._outcomes:
            return
        try:
            results.settle(self._outcomes)
            self._outcomes.clear()
        finally:
            if time.monotonic() - self._since > STALE_S:
                self._outcomes.clear()


class PumpThread(BackgroundLoop):
    """The pump of a worker process. Start it once; `stop()` stops new tries, `join()` waits for those in flight."""

    def __init__(self) -> None:
        super().__init__(
            "webhooks", self._deliver, action="webhooks: the pump", logger=logger, retry_s=EVERY_S, around=self._pumping
        )

    @contextmanager
    def _pumping(self) -> Iterator[None]:
        with _at_work:
            self._pump = Pump()  # belongs to the thread that uses it
            try:
                yield
            finally:
                self._pump.close()

    def _deliver(self) -> float:
        self._pump.run_pass(self.stopping)
        return 0.0


_at_work = threading.Lock()


def deliver_due() -> None:
    """Run a pump until nothing is due, unless this process already runs one."""
    if _at_work.acquire(blocking=False):
        try:
            Pump().drain()
        finally:
            _at_work.release()
