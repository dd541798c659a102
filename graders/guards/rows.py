"""Order one drain's answers by when their calls were sent, to count calls in progress and failures in a row."""

from collections.abc import Iterable
from typing import Final

from graders.guards.circuit import CallEvent
from graders.guards.values import CallReport

MAX_WAITING: Final = 2_048  # answers that wait for an older call; with more, that call was never noted and is skipped


class CallSequence:
    """Numbers calls when they are sent, and puts their answers in that order."""

    def __init__(self) -> None:
        self._sent = 0
        self._answered = 0
        self._next = 1
        self._first = 1
        self._waiting: dict[int, bool] = {}

    def sent(self) -> int:
        """Number a call that is sent now."""
        self._sent += 1
        return self._sent

    @property
    def out(self) -> int:
        """The number of calls whose answer is not noted yet."""
        return self._sent - self._answered

    def hear(self, answers: Iterable[CallReport]) -> list[CallEvent]:
        """Turn answers into events: a call's end at once, its place in the row when all calls before it have ended."""
        events: list[CallEvent] = []
        for answer in answers:
            if answer.number >= self._first or not answer.number:
                events.append(CallEvent(in_row=False, ok=answer.ok))
            if not answer.number:
                events.append(CallEvent(in_row=True, ok=answer.ok))
                continue
            self._answered += 1
            self._waiting[answer.number] = answer.ok
            if len(self._waiting) > MAX_WAITING:
                self._next = min(self._waiting)
            self._append_ready(events)
        return events

    def forget(self) -> None:
        """Ignore the calls that are in progress now: they were sent before the circuit changed."""
        self._first = self._sent + 1

    def end(self) -> list[CallEvent]:
        """Stop waiting for answers, and return the remaining events of the row."""
        events: list[CallEvent] = []
        for number in sorted(self._waiting):
            self._next = number
            self._append_ready(events)
        self._answered = self._sent
        return events

    def _append_ready(self, events: list[CallEvent]) -> None:
        while (ok := self._waiting.pop(self._next, None)) is not None:
            if self._next >= self._first:
                events.append(CallEvent(in_row=True, ok=ok))
            self._next += 1
