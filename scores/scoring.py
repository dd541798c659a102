"""A drain: claims the runs of one grader, calls it in a rolling window, saves in small groups, until nothing is due.

One slow call holds nobody back: a call that ends makes room for the next, and its results are saved with the group at
hand. No transaction is open while a call is out.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from autotune.core import http, ids
from autotune.core.clock import database_now
from autotune.core.outbound import OutboundError, OutboundResponse
from graders import credentials, status, targets
from graders.gateway import outcomes, requests
from graders.gateway.types import Call, Failure, GraderTarget, Options, Outcome, Secret, Verdict
from graders.models import Grader
from graders.states import GraderStatus
from scores import claims, materials, recording, retries
from scores.claims import Claimed
from scores.materials import Facts, Material
from scores.recording import Judged, Missed

CLAIM_BATCH = 512  # runs claimed at once for a grader with batches
CLAIM_SINGLE = 128
LOAD_SINGLE = 64  # completions whose texts are loaded at once for single calls
SAVE_AT = 64
SAVE_AFTER_S = 0.05
POLL_S = 0.02
REFRESH_S = 2.0  # how long a drain believes what it read of the grader: limits, address, secrets


def callable_grader(grader_id: UUID) -> Grader | None:
    """The grader, unless it is deleted, inactive or has not told a version (it was never verified)."""
    live = Grader.objects.live().filter(pk=grader_id, version__isnull=False)
    return live.exclude(status=GraderStatus.INACTIVE).first()


class Drain:
    """The work of one thread for one grader.

    until   the monotonic time at which it ends, with the calls that are out
    asked   whether somebody has told of new work since it was asked
    ending  whether it is to end before its time
    """

    def __init__(
        self, grader: Grader, *, until: float, asked: Callable[[], bool], ending: Callable[[], bool] = lambda: False
    ) -> None:
        self.until = until
        self.asked = asked
        self.ending = ending
        self.engine = http.engine()
        self.facts = Facts()
        self.queue: deque[Claimed] = deque()
        self.ready: deque[tuple[list[tuple[Claimed, Material]], Options]] = deque()
        self.out: dict[str, tuple[Call, list[tuple[Claimed, Material]], UUID]] = {}
        self.judged: list[Judged] = []
        self.missed: list[Missed] = []
        self.saved_at = self.renewed_at = time.monotonic()
        self.dry = self.stopped = self.gone = False
        self.refused = grader.auth_failures > 0
        self._take_over(grader)

    def _take_over(self, grader: Grader) -> None:
        self.grader_id: UUID = grader.pk
        assert grader.version_id is not None  # callable_grader sees to it
        planned_for = self.target.max_batch_size if self.ready else grader.max_batch_size
        if planned_for != grader.max_batch_size:  # calls of another size are planned anew
            self.queue.extendleft(run for entries, _ in reversed(self.ready) for run, _ in reversed(entries))
            self.ready.clear()
        self.version_id: UUID = grader.version_id
        self.target: GraderTarget = targets.load(grader)
        self.window: int = grader.max_concurrency
        self.clock, self.refreshed_at = database_now(), time.monotonic()

    def _refresh(self) -> None:
        """Read the grader again; one that may not be called any more ends the drain."""
        grader = callable_grader(self.grader_id)
        if grader is None:
            self.stopped = True
        else:
            self._take_over(grader)

    def _now(self) -> datetime:
        """The database's clock, read at the last refresh: waits and deadlines are told by it alone."""
        return self.clock + timedelta(seconds=time.monotonic() - self.refreshed_at)

    @property
    def batched(self) -> bool:
        return self.target.max_batch_size > 1

    def run(self) -> None:
        """Work until nothing is due and nothing is out, or the time is over; what was not called goes back."""
        try:
            while self._step():
                pass
            self._save()
        finally:
            self._abandon()

    def _step(self) -> bool:
        now = time.monotonic()
        if now >= self.until or self.ending():
            self.stopped = True
        elif not self.stopped and now - self.refreshed_at >= REFRESH_S:
            self._refresh()
        self._claim()
        self._call()
        if not self.out:
            self._save()
            return not self.stopped and (bool(self.queue or self.ready) or self._may_find_more())
        for tag, result in self.engine.poll(self._patience()):
            self._settle(str(tag), result)
        if self._group_is_due():
            self._save()
        self._renew()
        return True

    def _patience(self) -> float:
        """Seconds to wait for answers: until the group at hand is due, or new work may have come."""
        if not (self.judged or self.missed):
            return POLL_S
        return max(0.0, min(POLL_S, self.saved_at + SAVE_AFTER_S - time.monotonic()))

    def _claim(self) -> None:
        if self.stopped or len(self.out) >= self.window or self.queue or self.ready or not self._may_find_more():
            return
        room = self.window - len(self.out)
        limit = min(CLAIM_BATCH, self.target.max_batch_size * room) if self.batched else min(CLAIM_SINGLE, 2 * room)
        claimed = claims.take(self.grader_id, limit=limit)
        self.dry = len(claimed) < limit
        self.queue.extend(claimed)

    def _may_find_more(self) -> bool:
        """Whether another claim may find something: the last one was full, or somebody has told us since."""
        if self.asked():
            self.dry = False
        return not self.dry

    def _call(self) -> None:
        """Send calls while there is room in the window."""
        while not self.stopped and len(self.out) < self.window:
            if not self.ready and not self._load():
                return
            entries, options = self.ready.popleft()
            self._send(entries, options)

    def _load(self) -> bool:
        """Texts for the next claimed runs, grouped into calls; False when nothing is left to be called for."""
        room = self.window - len(self.out)
        count = self.target.max_batch_size if self.batched else min(LOAD_SINGLE, room)
        while self.queue and not self.ready:
            self._prepare([self.queue.popleft() for _ in range(min(count, len(self.queue)))])
        return bool(self.ready)

    def _prepare(self, chunk: list[Claimed]) -> None:
        """Make calls of those of the runs that may be called for; the others are missed."""
        chunk = self._within_deadline(chunk)
        texts = materials.load([run.completion_id for run in chunk])
        self.queue.extendleft(run for run in reversed(chunk) if run.completion_id not in texts)
        groups: dict[UUID, list[tuple[Claimed, Material]]] = {}
        for run in chunk:
            if run.completion_id not in texts:
                continue
            material = texts[run.completion_id]
            if isinstance(material, Failure):
                self._miss(run, material, called=False)
            else:
                groups.setdefault(run.task_id, []).append((run, material))
        for options, entries in self._by_options(groups):
            self._plan(entries, options)

    def _by_options(
        self, groups: dict[UUID, list[tuple[Claimed, Material]]]
    ) -> list[tuple[Options, list[tuple[Claimed, Material]]]]:
        merged: dict[Options, list[tuple[Claimed, Material]]] = {}
        for task_id, entries in groups.items():
            merged.setdefault(self.facts.task(task_id).options, []).extend(entries)
        return list(merged.items())

    def _plan(self, entries: list[tuple[Claimed, Material]], options: Options) -> None:
        if not self.batched:
            self.ready.extend(([entry], options) for entry in entries)
            return
        at = 0
        for part in requests.split_by_size([material.item for _, material in entries]):
            self.ready.append((entries[at : at + len(part)], options))
            at += len(part)

    def _within_deadline(self, chunk: list[Claimed]) -> list[Claimed]:
        now = self._now()
        late = [run for run in chunk if run.deadline_at <= now]
        self.missed += [Missed(run, retries.OVERDUE, called=False) for run in late]
        return [run for run in chunk if run.deadline_at > now] if late else chunk

    def _send(self, entries: list[tuple[Claimed, Material]], options: Options, secret: Secret | None = None) -> None:
        attempt = max(run.failures for run, _ in entries) + 1
        if self.batched or len(entries) > 1:
            items = [material.item for _, material in entries]
            call = requests.build_batch(self.target, items, options, attempt, secret=secret)
        else:
            call = requests.build_score(self.target, entries[0][1].item, options, attempt, secret=secret)
        self.out[call.request_id] = call, entries, self.version_id
        self.engine.submit(call.request, call.request_id)

    def _settle(self, request_id: str, result: OutboundResponse | OutboundError) -> None:
        """Turn one answer into verdicts and failures, or into further calls."""
        call, entries, version_id = self.out.pop(request_id)
        outcome = outcomes.interpret(call, self.target, result)
        first = outcome.verdicts[call.items[0]]
        if isinstance(first, Failure) and self._asks_again(first, call, entries):
            return
        self._note(outcome, first)
        for run, material in entries:
            verdict = outcome.verdicts[ids.encode("comp", run.completion_id)]
            if isinstance(verdict, Failure):
                self._miss(run, verdict)
            else:
                self.judged.append(Judged(run, verdict, material.version_id, version_id, outcome.latency_ms))

    def _asks_again(self, failure: Failure, call: Call, entries: list[tuple[Claimed, Material]]) -> bool:
        """Whether the call goes out once more at once: signed with the current secret, or in halves."""
        if failure.resign or failure.code == "auth_failed":
            self._refresh()
            if not self.stopped and call.key.key_id != self.target.current.key_id:
                self._send(entries, call.options, self.target.current)
                return True
        if failure.split and len(entries) > 1:
            middle = len(entries) // 2
            self.ready.extendleft([(entries[middle:], call.options), (entries[:middle], call.options)])
            return True
        return False

    def _note(self, outcome: Outcome, first: Verdict | Failure) -> None:
        """What an answer says of the grader itself: it knows a secret, refuses us, or is gone."""
        if outcome.key_id_verified not in (None, self.target.signing[0].key_id):
            credentials.note_verified(self.target, outcome.key_id_verified)
            self._refresh()
        if isinstance(first, Failure) and first.gone:
            self.gone = self.stopped = True
            status.note_gone(self.grader_id)
        elif isinstance(first, Failure) and first.code == "auth_failed":
            status.note_auth_failure(self.grader_id)
            self.refused = True
        elif outcome.key_id_verified is not None and self.refused:
            status.note_auth_success(self.grader_id)
            self.refused = False

    def _miss(self, run: Claimed, failure: Failure, *, called: bool = True) -> None:
        decision = retries.decide(
            failure,
            self.facts.task(run.task_id).policy,
            failures=run.failures,
            last_code=run.error_code,
            repeats=run.error_repeats,
            deadline=run.deadline_at,
            now=self._now(),
        )
        self.missed.append(Missed(run, decision, called))

    def _group_is_due(self) -> bool:
        size = len(self.judged) + len(self.missed)
        return size >= SAVE_AT or (size > 0 and time.monotonic() - self.saved_at >= SAVE_AFTER_S)

    def _save(self) -> None:
        if self.judged or self.missed:
            judged, missed = self.judged, self.missed
            self.judged, self.missed = [], []
            for version_id in {entry.grader_version_id for entry in judged} or {self.version_id}:
                group = [entry for entry in judged if entry.grader_version_id == version_id]
                recording.save(self.grader_id, version_id, group, missed, self.facts)
                missed = []
        self.saved_at = time.monotonic()

    def _renew(self) -> None:
        if time.monotonic() - self.renewed_at < claims.RENEW_AFTER.total_seconds():
            return
        self.renewed_at = time.monotonic()
        claims.renew(self._held())

    def _held(self) -> list[Claimed]:
        waiting: list[Sequence[tuple[Claimed, Material]]] = [entries for entries, _ in self.ready]
        waiting += [entries for _, entries, _ in self.out.values()]
        return [*self.queue, *(run for entries in waiting for run, _ in entries)]

    def _abandon(self) -> None:
        """Give back what is not out; calls that are still out (only after an error) run out their lease."""
        left = [*self.queue, *(run for entries, _ in self.ready for run, _ in entries)]
        if left:
            claims.give_back(left)
        if self.out:
            self.engine.abandon()
