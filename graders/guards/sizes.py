"""Batch size: smaller at once when batches prove too large or too slow, larger again bit by bit."""

from collections.abc import Iterable
from typing import Final

from graders.guards.state import Batch
from graders.guards.values import Answered

GROW_AFTER: Final = 10  # full batches that went well


def current(batch: Batch, most: int) -> int:
    """Items in a call at most, of the `most` that the grader says it takes."""
    return min(batch.size, most) if batch.size else most


def learn(batch: Batch, answers: Iterable[Answered], most: int) -> Batch:
    """What the answers say of the size. Several batches that failed at the same time halve it once."""
    for answer in answers:
        size = current(batch, most)
        if answer.shrink:
            half = max(1, answer.items // 2)
            batch = Batch(half) if half < size else batch
        elif answer.ok and size < most and answer.items >= size:
            batch = Batch(size, batch.good + 1) if batch.good + 1 < GROW_AFTER else _larger(size, most)
    return batch


def _larger(size: int, most: int) -> Batch:
    grown = size + max(1, size // 4)
    return Batch(grown) if grown < most else Batch()
