"""The plan of a drain: it groups claimed runs into calls and loads their text, within a memory limit."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from graders.verdicts import Failure, GraderItem, GraderOptions
from scores.engine import materials
from scores.engine.claims import ClaimedRun
from scores.engine.materials import CompletionMaterial, TaskFactsCache

LOAD_SINGLE = 64  # completions whose texts are loaded at once for single calls
Entries = list[tuple[ClaimedRun, CompletionMaterial]]


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A planned call: its runs with their text, and the options for the grader.

    version_id  the grader version that must judge; None: the one that the grader has
    """

    entries: Entries
    options: GraderOptions
    version_id: UUID | None = None


class CallPlan:
    """Runs that are claimed and not sent yet: first without their text, then as calls that are ready to send.

    size   maximum number of items in a call
    unfit  called with a run whose text cannot be loaded, and the failure
    split  splits the items of a call into groups that each fit into a call
    """

    def __init__(
        self,
        facts: TaskFactsCache,
        size: int,
        *,
        unfit: Callable[[ClaimedRun, Failure], None],
        split: Callable[[Sequence[GraderItem]], list[list[GraderItem]]],
    ) -> None:
        self._facts = facts
        self._unfit = unfit
        self._parts = split
        self._queue: deque[ClaimedRun] = deque()
        self._ready: deque[PlannedCall] = deque()
        self.size = size

    def __bool__(self) -> bool:
        return bool(self._queue or self._ready)

    def add(self, runs: Sequence[ClaimedRun]) -> None:
        self._queue.extend(runs)

    def resize(self, size: int) -> None:
        """Set the maximum number of items in a call. Calls that are planned with another size are planned again."""
        if size == self.size:
            return
        self.size = size
        self._queue.extendleft(run for planned in reversed(self._ready) for run, _ in reversed(planned.entries))
        self._ready.clear()

    def halve(self, planned: PlannedCall) -> None:
        """Plan a call that was too large for the grader as two, before all others."""
        entries, middle = planned.entries, len(planned.entries) // 2
        halves = (entries[middle:], entries[:middle])
        self._ready.extendleft(PlannedCall(half, planned.options, planned.version_id) for half in halves)

    def next(self, *, room: int, fit: Callable[[list[ClaimedRun]], list[ClaimedRun]]) -> PlannedCall | None:
        """Return the next call, or None if no run is left.

        room  number of calls that may be sent now
        fit   removes the runs that may not be sent any more
        """
        count = self.size if self.size > 1 else min(LOAD_SINGLE, room)
        while self._queue and not self._ready:
            self._prepare(fit([self._queue.popleft() for _ in range(min(count, len(self._queue)))]))
        return self._ready.popleft() if self._ready else None

    def runs(self) -> Iterator[ClaimedRun]:
        """All runs of the plan."""
        yield from self._queue
        for planned in self._ready:
            yield from (run for run, _ in planned.entries)

    def clear(self) -> list[ClaimedRun]:
        """Remove and return all runs of the plan."""
        runs = list(self.runs())
        self._queue.clear()
        self._ready.clear()
        return runs

    def _prepare(self, chunk: list[ClaimedRun]) -> None:
        """Load texts and build calls from them; runs whose text exceeds the memory limit stay in the queue."""
        texts = materials.load([run.completion_id for run in chunk], self._facts)
        self._queue.extendleft(run for run in reversed(chunk) if run.completion_id not in texts)
        groups: dict[tuple[GraderOptions, UUID | None], Entries] = {}
        for run in chunk:
            material = texts.get(run.completion_id)
            if isinstance(material, Failure):
                self._unfit(run, material)
            elif material is not None:
                kind = self._facts.task(run.task_id).options, run.grader_version_id
                groups.setdefault(kind, []).append((run, material))
        for (options, version_id), entries in groups.items():
            self._split(entries, options, version_id)

    def _split(self, entries: Entries, options: GraderOptions, version_id: UUID | None) -> None:
        if self.size == 1:
            self._ready.extend(PlannedCall([entry], options, version_id) for entry in entries)
            return
        start = 0
        for part in self._parts([material.item for _, material in entries]):
            self._ready.append(PlannedCall(entries[start : start + len(part)], options, version_id))
            start += len(part)
