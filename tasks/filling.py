"""Gives completions that were stored before there were digests theirs, in the background and in bounded steps.

A partial index knows what is left, which mostly is nothing. Who is interrupted leaves the rest to the next one.
"""

import logging
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from django.db import connection, transaction
from django.db.models import QuerySet

from autotune.core.encryption import MasterKeyMissing, Undecryptable
from tasks.digests import UNREADABLE, Digester
from tasks.models import Completion

logger = logging.getLogger(__name__)
AT_ONCE: Final = 200  # completions of one transaction, with texts of 2 MiB each at most
SHARE_S: Final = 20.0  # of the minute between two calls of beat


def undigested() -> QuerySet[Completion]:
    """What has texts and no digests."""
    return Completion.objects.filter(prompt_digest=None, erased_at=None)


def work(budget_s: float = SHARE_S) -> int:
    """Fill for so many seconds; how many completions."""
    until, done = time.monotonic() + budget_s, 0
    while time.monotonic() < until:
        found = step()
        done += found
        if found < AT_ONCE:
            break
    if done:
        logger.info("%d older completions have their digests", done)
    return done


@transaction.atomic
def step() -> int:
    """One batch. Its rows are locked in the order of ids, as whoever erases does; those that are locked are left."""
    rows = list(undigested().order_by("pk").select_for_update(skip_locked=True, no_key=True)[:AT_ONCE])
    by_organization: dict[UUID, list[Completion]] = defaultdict(list)
    for row in rows:
        by_organization[row.organization_id].append(row)
    for organization_id, owned in by_organization.items():
        digester = Digester(organization_id)
        _write([(row.pk, *_digests(digester, row)) for row in owned])
    return len(rows)


def _digests(digester: Digester, row: Completion) -> tuple[bytes, bytes]:
    """UNREADABLE for what cannot be read any more: else each call would try in vain again."""
    try:
        if row.prompt is None or row.response is None:
            return UNREADABLE, UNREADABLE
        return digester.stored(row.prompt, row.messages, row.response)
    except MasterKeyMissing:
        raise
    except Undecryptable as exc:
        logger.error("the completion %s gets no digests: %s", row.public_id, exc)
        return UNREADABLE, UNREADABLE


def _write(filled: Sequence[tuple[UUID, bytes, bytes]]) -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "update tasks_completion set prompt_digest = filled.prompt, answer_digest = filled.answer from"
                " unnest(%s::uuid[], %s::bytea[], %s::bytea[]) as filled (id, prompt, answer)"
                " where tasks_completion.id = filled.id",
                [list(column) for column in zip(*filled, strict=True)],
            )
        else:
            cursor.executemany(
                "update tasks_completion set prompt_digest = %s, answer_digest = %s where id = %s",
                [(prompt, answer, pk.hex) for pk, prompt, answer in filled],
            )
