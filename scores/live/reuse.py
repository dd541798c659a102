"""Equal work is scored once: which completion stands for what a live request asks, and when it no longer does.

Equal is what its graders see as equal: the task version, prompt or messages, response and metadata. The LiveAnswer of
such content names the completion. It stands while that is unfinished; once it is final as long as every scoring grader
still is the version that scored it; a failure, of all or of a part of the panel, stands FAILED_FOR.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import F, Q

from autotune.core import encryption, ids
from autotune.core.clock import database_now
from scores.drafts import Draft
from scores.models import LiveAnswer, Reward, Score
from tasks.models import Task

FAILED_FOR: Final = timedelta(seconds=60)
# In the order of the digests, so that rivals never wait for each other in a circle. A rival's row that is not
# committed yet is waited for; then it stands, since it is none of those that were seen.
_TAKE: Final = """
insert into scores_liveanswer (id, organization_id, task_version_id, answer_digest, completion_id, created_at)
select id, %s, %s, digest, completion_id, clock_timestamp()
from unnest(%s::uuid[], %s::bytea[], %s::uuid[]) as wanted (id, digest, completion_id)
on conflict (task_version_id, answer_digest) do update
set completion_id = excluded.completion_id, created_at = excluded.created_at
where scores_liveanswer.completion_id = any(%s::uuid[])
returning answer_digest
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """The completion that a LiveAnswer names. `stands`: it answers for equal work."""

    completion_id: UUID
    final: bool
    stands: bool


def digests(drafts: Iterable[Draft], organization_id: UUID) -> list[bytes]:
    """What makes each draft equal to another, 32 octets under the organization's digest key."""
    key = encryption.digest_key(organization_id)
    return [encryption.keyed_digest(key, b"live", *one.canonical()[1:]) for one in drafts]


def standing(task_version_id: UUID, wanted: Collection[bytes]) -> dict[bytes, Standing]:
    """What is there for the digests, by digest; no row for what was never asked, or was erased."""
    known = LiveAnswer.objects.filter(task_version=task_version_id, answer_digest__in=list(wanted))
    named = {bytes(digest): pk for digest, pk in known.values_list("answer_digest", "completion_id")}
    if not named:
        return {}
    ends = Reward.objects.filter(pk__in=named.values()).values_list("pk", "failed", "value", "scored_at")
    rewards = {pk: (failed > 0 or value is None, scored_at) for pk, failed, value, scored_at in ends}
    outdated = _outdated(rewards)
    limit = database_now() - FAILED_FOR if any(failed for failed, _ in rewards.values()) else None
    return {
        digest: Standing(pk, pk in rewards, pk not in outdated and _recent(rewards.get(pk), limit))
        for digest, pk in named.items()
    }


def take(task: Task, task_version_id: UUID, wanted: Mapping[bytes, UUID], *, seen: Collection[UUID]) -> set[bytes]:
    """Let new completions stand for digests, in the caller's transaction; those that a rival did not take first.

    wanted  digest -> the id that its completion will have
    seen    completions that stood before and may be replaced
    """
    if connection.vendor == "postgresql":
        return _upserted(task, task_version_id, wanted, seen)
    return _replaced(task, task_version_id, wanted, seen)


def _upserted(task: Task, task_version_id: UUID, wanted: Mapping[bytes, UUID], seen: Collection[UUID]) -> set[bytes]:
    ordered = sorted(wanted)
    columns: list[Any] = [[ids.new() for _ in ordered], ordered, [wanted[digest] for digest in ordered]]
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, [task.organization_id, task_version_id, *columns, list(seen)])
        return {bytes(row[0]) for row in cursor.fetchall()}


def _replaced(task: Task, task_version_id: UUID, wanted: Mapping[bytes, UUID], seen: Collection[UUID]) -> set[bytes]:
    """On the embedded engine, where the transaction is the only one that writes."""
    standing_now = LiveAnswer.objects.filter(task_version=task_version_id, answer_digest__in=list(wanted))
    standing_now.filter(completion_id__in=seen).delete()
    taken = wanted.keys() - {bytes(digest) for digest in standing_now.values_list("answer_digest", flat=True)}
    LiveAnswer.objects.bulk_create(
        LiveAnswer(
            organization_id=task.organization_id,
            task_version_id=task_version_id,
            answer_digest=digest,
            completion_id=wanted[digest],
        )
        for digest in taken
    )
    return taken


def _outdated(completion_ids: Collection[UUID]) -> set[UUID]:
    """Those that a grader scored which is another version by now."""
    if not completion_ids:
        return set()
    counted = Score.objects.live().filter(completion_id__in=completion_ids, shadow=False, superseded=False)
    changed = counted.filter(~Q(grader_version_id=F("grader__version_id")) | Q(grader__version_id=None))
    return set(changed.values_list("completion_id", flat=True))


def _recent(end: tuple[bool, datetime] | None, limit: datetime | None) -> bool:
    """Whether an end is no failure, or one that happened after `limit`."""
    if end is None or limit is None:
        return True
    failed, scored_at = end
    return not failed or scored_at > limit
