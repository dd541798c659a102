"""Send wake-ups: messages that announce work for a grader. At most one message per grader is queued at a time.

With Redis, `SET wake:G NX` marks a grader whose message is queued. A drain deletes the mark before its first claim, so
work that is committed later sends a message of its own. If a message is lost, its mark expires, and the sweep finds the
work (scores/engine/sweep.py).
"""

import logging
from collections.abc import Iterable
from functools import partial
from uuid import UUID

from django.db import transaction

from autotune.core import redis
from autotune.core.brokers import queue

logger = logging.getLogger(__name__)
JOB = "scores.score_pending"
MARK_MS = 2_000  # after this time, work sends another message even if the last one was not handled


def on_commit(grader_ids: Iterable[UUID]) -> None:
    """Send a wake-up for each grader after the commit."""
    for grader_id in set(grader_ids):
        transaction.on_commit(partial(send, grader_id), robust=True)


def send(grader_id: UUID) -> None:
    """Send a wake-up for a grader unless one is queued. Without Redis, always send it."""
    if redis.attempt(lambda client: client.set(_mark(grader_id), 1, nx=True, px=MARK_MS), otherwise=True):
        queue.send(JOB, str(grader_id))


def acknowledge(grader_id: UUID) -> None:
    """Mark the grader's wake-up as handled, so that work committed after this call sends another one."""
    redis.attempt(lambda client: client.delete(_mark(grader_id)), otherwise=None)


def _mark(grader_id: UUID) -> str:
    return f"autotune:wake:{grader_id}"
