"""The body for hosted graders, which judge in child processes.

Each item has its own time limit (the grader's `timeoutMs`). If an item takes too long, uses too much memory or ends its
child, only that item fails: another child judges the other items of the call.
"""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from graders.hosted import children, failures, judges, results
from graders.hosted.children import Child
from graders.hosted.messages import ChildWork, Judge
from graders.models import Grader
from graders.verdicts import Failure, GraderItem
from scores.engine.bodies.interface import CallEnd, OpenCall, Result
from scores.engine.claims import ClaimedRun
from scores.engine.planning import PlannedCall

CPU_FACTOR: Final = 4.0  # CPU seconds for each second of the time limit: libraries may use several threads


@dataclass(slots=True)
class _Open:
    """A call in progress. `items` are those without a result, in order; the child works on the first."""

    open_call: OpenCall
    judge: Judge
    timeout_s: float
    items: deque[GraderItem]
    started: float
    results: dict[str, Result] = field(default_factory=dict)
    child: Child | None = None

    def take(self, result: Result) -> None:
        self.results[self.items.popleft().completion_id] = result

    def limit_s(self) -> float:
        """The time limit of the child's current step in seconds: to start, or to judge an item."""
        return self.timeout_s if self.child is not None and self.child.is_ready else children.BOOT_S


class HostedBody:
    """The open calls of one drain to one hosted grader."""

    def __init__(self, grader: Grader) -> None:
        self._children = children.shared()
        self._open: list[_Open] = []
        self._judges: dict[UUID, Judge | None] = {}
        self.take_over(grader)

    def __len__(self) -> int:
        return len(self._open)

    @property
    def batched(self) -> bool:
        return self._grader.max_batch_size > 1

    def take_over(self, grader: Grader) -> None:
        assert grader.version_id is not None  # callable_grader checks it
        self._grader, self._version_id = grader, grader.version_id
        self._prepare = judges.require(grader.kind)

    def can_judge(self, version_id: UUID | None) -> bool:
        return self._judge(version_id or self._version_id) is not None

    def split(self, items: Sequence[GraderItem]) -> list[list[GraderItem]]:
        return [list(items)]

    def begin(self, planned: PlannedCall, *, now: datetime, number: int, is_repeat: bool = False) -> None:
        version_id = planned.version_id or self._version_id
        judge = self._judge(version_id)
        assert judge is not None  # the drain has checked can_judge
        items = deque(material.item for _, material in planned.entries)
        open_call = OpenCall(planned, version_id, now, number)
        self._open.append(_Open(open_call, judge, self._grader.timeout_ms / 1000, items, time.monotonic()))

    def _judge(self, version_id: UUID) -> Judge | None:
        if version_id not in self._judges:
            self._judges[version_id] = self._prepare(self._grader, version_id)
        return self._judges[version_id]

    def send(self) -> None:
        """See Body. The drains of this process share the children, so calls wait in order until one is free."""
        for call in self._open:
            if call.child is None and not self._start(call):
                return

    def _start(self, call: _Open) -> bool:
        """Start the call in a child. Return False if none is free."""
        child = self._children.borrow()
        if child is None:
            return False
        work = ChildWork(call.judge, call.open_call.planned.options, CPU_FACTOR * call.timeout_s + 1, list(call.items))
        if child.start(work):
            call.child = child
        else:
            self._children.discard(child)  # it died while it was idle
        return True

    def ends(self, patience_s: float) -> Iterator[CallEnd]:
        self.send()
        self._receive(patience_s)
        yield from self._close_done()

    def _receive(self, patience_s: float) -> None:
        """Read the replies that arrive within `patience_s`, and end the children that take too long."""
        working = {call.child: call for call in self._open if call.child is not None}
        for child in children.wait(list(working), patience_s):
            self._read_replies(working[child], child)
        now = time.monotonic()
        for call in self._open:
            if call.items and call.child is not None and now - call.child.since > call.limit_s():
                self._fail_item(call, failures.timeout(call.timeout_s))

    def _close_done(self) -> list[CallEnd]:
        """Remove the calls that have all results, release their children, and return their ends."""
        done = [call for call in self._open if not call.items]
        self._open = [call for call in self._open if call.items]
        for call in done:
            if call.child is not None:
                self._children.give_back(call.child)
        now = time.monotonic()
        return [CallEnd(call.open_call, call.results, (now - call.started) * 1000, self.batched) for call in done]

    def _read_replies(self, call: _Open, child: Child) -> None:
        while call.items and child.pipe.poll():
            was_ready = child.is_ready
            reply = child.reply()
            if reply is None:
                self._fail_item(call, failures.DIED)
                return
            if not was_ready:
                continue  # the first reply only says that the child is ready
            call.take(results.checked(reply, call.open_call.planned.options))
            if reply.is_last:
                self._end_child(call)
                return

    def _fail_item(self, call: _Open, failure: Failure) -> None:
        """End the call's child and fail the item that it judged. If the child never became ready, fail all items."""
        assert call.child is not None
        was_ready = call.child.is_ready
        self._end_child(call)
        if was_ready:
            call.take(failure)
            return
        while call.items:
            call.take(failures.DIED)

    def _end_child(self, call: _Open) -> None:
        """End the call's child. If items are left, the next `send` starts them in another child."""
        assert call.child is not None
        child, call.child = call.child, None
        self._children.discard(child)

    def can_repeat(self, end: CallEnd) -> bool:
        return False

    def note(self, end: CallEnd, first: Result) -> bool:
        return False

    def runs(self) -> Iterator[ClaimedRun]:
        for call in self._open:
            yield from (run for run, _ in call.open_call.planned.entries)

    def abandon(self) -> None:
        """See Body. This ends the children that still work."""
        for call in self._open:
            if call.child is not None:
                self._end_child(call)
        self._open.clear()
