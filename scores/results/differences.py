"""Where two texts differ, by words or by lines: the shortest edit (Myers, 1986), within a budget."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

By = Literal["words", "lines"]
SAME, LEFT, RIGHT = "same", "left", "right"
MAX_TOKENS: Final = 20_000  # of both together
MAX_STEPS: Final = 300_000  # of the search; about a tenth of a second
_TOKENS: Final = {"words": re.compile(r"\s*\w+|\s*[^\w\s]|\s+"), "lines": re.compile(r"[^\n]*\n|[^\n]+")}


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of one of the texts; `changed` if the other does not have it there."""

    text: str
    changed: bool


@dataclass(frozen=True, slots=True)
class Difference:
    """Two texts in pieces; the unchanged ones are the same in both. `changed`: pieces that are not."""

    left: list[Piece]
    right: list[Piece]

    @property
    def changed(self) -> int:
        return sum(piece.changed for piece in (*self.left, *self.right))


def between(left: str, right: str, by: By) -> Difference | None:
    """Where the texts differ; None if they are too long, or differ in too much for the search to end in time."""
    if len(left) + len(right) > MAX_TOKENS * 40:
        return None
    one, other = _TOKENS[by].findall(left), _TOKENS[by].findall(right)
    if len(one) + len(other) > MAX_TOKENS:
        return None
    kept = _common(one, other)
    if kept is None:
        return None
    return Difference(
        _pieces(one, {at for at, _, count in kept for at in range(at, at + count)}),
        _pieces(other, {at for _, at, count in kept for at in range(at, at + count)}),
    )


def _common(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int, int]] | None:
    """(place in one, place in the other, length) of what both have, in order; None beyond the budget."""
    head = 0
    while head < len(one) and head < len(other) and one[head] == other[head]:
        head += 1
    tail = 0
    while tail < min(len(one), len(other)) - head and one[-1 - tail] == other[-1 - tail]:
        tail += 1
    middle = _snakes(one[head : len(one) - tail], other[head : len(other) - tail])
    if middle is None:
        return None
    return [
        (0, 0, head),
        *((at + head, there + head, count) for at, there, count in middle),
        (len(one) - tail, len(other) - tail, tail),
    ]


def _snakes(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int, int]] | None:
    """The greedy search: of each number of edits, how far each diagonal comes. Then the way back."""
    n, m = len(one), len(other)
    far: dict[int, int] = {1: 0}
    trace: list[dict[int, int]] = []
    steps = 0
    for edits in range(n + m + 1):
        trace.append(dict(far) if edits < 2 else {k: far[k] for k in range(-edits - 1, edits + 2) if k in far})
        for k in range(-edits, edits + 1, 2):
            down = k == -edits or (k != edits and far.get(k - 1, -1) < far.get(k + 1, -1))
            x = far[k + 1] if down else far[k - 1] + 1
            y = start = x - k
            while x < n and y < m and one[x] == other[y]:
                x, y = x + 1, y + 1
            far[k] = x
            steps += 2 + y - start
            if x >= n and y >= m:
                return _way_back(trace, n, m)
            if steps > MAX_STEPS:
                return None
    return []


def _way_back(trace: Sequence[dict[int, int]], x: int, y: int) -> list[tuple[int, int, int]]:
    found = []
    for edits in range(len(trace) - 1, -1, -1):
        far, k = trace[edits], x - y
        down = k == -edits or (k != edits and far.get(k - 1, -1) < far.get(k + 1, -1))
        before_k = k + 1 if down else k - 1
        before_x = far.get(before_k, 0)
        before_y = before_x - before_k
        begin = (before_x, before_y + 1) if down else (before_x + 1, before_y)
        if edits == 0:
            begin = (0, 0)
        if x > begin[0]:
            found.append((begin[0], begin[1], x - begin[0]))
        x, y = before_x, before_y
    return found[::-1]


def _pieces(tokens: Sequence[str], kept: set[int]) -> list[Piece]:
    """The text in stretches, as few as there are."""
    found: list[Piece] = []
    begun, changed = 0, False
    for at in range(len(tokens) + 1):
        now = at not in kept if at < len(tokens) else not changed
        if at == len(tokens) or now != changed:
            if at > begun:
                found.append(Piece("".join(tokens[begun:at]), changed))
            begun, changed = at, now
    return found
