"""Score equal live items once: find the completion that an item can share, and decide when it no longer can.

Items are equal if graders see the same: the task version, prompt or messages, response and metadata. The LiveAnswer of
such content and a model names the model's own completion. Autotune reuses it while it is unfinished, and once it is
final as long as every scoring grader still is the version that scored it; a failure, of all or of a part of the panel,
for FAILED_FOR. If the model has no reusable completion, the source of a copy (scores/engine/copies.py) is another
model's completion that a grader judges, if it is current and did not fail.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import F, Q

from autotune.core import ids
from autotune.core.clock import database_now
from autotune.core.crypto import encryption
from scores.intake.drafts import CompletionDraft
from scores.models import LiveAnswer, Reward, Score, WorkflowRun
from scores.states import RunPurpose, RunStatus, WaitKind
from tasks.models import Task

FAILED_FOR: Final = timedelta(seconds=60)
# In the order of the digests, so that concurrent requests cannot deadlock. The statement waits for rows that another
# request has not committed yet and then keeps them, since they are not in the list of seen ones. If such a row is
# another model's and both completions need a judgement, the constraint on `replaces` rejects the statement, and the
# caller looks up the completions again.
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
# Digests as one array: a list of a thousand parameters would cost more than the lookup itself.
_LOOK_UP: Final = """
select answer_digest, completion_id, replaces, model_id from scores_liveanswer
where task_version_id = %(version)s and answer_digest = any(%(digests)s::bytea[]) and model_id = %(model)s
union all
select answer_digest, completion_id, replaces, model_id from scores_liveanswer
where task_version_id = %(version)s and answer_digest = any(%(digests)s::bytea[]) and model_id <> %(model)s
      and replaces is not null
"""
_COLUMNS: Final = ("answer_digest", "completion_id", "replaces", "model_id")
Row = tuple[bytes, UUID, UUID | None, str]


class LiveCompletion(NamedTuple):
    """The completion that a LiveAnswer names. `reusable`: equal requests share it.

    source  the completion that is judged for this one, if this is an unfinished copy
    """

    completion_id: UUID
    final: bool
    reusable: bool
    source: UUID | None = None


class ReuseOptions(NamedTuple):
    """What a request may reuse for a digest. `source` and `replaces` matter only if `own` is not reusable.

    own       the model's own completion; None if it never sent a request, or the text was erased
    source    another model's completion to copy from, if there is one
    replaces  LiveAnswer.replaces of a completion that is to be judged now
    """

    own: LiveCompletion | None
    source: UUID | None = None
    replaces: UUID = LiveAnswer.NOTHING

    @property
    def own_is_reusable(self) -> bool:
        return self.own is not None and self.own.reusable


class LiveAnswerEntry(NamedTuple):
    """The new completion of a digest. `replaces` is LiveAnswer's."""

    completion_id: UUID
    replaces: UUID | None


NOTHING: Final = ReuseOptions(None)


def digests(drafts: Iterable[CompletionDraft], organization_id: UUID) -> list[bytes]:
    """Return a digest for each draft, the same for equal items: 32 bytes under the organization's digest key."""
    key = encryption.digest_key(organization_id)
    return [encryption.keyed_digest(key, b"live", *draft.canonical()[1:]) for draft in drafts]


def look_up(task_version_id: UUID, model_id: str, digests: Collection[bytes]) -> dict[bytes, ReuseOptions]:
    """Find what a request may reuse, by digest; no entry for content that is new, or was erased.

    It does not read copies of other models: every step of a training run may leave one.
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
    ends = _Ends.of({*own.values(), *(completion_id for candidates in judged.values() for completion_id in candidates)})
    options = {digest: ReuseOptions(ends.live_completion(completion_id)) for digest, completion_id in own.items()}
    for digest, candidates in judged.items():
        own_option = options.get(digest, NOTHING)
        if not own_option.own_is_reusable:
            options[digest] = _options(own_option.own, candidates, ends)
    return _with_sources(options, copies) if copies else options


def _rows(task_version_id: UUID, model_id: str, digests: Collection[bytes]) -> Sequence[Row]:
    """The model's own rows for the digests, and other models' rows whose completions are no copies."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(_LOOK_UP, {"version": task_version_id, "digests": list(digests), "model": model_id})
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
    places: Mapping[bytes, LiveAnswerEntry],
    *,
    seen: Collection[UUID] = (),
    always: bool = False,
) -> set[bytes]:
    """Assign new completions to digests in the caller's transaction. Returns the digests that no rival took first.

    seen    completions that the caller saw, and that may be replaced
    always  replace every completion
    raises  IntegrityError if a rival of another model is now judged for one of the digests
    """
    if connection.vendor == "postgresql":
        return _upserted(task, task_version_id, model_id, places, seen, always)
    return _replaced(task, task_version_id, model_id, places, seen, always)


def _upserted(
    task: Task,
    task_version_id: UUID,
    model_id: str,
    places: Mapping[bytes, LiveAnswerEntry],
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
    places: Mapping[bytes, LiveAnswerEntry],
    seen: Collection[UUID],
    always: bool,
) -> set[bytes]:
    """Replace rows on the embedded engine, where no other transaction writes at the same time."""
    present = LiveAnswer.objects.filter(task_version=task_version_id, model_id=model_id, answer_digest__in=list(places))
    (present if always else present.filter(completion_id__in=seen)).delete()
    taken_digests = places.keys() - {bytes(digest) for digest in present.values_list("answer_digest", flat=True)}
    LiveAnswer.objects.bulk_create(
        LiveAnswer(
            organization_id=task.organization_id,
            task_version_id=task_version_id,
            model_id=model_id,
            answer_digest=digest,
            completion_id=places[digest].completion_id,
            replaces=places[digest].replaces,
        )
        for digest in taken_digests
    )
    return taken_digests


@dataclass(frozen=True, slots=True)
class _Ends:
    """How completions ended.

    rewards   (failed, scored_at) of the final ones
    outdated  those scored by a grader that has changed its version since
    limit     the time after which failures are still reused; None if none failed
    """

    rewards: Mapping[UUID, tuple[bool, datetime]]
    outdated: set[UUID]
    limit: datetime | None

    @classmethod
    def of(cls, completion_ids: Collection[UUID]) -> "_Ends":
        ends = Reward.objects.filter(pk__in=completion_ids).values_list("pk", "failed", "value", "scored_at")
        rewards = {pk: (failed > 0 or value is None, scored_at) for pk, failed, value, scored_at in ends}
        limit = database_now() - FAILED_FOR if any(failed for failed, _ in rewards.values()) else None
        return cls(rewards, _outdated(rewards), limit)

    def live_completion(self, completion_id: UUID) -> LiveCompletion:
        """The completion, with whether its own model may reuse it."""
        reusable = completion_id not in self.outdated and self._is_recent(completion_id)
        return LiveCompletion(completion_id, completion_id in self.rewards, reusable)

    def may_be_copied(self, completion_id: UUID) -> bool:
        failed, _ = self.rewards.get(completion_id, (False, None))
        return not failed and completion_id not in self.outdated

    def _is_recent(self, completion_id: UUID) -> bool:
        """Whether a completion did not fail, or failed after `limit`."""
        end = self.rewards.get(completion_id)
        if end is None or self.limit is None:
            return True
        failed, scored_at = end
        return not failed or scored_at > self.limit


def _options(own: LiveCompletion | None, judged: Mapping[UUID, UUID], ends: _Ends) -> ReuseOptions:
    """The options for a digest if the model's own completion is not reusable.

    judged  completion -> replaces, of any model
    """
    others = [pk for pk in judged if own is None or pk != own.completion_id]
    sources = [pk for pk in others if ends.may_be_copied(pk)]
    source = max(sources, key=lambda pk: (pk in ends.rewards, pk), default=None)  # the newest final one if any
    newest = max(judged)
    if newest in judged.values():  # ids of hosts whose clocks differ: this one cannot identify a rival
        newest = ids.new()
    return ReuseOptions(own, source, newest)


def _with_sources(options: dict[bytes, ReuseOptions], copies: Collection[UUID]) -> dict[bytes, ReuseOptions]:
    """Add to unfinished copies the source that they wait for."""
    unfinished = {entry.own.completion_id for entry in options.values() if entry.own and not entry.own.final}
    waiting = unfinished.intersection(copies)
    if not waiting:
        return options
    runs = WorkflowRun.objects.filter(completion_id__in=waiting, status=RunStatus.WAITING, waits_for=WaitKind.REUSE)
    sources = dict(runs.values_list("completion_id", "reuses"))
    for digest, entry in options.items():
        if entry.own is not None and (source := sources.get(entry.own.completion_id)):
            options[digest] = entry._replace(own=entry.own._replace(source=source))
    return options


def _outdated(completion_ids: Collection[UUID]) -> set[UUID]:
    """The completions scored by a grader that has changed its version since."""
    if not completion_ids:
        return set()
    counted = Score.objects.live().filter(completion_id__in=completion_ids, purpose=RunPurpose.SCORE, superseded=False)
    changed = counted.filter(~Q(grader_version_id=F("grader__version_id")) | Q(grader__version_id=None))
    return set(changed.values_list("completion_id", flat=True))
