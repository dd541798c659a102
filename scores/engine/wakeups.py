"""Wake-ups: messages that say that a grader has work. At most one message for each grader is queued at a time.

With Redis, `SET wake:G NX` marks that a message is queued and not yet handled. The drain deletes the mark before its
first claim, so work that is committed later gets its own message. The mark expires in case the message is lost; the
sweep finds that work (scores/engine/sweep.py).
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
MARK_MS = 2_000


def on_commit(grader_ids: Iterable[UUID]) -> None:
    """Wake each grader's drain after the commit."""
    for grader_id in set(grader_ids):
        transaction.on_commit(partial(send, grader_id), robust=True)


def send(grader_id: UUID) -> None:
    """Send a wake-up for a grader, unless one is queued already."""
    if redis.attempt(lambda client: client.set(_mark(grader_id), 1, nx=True, px=MARK_MS), otherwise=True):
        queue.send(JOB, str(grader_id))


def acknowledge(grader_id: UUID) -> None:
    """Mark the queued wake-up as handled: work that is committed from now on needs another one."""
    redis.attempt(lambda client: client.delete(_mark(grader_id)), otherwise=None)


def _mark(grader_id: UUID) -> str:
    return f"autotune:wake:{grader_id}"
