"""Wake-ups: "grader G has work". At most one message of a kind is under way; losing one loses nothing.

With Redis, `SET wake:G NX` marks that a message is queued and not yet begun; the drain deletes the mark before its
first claim, so what is committed later gets a message of its own. The mark expires, in case the message was lost.
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
    """Send a wake-up, unless one is queued already."""
    if redis.attempt(lambda client: client.set(_mark(grader_id), 1, nx=True, px=MARK_MS), otherwise=True):
        queue.send(JOB, str(grader_id))


def begun(grader_id: UUID) -> None:
    """The queued wake-up is being acted on: whatever is committed from now on needs another."""
    redis.attempt(lambda client: client.delete(_mark(grader_id)), otherwise=None)


def _mark(grader_id: UUID) -> str:
    return f"autotune:wake:{grader_id}"
