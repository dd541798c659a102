"""The calls of one holder in the order in which it sent them: how many are out, which failures follow each other."""

from collections.abc import Iterable
from typing import Final

from graders.guards.circuit import Told
from graders.guards.values import Answered

MAX_KEPT: Final = 2_048  # answers that wait for an older call; with more, a call was not noted and is not waited for


class Rows:
    """Numbers calls when they go out, and puts their answers in that order."""

    def __init__(self) -> None:
        self._sent = 0
        self._answered = 0
        self._next = 1
        self._first = 1
        self._kept: dict[int, bool] = {}

    def sent(self) -> int:
        """The number of a call that goes out now."""
        self._sent += 1
        return self._sent

    @property
    def out(self) -> int:
        """Calls whose answer is not noted yet."""
        return self._sent - self._answered

    def hear(self, answers: Iterable[Answered]) -> list[Told]:
        """What the answers tell. Each is told at once, and in the row when all calls sent before it have ended."""
        told: list[Told] = []
        for answer in answers:
            if answer.number >= self._first or not answer.number:
                told.append(Told(in_row=False, ok=answer.ok))
            if not answer.number:
                told.append(Told(in_row=True, ok=answer.ok))
                continue
            self._answered += 1
            self._kept[answer.number] = answer.ok
            if len(self._kept) > MAX_KEPT:
                self._next = min(self._kept)
            self._let_go(told)
        return told

    def forget(self) -> None:
        """What is out now tells nothing any more: it was sent before the circuit changed."""
        self._first = self._sent + 1

    def end(self) -> list[Told]:
        """Nothing more is waited for: what is left to tell in the row."""
        told: list[Told] = []
        for number in sorted(self._kept):
            self._next = number
            self._let_go(told)
        self._answered = self._sent
        return told

    def _let_go(self, told: list[Told]) -> None:
        while (ok := self._kept.pop(self._next, None)) is not None:
            if self._next >= self._first:
                told.append(Told(in_row=True, ok=ok))
            self._next += 1
