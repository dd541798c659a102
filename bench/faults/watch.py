"""Watches the database during faults: does due work stop, and for how long?

A run counts as idle since its last sign of life: the last renewal of its lease, or the moment its sleep was over. Runs
that nobody has claimed yet are in a queue; for them counts how long nothing at all was claimed or scored.
"""

import time
from dataclasses import dataclass, field

from .database import AWAY, Database

EVERY_S = 0.5
LEASE_S = 15.0


@dataclass
class Watch:
    """`step()` again and again, in the thread that stages the faults."""

    database: Database
    longest_idle_s: float = 0.0
    longest_standstill_s: float = 0.0
    idlest: str = ""
    progress: list[tuple[float, int]] = field(default_factory=list)  # when, scores so far
    _seen: dict = field(default_factory=dict)
    _moved_at: float = field(default_factory=time.time)
    _state: tuple = ()
    _next: float = 0.0
    _waiting: bool = False

    def step(self) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + EVERY_S
        try:
            self._look()
        except AWAY:
            self._state = ()  # while it is away nothing is due
            self._moved_at = time.time()
            self._seen.clear()

    def _look(self) -> None:
        db = self.database
        begun = db.rows_now(
            f"select r.id, r.status, r.attempt, {db.epoch('r.leased_until')}, {db.epoch('r.wake_at')}"
            " from scores_workflowrun r join graders_grader g on g.id = r.grader_id"
            " where (r.status = 'running' or (r.status = 'pending' and r.attempt > 0) or r.status = 'sleeping')"
            " and (g.held_until is null or g.held_until < current_timestamp) limit 5000"
        )
        scores = db.rows_now("select count(*) from scores_score")[0][0]
        queued = db.rows_now("select count(*) from scores_workflowrun where status = 'pending'")[0][0]
        now = time.time()
        self._idle_runs(begun, now)
        state = scores, queued, sum(row[2] for row in begun)
        if state != self._state or not queued:
            self._moved_at, self._state = now, state
        self.longest_standstill_s = max(self.longest_standstill_s, now - self._moved_at)
        self.progress.append((time.monotonic(), scores))

    def _idle_runs(self, begun: list[tuple], now: float) -> None:
        seen = {}
        for pk, status, attempt, leased_until, wake_at in begun:
            if status == "running" and leased_until is not None:
                alive = float(leased_until) - LEASE_S
            elif status == "sleeping" and wake_at is not None:
                alive = max(float(wake_at), self._seen.get(pk, 0.0))
                if alive > now:
                    continue
            else:
                alive = self._seen.get(pk, now)
            seen[pk] = alive
            if now - alive > self.longest_idle_s:
                self.longest_idle_s, self.idlest = now - alive, f"{pk} {status} attempt {attempt}"
        self._seen = seen

    def resumed_after(self, moment: float) -> float | None:
        """Seconds from a moment (monotonic) until the first score after it; None if none came."""
        before = max((scores for scored_at, scores in self.progress if scored_at <= moment), default=0)
        return next(
            (scored_at - moment for scored_at, scores in self.progress if scored_at > moment and scores > before), None
        )

    def longest_pause_s(self, start: float, end: float) -> float:
        """The longest time between two moments in which no score came."""
        pause, last, count = 0.0, start, None
        for scored_at, scores in self.progress:
            if scored_at < start or scored_at > end:
                continue
            if count is not None and scores > count:
                last = scored_at
            count = scores
            pause = max(pause, scored_at - last)
        return pause
