"""Equal work is scored once: which completion stands for what a live request asks, and when it no longer does.

Equal is what its graders see as equal: the task version, prompt or messages, response and metadata. The LiveAnswer of
such content and a model names the model's own completion. It stands while that is unfinished; once it is final as long
as every scoring grader still is the version that scored it; a failure, of all or of a part of the panel, stands
FAILED_FOR. Where nothing stands, another model's completion that is judged itself, and may still stand, is the source
of a copy (scores/copies.py); one that failed is none.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import F, Q

from autotune.core import encryption, ids
from autotune.core.clock import database_now
from scores.drafts import Draft
from scores.models import LiveAnswer, Reward, Score, WorkflowRun
from scores.states import RunStatus, WaitsFor
from tasks.models import Task

FAILED_FOR: Final = timedelta(seconds=60)
# In the order of the digests, so that rivals never wait for each other in a circle. A rival's row that is not
# committed yet is waited for; then it stands, since it is none of those that were seen. Where it is another model's
# and both are to be judged, the constraint on `replaces` refuses the statement, and whoever asked looks again.
_TAKE: Final = """
insert into scores_liveanswer (id, organization_id, task_version_id, model_id, answer_digest, completion_id, replaces,
                               created_at)
select id, %s, %s, %s, digest, completion_id, replaces, clock_timestamp()
from unnest(%s::uuid[], %s::bytea[], %s::uuid[], %s::uuid[]) as wanted (id, digest, completion_id, replaces)
on conflict (task_version_id, answer_digest, model_id) do update
set completion_id = excluded.completion_id, replaces = excluded.replaces, created_at = excluded.created_at
where %s or scores_liveanswer.completion_id = any(%s::uuid[])
returning answer_digest
"""
# Digests as one array: a list of a thousand parameters would cost more than the look itself.
_LOOK: Final = """
select answer_digest, completion_id, replaces, model_id from scores_liveanswer
where task_version_id = %(version)s and answer_digest = any(%(digests)s::bytea[]) and model_id = %(model)s
union all
select answer_digest, completion_id, replaces, model_id from scores_liveanswer
where task_version_id = %(version)s and answer_digest = any(%(digests)s::bytea[]) and model_id <> %(model)s
      and replaces is not null
"""
_COLUMNS: Final = ("answer_digest", "completion_id", "replaces", "model_id")
Row = tuple[bytes, UUID, UUID | None, str]


class Standing(NamedTuple):
    """The completion that a LiveAnswer names. `stands`: it answers for equal work.

    source  of an unfinished copy: the completion that is judged
    """

    completion_id: UUID
    final: bool
    stands: bool
    source: UUID | None = None


class Known(NamedTuple):
    """What is there for a digest. Where the model's own completion stands, the rest is not looked at.

    own       the model's own completion; None: it never asked, or the text was erased
    source    another model's completion to copy from; None: there is none
    replaces  LiveAnswer.replaces of a completion that is to be judged now
    """

    own: Standing | None
    source: UUID | None = None
    replaces: UUID = LiveAnswer.NOTHING

    @property
    def stands(self) -> bool:
        return self.own is not None and self.own.stands


class Place(NamedTuple):
    """A new completion that is to stand for a digest. `replaces` as LiveAnswer has it."""

    completion_id: UUID
    replaces: UUID | None


NOTHING: Final = Known(None)


def digests(drafts: Iterable[Draft], organization_id: UUID) -> list[bytes]:
    """What makes each draft equal to another, 32 octets under the organization's digest key."""
    key = encryption.digest_key(organization_id)
    return [encryption.keyed_digest(key, b"live", *one.canonical()[1:]) for one in drafts]


def look(task_version_id: UUID, model_id: str, digests: Collection[bytes]) -> dict[bytes, Known]:
    """What is there for the digests, by digest; no entry for what nobody asked, or was erased.

    Copies of other models are not even read: every step of a training run may leave one.
    """
    own: dict[bytes, UUID] = {}
    judged: dict[bytes, dict[UUID, UUID]] = {}  # completion -> replaces, of any model
    copies: set[UUID] = set()
    for digest, completion_id, replaces, name in _rows(task_version_id, model_id, digests):
        key = bytes(digest)
        if name == model_id:
            own[key] = completion_id
        if replaces is None:
            copies.add(completion_id)
        else:
            judged.setdefault(key, {})[completion_id] = replaces
    if not own and not judged:
        return {}
    ends = _Ends.of({*own.values(), *(completion_id for of_one in judged.values() for completion_id in of_one)})
    known = {digest: Known(ends.standing(completion_id)) for digest, completion_id in own.items()}
    for digest, of_one in judged.items():
        standing = known.get(digest, NOTHING).own
        if standing is None or not standing.stands:
            known[digest] = _known(standing, of_one, ends)
    return _with_sources(known, copies) if copies else known


def _rows(task_version_id: UUID, model_id: str, digests: Collection[bytes]) -> Sequence[Row]:
    """The model's own rows for the digests, and those of other models whose completions are judged themselves."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(_LOOK, {"version": task_version_id, "digests": list(digests), "model": model_id})
            return cursor.fetchall()
    rows = LiveAnswer.objects.filter(task_version=task_version_id, answer_digest__in=list(digests))
    own = rows.filter(model_id=model_id).values_list(*_COLUMNS)
    return list(
        own.union(rows.exclude(model_id=model_id).filter(replaces__isnull=False).values_list(*_COLUMNS), all=True)
    )


def take(
    task: Task,
    task_version_id: UUID,
    model_id: str,
    places: Mapping[bytes, Place],
    *,
    seen: Collection[UUID] = (),
    always: bool = False,
) -> set[bytes]:
    """Let new completions stand for digests, in the caller's transaction; those that a rival did not take first.

    seen    completions that stood before and may be replaced
    always  whatever stands is replaced
    raises  IntegrityError where another model's rival is judged for one of them by now
    """
    if connection.vendor == "postgresql":
        return _upserted(task, task_version_id, model_id, places, seen, always)
    return _replaced(task, task_version_id, model_id, places, seen, always)


def _upserted(
    task: Task,
    task_version_id: UUID,
    model_id: str,
    places: Mapping[bytes, Place],
    seen: Collection[UUID],
    always: bool,
) -> set[bytes]:
    ordered = sorted(places)
    columns: list[Any] = [
        [ids.new() for _ in ordered],
        ordered,
        [places[digest].completion_id for digest in ordered],
        [places[digest].replaces for digest in ordered],
    ]
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, [task.organization_id, task_version_id, model_id, *columns, always, list(seen)])
        return {bytes(row[0]) for row in cursor.fetchall()}


def _replaced(
    task: Task,
    task_version_id: UUID,
    model_id: str,
    places: Mapping[bytes, Place],
    seen: Collection[UUID],
    always: bool,
) -> set[bytes]:
    """On the embedded engine, where the transaction is the only one that writes."""
    present = LiveAnswer.objects.filter(task_version=task_version_id, model_id=model_id, answer_digest__in=list(places))
    (present if always else present.filter(completion_id__in=seen)).delete()
    taken = places.keys() - {bytes(digest) for digest in present.values_list("answer_digest", flat=True)}
    LiveAnswer.objects.bulk_create(
        LiveAnswer(
            organization_id=task.organization_id,
            task_version_id=task_version_id,
            model_id=model_id,
            answer_digest=digest,
            completion_id=places[digest].completion_id,
            replaces=places[digest].replaces,
        )
        for digest in taken
    )
    return taken


@dataclass(frozen=True, slots=True)
class _Ends:
    """How completions have ended: (failed, scored_at) of the final ones, those that a grader scored which is another
    version by now, and since when a failure still stands."""

    rewards: Mapping[UUID, tuple[bool, datetime]]
    outdated: set[UUID]
    limit: datetime | None

    @classmethod
    def of(cls, completion_ids: Collection[UUID]) -> "_Ends":
        ends = Reward.objects.filter(pk__in=completion_ids).values_list("pk", "failed", "value", "scored_at")
        rewards = {pk: (failed > 0 or value is None, scored_at) for pk, failed, value, scored_at in ends}
        limit = database_now() - FAILED_FOR if any(failed for failed, _ in rewards.values()) else None
        return cls(rewards, _outdated(rewards), limit)

    def standing(self, completion_id: UUID) -> Standing:
        """Whether it stands for the model that it is of."""
        stands = completion_id not in self.outdated and self._recent(completion_id)
        return Standing(completion_id, completion_id in self.rewards, stands)

    def may_be_copied(self, completion_id: UUID) -> bool:
        failed, _ = self.rewards.get(completion_id, (False, None))
        return not failed and completion_id not in self.outdated

    def _recent(self, completion_id: UUID) -> bool:
        """Whether an end is no failure, or one that happened after `limit`."""
        end = self.rewards.get(completion_id)
        if end is None or self.limit is None:
            return True
        failed, scored_at = end
        return not failed or scored_at > self.limit


def _known(own: Standing | None, judged: Mapping[UUID, UUID], ends: _Ends) -> Known:
    """What is there for a digest for which the model's own completion does not stand.

    judged  completion -> replaces, of any model
    """
    others = [pk for pk in judged if own is None or pk != own.completion_id]
    sources = [pk for pk in others if ends.may_be_copied(pk)]
    source = max(sources, key=lambda pk: (pk in ends.rewards, pk), default=None)  # a final one before all, the newest
    newest = max(judged)
    if newest in judged.values():  # ids of hosts whose clocks differ: nobody can be told from a rival by it
        newest = ids.new()
    return Known(own, source, newest)


def _with_sources(known: dict[bytes, Known], copies: Collection[UUID]) -> dict[bytes, Known]:
    """The same, where unfinished copies know what they wait for."""
    unfinished = {entry.own.completion_id for entry in known.values() if entry.own and not entry.own.final}
    waiting = unfinished.intersection(copies)
    if not waiting:
        return known
    runs = WorkflowRun.objects.filter(completion_id__in=waiting, status=RunStatus.WAITING, waits_for=WaitsFor.REUSE)
    sources = dict(runs.values_list("completion_id", "reuses"))
    for digest, entry in known.items():
        if entry.own is not None and (source := sources.get(entry.own.completion_id)):
            known[digest] = entry._replace(own=entry.own._replace(source=source))
    return known


def _outdated(completion_ids: Collection[UUID]) -> set[UUID]:
    """Those that a grader scored which is another version by now."""
    if not completion_ids:
        return set()
    counted = Score.objects.live().filter(completion_id__in=completion_ids, shadow=False, superseded=False)
    changed = counted.filter(~Q(grader_version_id=F("grader__version_id")) | Q(grader__version_id=None))
    return set(changed.values_list("completion_id", flat=True))
