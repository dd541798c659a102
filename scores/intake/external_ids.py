"""Look up submitted items by their external ids: an item that is repeated is stored once, with the same content."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db import connection

from autotune.core import ids
from autotune.core.crypto import encryption
from autotune.core.errors import FieldError
from scores.intake.drafts import CompletionDraft
from scores.intake.outcomes import RefusedItem, StoredItem
from scores.models import WorkflowRun
from scores.states import BACKGROUND
from tasks.models import Completion

# One look-up in the unique index for each pair. For a constant task whose rows all came after the last ANALYZE,
# PostgreSQL expects one row and would read all of them by another index; for a joined task it expects the average
# number. `offset 0` keeps the subquery from being joined in another way.
_WITH_EXTERNAL_IDS = """
    select c.id, c.task_id, c.external_id, c.content_digest, c.erased_at
    from unnest(%s::uuid[], %s::text[]) as e(task_id, external_id) cross join lateral (
        select * from tasks_completion c where c.task_id = e.task_id and c.external_id = e.external_id offset 0
    ) c
"""


def content_digests(drafts: Sequence[CompletionDraft], owners: Mapping[UUID, UUID]) -> dict[int, bytes]:
    """The content digests of items with an external id, by index.

    owners  the organizations of their tasks, by task
    """
    keys = {owner: encryption.digest_key(owner) for owner in set(owners.values())}
    return {draft.index: encryption.keyed_digest(keys[owners[draft.task_id]], *draft.canonical()) for draft in drafts}


def existing(
    drafts: Sequence[CompletionDraft], digests: Mapping[int, bytes]
) -> tuple[list[StoredItem], list[RefusedItem]]:
    """Look up items by their external ids: a stored item for equal content, a conflict for other content.

    Items whose external id is new are in neither list.
    """
    by_key = {(draft.task_id, draft.external_id): draft for draft in drafts if draft.external_id is not None}
    stored: list[StoredItem] = []
    clashes: list[RefusedItem] = []
    for pk, task_id, external_id, digest, erased_at in _with_external_ids(list(by_key)):
        draft = by_key[task_id, external_id]
        if bytes(digest or b"") == digests[draft.index]:
            stored.append(StoredItem(draft.index, pk, external_id, []))
        else:
            has = "other content" if erased_at is None else "was erased"
            error = FieldError(
                f"{draft.pointer}/externalId",
                "external_id_conflict",
                f"{ids.encode('comp', pk)} has this external id and {has}.",
            )
            clashes.append(RefusedItem(draft.index, 409, error))
    if stored:
        _add_runs(stored)
    return stored, clashes


def _with_external_ids(keys: list[tuple[UUID, str]]) -> Iterable[tuple[UUID, UUID, str, bytes | None, datetime | None]]:
    """Find the completions of these tasks and external ids: id, task, external id, content digest, time of erasure."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(_WITH_EXTERNAL_IDS, [list(column) for column in zip(*keys, strict=True)])
            return cursor.fetchall()
    by_task: dict[UUID, list[str]] = {}
    for task_id, external_id in keys:
        by_task.setdefault(task_id, []).append(external_id)
    columns = ("pk", "task_id", "external_id", "content_digest", "erased_at")
    rows = [
        Completion.objects.filter(task_id=task_id, external_id__in=external_ids).values_list(*columns)
        for task_id, external_ids in by_task.items()
    ]
    return itertools.chain.from_iterable(rows)


def _add_runs(stored: Sequence[StoredItem]) -> None:
    """Fill in the runs of items that were stored by an earlier request."""
    by_completion = {item.completion_id: item for item in stored}
    runs = WorkflowRun.objects.filter(completion_id__in=by_completion).exclude(purpose__in=BACKGROUND).order_by("pk")
    for pk, completion_id in runs.values_list("pk", "completion_id"):
        by_completion[completion_id].run_ids.append(pk)
