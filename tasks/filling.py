"""Add digests and forms to completions stored before these existed, in the background and in bounded steps.

A partial index holds the completions that are left, usually none. If a step is interrupted, the next one continues.
"""

import logging
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q, QuerySet

from autotune.core.crypto.encryption import MasterKeyMissing, Undecryptable
from tasks.conversations import form_of
from tasks.digests import UNREADABLE, Digester
from tasks.models import Completion
from tasks.states import ConversationShape
from tasks.system_prompts import SystemPrompts

logger = logging.getLogger(__name__)
AT_ONCE: Final = 200  # completions of one transaction, with texts of 2 MiB each at most
SHARE_S: Final = 20.0  # of the minute between two calls of beat


class DerivedColumns(NamedTuple):
    """The values to store for a completion that has no digests or no form."""

    pk: UUID
    prompt_digest: bytes
    answer_digest: bytes
    form: str


def undigested() -> QuerySet[Completion]:
    """Completions that have text, but no digests or no form."""
    return Completion.objects.filter(Q(prompt_digest=None) | Q(form=None), erased_at=None)


def work(budget_s: float = SHARE_S) -> int:
    """Fill completions for `budget_s` seconds. Return the number of completions that were filled."""
    until, total = time.monotonic() + budget_s, 0
    while time.monotonic() < until:
        filled_count = step()
        total += filled_count
        if filled_count < AT_ONCE:
            break
    if total:
        logger.info("added digests to %d older completions", total)
    return total


@transaction.atomic
def step() -> int:
    """Fill one batch and return its size. Rows are locked in id order, as by erasures; locked rows are skipped."""
    rows = list(undigested().order_by("pk").select_for_update(skip_locked=True, no_key=True)[:AT_ONCE])
    by_organization: dict[UUID, list[Completion]] = defaultdict(list)
    for row in rows:
        by_organization[row.organization_id].append(row)
    system_prompts = SystemPrompts()
    for organization_id, owned in by_organization.items():
        digester = Digester(organization_id)
        _write([_derive(digester, system_prompts, row) for row in owned])
    return len(rows)


def _derive(digester: Digester, system_prompts: SystemPrompts, row: Completion) -> DerivedColumns:
    """Digests and form of a completion; UNREADABLE if it cannot be decrypted, so that no later call retries it."""
    try:
        if row.prompt is None or row.response is None:
            return DerivedColumns(row.pk, UNREADABLE, UNREADABLE, ConversationShape.PARTS)
        system_prompt = _system_prompt(system_prompts, row.task_version_id)
        digests = digester.stored(row.prompt, row.messages, row.response, system_prompt=system_prompt)
        return DerivedColumns(row.pk, *digests, form_of(row.messages))
    except MasterKeyMissing:
        raise
    except Undecryptable as exc:
        logger.error("no digests for completion %s: %s", row.public_id, exc)
        return DerivedColumns(row.pk, UNREADABLE, UNREADABLE, ConversationShape.PARTS)


def _system_prompt(system_prompts: SystemPrompts, version_id: UUID) -> str | None:
    """The version's system prompt. If it cannot be decrypted, a value unique to the version replaces it."""
    try:
        return system_prompts.of([version_id]).get(version_id)
    except MasterKeyMissing:
        raise
    except Undecryptable:
        return f"unreadable: {version_id}"


def _write(rows: Sequence[DerivedColumns]) -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "update tasks_completion set prompt_digest = filled.prompt, answer_digest = filled.answer,"
                " form = filled.form from unnest(%s::uuid[], %s::bytea[], %s::bytea[], %s::varchar[])"
                " as filled (id, prompt, answer, form) where tasks_completion.id = filled.id",
                [list(column) for column in zip(*rows, strict=True)],
            )
        else:
            cursor.executemany(
                "update tasks_completion set prompt_digest = %s, answer_digest = %s, form = %s where id = %s",
                [(prompt, answer, form, pk.hex) for pk, prompt, answer, form in rows],
            )
