"""Compare two texts by words or by lines: the shortest edit (Myers, 1986), within a budget."""

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
class TextPiece:
    """A stretch of one of the texts; `changed` if the other does not have it there."""

    text: str
    changed: bool


@dataclass(frozen=True, slots=True)
class TextDifference:
    """Two texts in pieces; the unchanged ones are the same in both. `changed`: pieces that are not."""

    left: list[TextPiece]
    right: list[TextPiece]

    @property
    def changed(self) -> int:
        return sum(piece.changed for piece in (*self.left, *self.right))


def between(left: str, right: str, by: By) -> TextDifference | None:
    """Return where the texts differ; None if they are too long, or too different for the search to end in time."""
    if len(left) + len(right) > MAX_TOKENS * 40:
        return None
    left_tokens, right_tokens = _TOKENS[by].findall(left), _TOKENS[by].findall(right)
    if len(left_tokens) + len(right_tokens) > MAX_TOKENS:
        return None
    common = _common(left_tokens, right_tokens)
    if common is None:
        return None
    return TextDifference(
        _pieces(left_tokens, {index for start, _, count in common for index in range(start, start + count)}),
        _pieces(right_tokens, {index for _, start, count in common for index in range(start, start + count)}),
    )


def _common(left_tokens: Sequence[str], right_tokens: Sequence[str]) -> list[tuple[int, int, int]] | None:
    """(left index, right index, length) of the stretches that both texts have, in order; None beyond the budget."""
    head = 0
    while head < len(left_tokens) and head < len(right_tokens) and left_tokens[head] == right_tokens[head]:
        head += 1
    tail = 0
    while tail < min(len(left_tokens), len(right_tokens)) - head and left_tokens[-1 - tail] == right_tokens[-1 - tail]:
        tail += 1
    middle = _snakes(left_tokens[head : len(left_tokens) - tail], right_tokens[head : len(right_tokens) - tail])
    if middle is None:
        return None
    return [
        (0, 0, head),
        *((left_index + head, right_index + head, count) for left_index, right_index, count in middle),
        (len(left_tokens) - tail, len(right_tokens) - tail, tail),
    ]


def _snakes(left_tokens: Sequence[str], right_tokens: Sequence[str]) -> list[tuple[int, int, int]] | None:
    """Search greedily: how far each diagonal reaches with each number of edits. Then trace the shortest edit back."""
    n, m = len(left_tokens), len(right_tokens)
    far: dict[int, int] = {1: 0}
    trace: list[dict[int, int]] = []
    steps = 0
    for edits in range(n + m + 1):
        trace.append(dict(far) if edits < 2 else {k: far[k] for k in range(-edits - 1, edits + 2) if k in far})
        for k in range(-edits, edits + 1, 2):
            down = k == -edits or (k != edits and far.get(k - 1, -1) < far.get(k + 1, -1))
            x = far[k + 1] if down else far[k - 1] + 1
            y = start = x - k
            while x < n and y < m and left_tokens[x] == right_tokens[y]:
                x, y = x + 1, y + 1
            far[k] = x
            steps += 2 + y - start
            if x >= n and y >= m:
                return _trace_back(trace, n, m)
            if steps > MAX_STEPS:
                return None
    return []


def _trace_back(trace: Sequence[dict[int, int]], x: int, y: int) -> list[tuple[int, int, int]]:
    """(left index, right index, length) of the stretches that both texts have, in order."""
    matches = []
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
            matches.append((begin[0], begin[1], x - begin[0]))
        x, y = before_x, before_y
    return matches[::-1]


def _pieces(tokens: Sequence[str], common: set[int]) -> list[TextPiece]:
    """The text in as few pieces as possible; `common` holds the indexes of the tokens that both texts have."""
    pieces: list[TextPiece] = []
    piece_start, changed = 0, False
    for at in range(len(tokens) + 1):
        is_changed = at not in common if at < len(tokens) else not changed
        if at == len(tokens) or is_changed != changed:
            if at > piece_start:
                pieces.append(TextPiece("".join(tokens[piece_start:at]), changed))
            piece_start, changed = at, is_changed
    return pieces
