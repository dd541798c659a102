"""Batch size: reduced at once when a batch is too large or too slow, and increased again gradually."""

from collections.abc import Iterable
from typing import Final

from graders.guards.state import BatchSize
from graders.guards.values import CallReport

GROW_AFTER: Final = 10  # full batches that succeeded


def current(batch: BatchSize, most: int) -> int:
    """Return the maximum of items in a call; `most` is the grader's registered maximum."""
    return min(batch.size, most) if batch.size else most


def learn(batch: BatchSize, answers: Iterable[CallReport], most: int) -> BatchSize:
    """Adapt the batch size to the answers. Several batches that failed at the same time halve it once."""
    for answer in answers:
        size = current(batch, most)
        if answer.shrink:
            half = max(1, answer.items // 2)
            batch = BatchSize(half) if half < size else batch
        elif answer.ok and size < most and answer.items >= size:
            batch = BatchSize(size, batch.good + 1) if batch.good + 1 < GROW_AFTER else _larger(size, most)
    return batch


def _larger(size: int, most: int) -> BatchSize:
    grown = size + max(1, size // 4)
    return BatchSize(grown) if grown < most else BatchSize()
