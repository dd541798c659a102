"""Count the runs that wait for graders. Runs belong to a higher app, which answers through a signal."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from graders.signals import grader_queues


@dataclass(frozen=True, slots=True)
class QueuedRuns:
    """How many runs are not claimed yet, and since when the oldest of them waits (None if there is none)."""

    waiting: int = 0
    since: datetime | None = None


EMPTY = QueuedRuns()


def of(grader_ids: Collection[UUID]) -> dict[UUID, QueuedRuns]:
    """Return the queue of each grader."""
    queues: dict[UUID, Any] = {}
    if grader_ids:
        for _, reply in grader_queues.send(sender=QueuedRuns, grader_ids=grader_ids):
            queues.update(reply or {})  # type: ignore[arg-type]  # the stubs take what receivers return for text
    return {grader_id: queues.get(grader_id, EMPTY) for grader_id in grader_ids}
