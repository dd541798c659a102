"""A drain: it claims the runs of one grader, keeps several calls open, and saves results in small groups.

A slow call does not delay others: each call that ends makes room for the next, and its results are saved with the
current group. No transaction is open during a call, and the drain keeps no connection while it has nothing to save.
"""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from autotune.core.clock import database_now
from autotune.core.connections import release
from autotune.core.errors import Unreadable
from graders.hosted.failures import VERSION_GONE
from graders.models import Grader
from graders.states import GraderStatus
from graders.verdicts import Acceptance, Failure
from scores.engine import claims, recording, retries
from scores.engine.bodies import body_for
from scores.engine.bodies.interface import Body, CallEnd
from scores.engine.call_results import CallResults, FailedAttempt, JudgedRun, PostponedRun
from scores.engine.claims import BackgroundShare, ClaimedRun
from scores.engine.materials import TaskFactsCache
from scores.engine.pacing import DrainPace
from scores.engine.planning import CallPlan
from scores.engine.timeline import entry
from scores.states import WaitKind

CLAIM_BATCH = 512  # runs claimed at once for a grader with batches
CLAIM_SINGLE = 128
SAVE_AT = 64
SAVE_AFTER_S = 0.05
POLL_S = 0.02
REFRESH_S = 2.0  # how long a drain uses the grader's limits, address and secrets before it reads them again


def callable_grader(grader_id: UUID) -> Grader | None:
    """Return the grader, or None if it is deleted, inactive or was never verified (it has no version)."""
    live = Grader.objects.live().filter(pk=grader_id, version__isnull=False)
    return live.exclude(status=GraderStatus.INACTIVE).first()


class Drain:
    """The work of one thread for one grader.

    until     the monotonic time after which it sends no calls; it ends once the open calls are answered
    is_woken  returns whether a wake-up reported new work since `is_woken` was last called
    ending    whether it must end early
    paused    the grader may not be called for now; the claimed runs sleep
    """

    def __init__(
        self, grader: Grader, *, until: float, is_woken: Callable[[], bool], ending: Callable[[], bool] = lambda: False
    ) -> None:
        self.until = until
        self.is_woken = is_woken
        self.ending = ending
        self.facts = TaskFactsCache()
        self.body: Body = body_for(grader)
        self.share = BackgroundShare()
        self.results = CallResults()
        self.saved_at = self.renewed_at = time.monotonic()
        self.dry = self.stopped = self.gone = self.paused = False
        self._use(grader)
        self.pace = DrainPace(grader, self.clock)  # at the end: from here on it must be closed
        self.plan = CallPlan(self.facts, self.pace.size, unfit=self._miss_uncalled, split=self.body.split)

    def _use(self, grader: Grader) -> None:
        assert grader.version_id is not None  # callable_grader sees to it
        self.grader = grader
        self.grader_id: UUID = grader.pk
        self.version_id: UUID = grader.version_id
        self.clock, self.refreshed_at = database_now(), time.monotonic()

    def _refresh(self) -> None:
        """Read the grader again. If it may not be called any more, the drain ends."""
        grader = callable_grader(self.grader_id)
        if grader is None:
            self.stopped = True
            return
        try:
            self.body.take_over(grader)
        except Unreadable:  # its secret is damaged since then: the next drain reports that for each run
            self.stopped = True
        else:
            self._use(grader)
            self.pace.take_over(grader)

    def _now(self) -> datetime:
        """The database's time, based on the last refresh. All waits and deadlines use this clock."""
        return self.clock + timedelta(seconds=time.monotonic() - self.refreshed_at)

    def run(self) -> None:
        """Work until no run is due and no call is open, or the time is over. Return the runs that were not called."""
        try:
            while self._step():
                pass
            self._save()
        finally:
            self._abandon()

    def _step(self) -> bool:
        self._check_state()
        self._claim()
        self._call()
        if len(self.body) == 0:
            self._save()
            if self.stopped or not (self.plan or self._may_find_more()):
                return False
            if self.pace.window == 0 or self.pace.waits_for_tokens:
                self._idle(POLL_S)
            return True
        ended = 0
        for end in self.body.ends(self._patience()):
            self._settle(end)
            ended += 1
        if self.pace.has_failures:
            self.pace.report(self._now())
        if self._group_is_due():
            self._save()
        elif not ended and not self.results:
            release()
        self._renew()
        return True

    def _check_state(self) -> None:
        """Check at intervals whether the drain may continue, whether the grader changed, and how fast to call it."""
        now = time.monotonic()
        if now >= self.until or self.ending() or self.pace.starved():
            self.stopped = True
        elif not self.stopped and now - self.refreshed_at >= REFRESH_S:
            self._refresh()
        self.pace.refresh(self.grader, self._now(), want=self._desired_calls())
        if self.stopped:
            return
        self.plan.resize(self.pace.size)
        if pause := self.pace.pause(self._now()):
            self._rest(*pause)

    def _desired_calls(self) -> int:
        """The number of calls to keep open. Without more work it is the open calls only: others may use the rest."""
        if self.stopped or (self.dry and not self.plan):
            return len(self.body)
        return self.grader.max_concurrency

    def _rest(self, until: datetime, reason: str) -> None:
        """Put the claimed runs and the head of the due runs to sleep: no worker may call the grader before `until`."""
        self.paused = self.stopped = True
        unsent = self.plan.clear()
        self.pace.give_back(len(unsent))
        self.results.resting += [PostponedRun(run, WaitKind.GRADER, until, reason) for run in unsent]
        claims.rest(self.grader_id, until, reason)

    def _idle(self, seconds: float) -> None:
        """Wait for our share of the calls, or for tokens."""
        release()
        time.sleep(seconds)

    def _patience(self) -> float:
        """Seconds to wait for answers: until the current group is due, or until a check for new work is due."""
        if not self.results:
            return POLL_S
        return max(0.0, min(POLL_S, self.saved_at + SAVE_AFTER_S - time.monotonic()))

    def _claim(self) -> None:
        room = self.pace.window - len(self.body)
        if self.stopped or room <= 0 or self.plan or not self._may_find_more():
            return
        limit = min(CLAIM_BATCH, self.pace.size * room) if self.body.batched else min(CLAIM_SINGLE, 2 * room)
        granted = self.pace.take(1 if self.pace.is_trial else limit, self._now())
        if not granted:
            return
        claimed = claims.take(self.grader_id, limit=granted, background=self.share.earned)
        self.share.note(claimed, granted)
        self.pace.give_back(granted - len(claimed))
        self.dry = len(claimed) < granted
        self.plan.add(claimed)

    def _may_find_more(self) -> bool:
        """Whether another claim may return runs: the last one was full, or a wake-up has arrived since."""
        if self.is_woken():
            self.dry = False
        return not self.dry

    def _call(self) -> None:
        """Send calls while there is room in the window."""
        while not self.stopped and (room := self.pace.window - len(self.body)) > 0:
            planned = self.plan.next(room=room, fit=self._within_deadline)
            if planned is None:
                break
            if not self.body.can_judge(planned.version_id):
                for run, _ in planned.entries:
                    self._miss_uncalled(run, VERSION_GONE)
                continue
            self.body.begin(planned, now=self._now(), number=self.pace.sent())
        self.body.send()

    def _within_deadline(self, chunk: list[ClaimedRun]) -> list[ClaimedRun]:
        now = self._now()
        late = [run for run in chunk if run.deadline_at <= now]
        self.pace.give_back(len(late))
        self.results.missed += [
            FailedAttempt(
                run, retries.OVERDUE, called=False, step=entry("end", run.attempt, retries.OVERDUE.code, ended=now)
            )
            for run in late
        ]
        return [run for run in chunk if run.deadline_at > now] if late else chunk

    def _settle(self, end: CallEnd) -> None:
        """Turn the end of a call into verdicts and failures, or into further calls."""
        entries = end.call.planned.entries
        first = end.results[entries[0][1].item.completion_id]
        self.pace.note(end.results, end.call.number, len(entries), batched=end.batched, now=self._now())
        if isinstance(first, Failure) and self._asks_again(first, end):
            return
        if self.body.note(end, first):
            self._refresh()
        if isinstance(first, Failure) and first.gone:
            self.gone = self.stopped = True
        for run, material in entries:
            verdict = end.results[material.item.completion_id]
            if isinstance(verdict, Failure):
                self._miss(run, verdict, end.call.at, end.evidence(material.item.completion_id))
            elif isinstance(verdict, Acceptance):
                assert end.waits_until is not None  # a 202 to a call without a callback address is a failure
                self.results.accepted.append(PostponedRun(run, end.waits_for, end.waits_until, "accepted", end.call.at))
            else:
                judged = JudgedRun(run, verdict, material.version_id, end.call.version_id, end.latency_ms)
                self.results.judged.append(judged)

    def _asks_again(self, failure: Failure, end: CallEnd) -> bool:
        """Repeat the call if that can help: signed with the current secret, or split in two. Return whether it does."""
        planned = end.call.planned
        if failure.resign or failure.code == "auth_failed":
            self._refresh()
            if not self.stopped and self.body.can_repeat(end):
                self.body.begin(planned, now=self._now(), number=self.pace.sent(), is_repeat=True)
                self.body.send()
                return True
        if failure.split and len(planned.entries) > 1:
            self.plan.halve(planned)
            return True
        return False

    def _miss_uncalled(self, run: ClaimedRun, failure: Failure) -> None:
        self.pace.give_back(1)
        self._miss(run, failure)

    def _miss(
        self,
        run: ClaimedRun,
        failure: Failure,
        sent_at: datetime | None = None,
        evidence: dict[str, Any] | None = None,
    ) -> None:
        """Note a failed attempt and decide what follows from it; `sent_at` is None if no call was sent."""
        now = self._now()
        decision = retries.decide(
            failure,
            self.facts.task(run.task_id).policy,
            failures=run.failures,
            last_code=run.error_code,
            repeats=run.error_repeats,
            deadline=run.deadline_at,
            now=now,
        )
        about = entry("call", run.attempt, failure.code, started=sent_at, ended=now, wake_at=decision.wake_at)
        described = {**(evidence or {}), "cause": failure.code}
        self.results.missed.append(FailedAttempt(run, decision, sent_at is not None, about, described))

    def _group_is_due(self) -> bool:
        size = len(self.results)
        return size >= SAVE_AT or (size > 0 and time.monotonic() - self.saved_at >= SAVE_AFTER_S)

    def _save(self) -> None:
        if self.results:
            results, self.results = self.results, CallResults()
            for version_id, part in results.by_version(self.version_id):
                recording.save(self.grader_id, version_id, part, self.facts)
        self.pace.report(self._now())
        self.saved_at = time.monotonic()

    def _renew(self) -> None:
        if time.monotonic() - self.renewed_at < claims.RENEW_AFTER.total_seconds():
            return
        self.renewed_at = time.monotonic()
        claims.renew([*self.plan.runs(), *self.body.runs()])

    def _abandon(self) -> None:
        """Return the runs that are not in an open call. Only an error leaves calls open here; their leases expire."""
        self.body.abandon()
        unsent = self.plan.clear()
        try:
            if unsent:
                claims.give_back(unsent)
                self.pace.give_back(len(unsent))
        finally:
            self.pace.close()
