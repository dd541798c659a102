"""Copies of scores: a completion takes the scores of another completion of the task that has equal content.

The runs of a copy wait for `reuse` and are never due. Once the source is final they end with a copy of its scores and
reward: in the call that submitted them, at the hub if a caller waits for them, otherwise in the sweep. A source is
always a completion that graders judged, so no copy depends on another. If the source has nothing to copy (it failed, in
whole or in part, was erased or deleted, or a grader reports another version by now), graders judge the runs as usual.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q

from autotune.core import ids
from autotune.core.clock import database_now
from autotune.core.crypto import encryption
from autotune.core.crypto.fields import Ciphertext, EncryptedField, encrypted
from scores.engine import settling, transitions, wakeups
from scores.engine.materials import TaskFactsCache
from scores.engine.statements import copies as statements
from scores.engine.statements.copies import ScoreCopy
from scores.engine.timeline import appended, entry
from scores.models import LiveAnswer, Reward, Score, WorkflowRun
from scores.querysets import WorkflowRunQuerySet
from scores.states import FINAL, RunPurpose, RunStatus, WaitKind
from scores.workflow_runs import steps
from tasks.models import Completion, PanelMember, Task
from tasks.states import PanelPart

logger = logging.getLogger(__name__)
AT_ONCE: Final = 200  # completions in one transaction
CHECK_LIMIT: Final = 2_000  # waiting runs that one pass of the sweep checks
_NIL: Final = UUID(int=0)
_START: Final = (_NIL, _NIL)
_REASONING: Final = encrypted(Score, "reasoning")
_DETAILS: Final = encrypted(Score, "details")


@dataclass(frozen=True, slots=True)
class EndedCopyWait:
    """A completion that no longer waits for a copy. `is_final`: it has its copy; otherwise its runs are due now."""

    completion_id: UUID
    is_final: bool


@dataclass(frozen=True, slots=True)
class _Judgement:
    """The scores of a source by grader. Empty if none can be copied."""

    scores: Mapping[UUID, Score]


class _Position:
    """Where the next pass of this process's sweep starts: (source, run)."""

    after: tuple[UUID, UUID] = _START


def end(sources: Mapping[UUID, UUID]) -> list[EndedCopyWait]:
    """End the waits for sources that have a reward by now, in transactions of its own.

    sources  waiting completion -> the completion that graders judge
    """
    final = set(Reward.objects.filter(pk__in=set(sources.values())).values_list("pk", flat=True))
    return _end_all([copy for copy, source in sources.items() if source in final])


def sweep() -> list[EndedCopyWait]:
    """End all other waits, also those for sources that are gone.

    A pass checks at most CHECK_LIMIT runs and continues where the previous pass ended.
    """
    rows = list(_page().values_list("completion_id", "reuses", "pk"))
    if not rows and _Position.after != _START:
        _Position.after = _START
        rows = list(_page().values_list("completion_id", "reuses", "pk"))
    if not rows:
        return []
    _Position.after = rows[-1][1:] if len(rows) == CHECK_LIMIT else _START
    sources = {source for _, source, _ in rows}
    final = set(Reward.objects.filter(pk__in=sources).values_list("pk", flat=True))
    unfinished = _unfinished(sources - final)
    return _end_all({copy for copy, source, _ in rows if source in final or source not in unfinished})


def _page() -> WorkflowRunQuerySet:
    """The next waiting runs, in the order of their index."""
    source, run = _Position.after
    later = _waiting().filter(Q(reuses__gt=source) | Q(reuses=source, pk__gt=run), reuses__gte=source)
    return later.order_by("reuses", "pk")[:CHECK_LIMIT]


def _waiting() -> WorkflowRunQuerySet:
    return WorkflowRun.objects.filter(status=RunStatus.WAITING, waits_for=WaitKind.REUSE)


def _unfinished(completion_ids: Collection[UUID]) -> set[UUID]:
    """The completions that a grader still judges."""
    if not completion_ids:
        return set()
    runs = WorkflowRun.objects.filter(completion_id__in=completion_ids, purpose=RunPurpose.SCORE).exclude(
        status__in=FINAL
    )
    return set(runs.values_list("completion_id", flat=True))


def _end_all(completion_ids: Iterable[UUID]) -> list[EndedCopyWait]:
    ended: list[EndedCopyWait] = []
    ordered = sorted(completion_ids)
    for at in range(0, len(ordered), AT_ONCE):
        try:
            with transaction.atomic():
                ended += _end(ordered[at : at + AT_ONCE])
        except encryption.MasterKeyMissing as exc:
            logger.error("scores cannot be copied until a master key is available: %s", exc)
    return ended


def _end(completion_ids: Sequence[UUID]) -> list[EndedCopyWait]:
    """End waits inside a transaction: all rows are read again once the completions and their sources are locked."""
    waiting = _waiting().filter(completion_id__in=completion_ids)
    settling.lock({pk for pair in waiting.values_list("completion_id", "reuses") for pk in pair if pk})
    runs: dict[UUID, list[WorkflowRun]] = {}
    for run in waiting.order_by("pk"):
        runs.setdefault(run.completion_id, []).append(run)
    judgements = _judgements({group[0].reuses for group in runs.values() if group[0].reuses})
    copies: list[ScoreCopy] = []
    due: list[WorkflowRun] = []
    ended: list[EndedCopyWait] = []
    writer = _Writer(database_now())
    for completion_id, group in runs.items():
        judgement = judgements.get(group[0].reuses or _NIL)
        if judgement is None:
            continue
        new_copies = writer.copies(group, judgement)
        copies += new_copies
        due += () if new_copies else group
        ended.append(EndedCopyWait(completion_id, is_final=bool(new_copies)))
    statements.copy(copies)
    panels = {row.completion_id for row in ended if row.is_final and runs[row.completion_id][0].panel_size > 1}
    settling.settle(panels, TaskFactsCache())
    _make_due(due)
    return ended


def _judgements(sources: Collection[UUID]) -> dict[UUID, _Judgement]:
    """The judgement of each (locked) source; no entry for a source that graders still judge."""
    rewards = Reward.objects.in_bulk(list(sources))
    with_text = set(Completion.objects.filter(pk__in=sources, erased_at=None).values_list("pk", flat=True))
    scores = _scores([pk for pk, reward in rewards.items() if reward.value is not None and not reward.failed])
    unfinished = _unfinished(sources)
    judgements: dict[UUID, _Judgement] = {}
    for source in sources:
        source_scores = scores.get(source, {}) if source in with_text else {}
        # A panel that is re-scored has scores of both rounds: they count together once the reward includes them.
        if source in unfinished and (source not in rewards or len(source_scores) > 1):
            continue
        judgements[source] = _Judgement(source_scores if _are_current(source_scores.values()) else {})
    return judgements


def _scores(completion_ids: Sequence[UUID]) -> dict[UUID, dict[UUID, Score]]:
    """The newest score that counts, by completion and grader."""
    counted = Score.objects.live().filter(completion_id__in=completion_ids, purpose=RunPurpose.SCORE, superseded=False)
    scores: dict[UUID, dict[UUID, Score]] = {}
    for score in counted.annotate(version_now=F("grader__version_id")).order_by("pk"):
        scores.setdefault(score.completion_id, {})[score.grader_id] = score
    return scores


def _are_current(scores: Iterable[Any]) -> bool:
    """Whether each score is from the grader's current version, and is not a copy."""
    return all(score.grader_version_id == score.version_now and score.reused_from is None for score in scores)


@dataclass(slots=True)
class _Writer:
    """Prepares copies. `ciphers`: by organization, each opened once."""

    now: datetime
    ciphers: dict[UUID, encryption.Cipher] = field(default_factory=dict)

    def copies(self, runs: Sequence[WorkflowRun], judgement: _Judgement) -> list[ScoreCopy]:
        """A copy for each run of a completion; none if a score is missing or its text cannot be read."""
        copies: list[ScoreCopy] = []
        for run in runs:
            original = judgement.scores.get(run.grader_id)
            if original is None:
                return []
            score_id = ids.new()
            try:
                reasoning = self._envelope(_REASONING, run.organization_id, score_id, original)
                details = self._envelope(_DETAILS, run.organization_id, score_id, original)
            except encryption.MasterKeyMissing:
                raise
            except encryption.Undecryptable as exc:
                logger.error("score %s cannot be copied: %s", original.pk, exc)
                return []
            step = entry(steps.REUSE, 0, steps.COPIED, started=run.created_at, ended=self.now)
            copies.append(ScoreCopy(run.pk, score_id, original.pk, reasoning, details, step))
        return copies

    def _envelope(
        self, column: EncryptedField, organization_id: UUID, score_id: UUID, original: Score
    ) -> Ciphertext | None:
        """The original's value in this column, encrypted for the copy's row."""
        value = getattr(original, column.attname)
        if value is None:
            return None
        if organization_id not in self.ciphers:
            self.ciphers[organization_id] = encryption.cipher_for(organization_id)
        return column.envelope(self.ciphers[organization_id], score_id, value)


def _make_due(runs: Sequence[WorkflowRun]) -> None:
    """Have graders judge waiting runs: due now, with a deadline that starts now and the panel's shadow graders."""
    if not runs:
        return
    now = database_now()
    for run in runs:
        run.steps = appended(run.steps, entry(steps.REUSE, 0, steps.NOT_REUSABLE, started=run.created_at, ended=now))
    WorkflowRun.objects.bulk_update(runs, ["steps"], batch_size=AT_ONCE)
    deadlines = dict(Task.objects.filter(pk__in={run.task_id for run in runs}).values_list("pk", "deadline_ms"))
    for task_id, deadline_ms in deadlines.items():
        waiting = _waiting().filter(pk__in=[run.pk for run in runs if run.task_id == task_id])
        waiting.filter(status__in=transitions.sources(RunStatus.PENDING)).update(
            status=RunStatus.PENDING,
            waits_for="",
            reuses=None,
            deadline_at=now + timedelta(milliseconds=deadline_ms),
        )
    shadows = _shadow_runs(runs, {task_id: now + timedelta(milliseconds=ms) for task_id, ms in deadlines.items()})
    WorkflowRun.objects.bulk_create(shadows)
    _mark_judged({run.completion_id for run in runs})
    wakeups.on_commit({run.grader_id for run in (*runs, *shadows)})


def _shadow_runs(runs: Sequence[WorkflowRun], deadlines: Mapping[UUID, datetime]) -> list[WorkflowRun]:
    """The shadow runs that the completions would have if graders had judged them from the start."""
    first_runs = {run.completion_id: run for run in reversed(runs)}
    version_of = dict(Completion.objects.filter(pk__in=first_runs).values_list("pk", "task_version_id"))
    members = PanelMember.objects.filter(task_version__in=set(version_of.values()), part=PanelPart.SHADOW)
    graders: dict[UUID, list[UUID]] = {}
    for version_id, grader_id in members.filter(grader__deleted_at=None).values_list("task_version_id", "grader_id"):
        graders.setdefault(version_id, []).append(grader_id)
    return [
        WorkflowRun(
            organization_id=run.organization_id,
            completion_id=completion_id,
            task_id=run.task_id,
            grader_id=grader_id,
            purpose=RunPurpose.SHADOW,
            panel_size=0,
            priority=run.priority,
            deadline_at=deadlines[run.task_id],
            generation=run.generation,
        )
        for completion_id, run in first_runs.items()
        for grader_id in graders.get(version_of[completion_id], ())
    ]


def _mark_judged(completion_ids: Collection[UUID]) -> None:
    """Let other completions wait for these. Rows are locked in the same order as by live requests."""
    answers = LiveAnswer.objects.filter(completion_id__in=completion_ids).order_by("task_version", "answer_digest")
    rows = list(answers.select_for_update(no_key=True))
    for row in rows:
        row.replaces = ids.new()
    LiveAnswer.objects.bulk_update(rows, ["replaces"], batch_size=AT_ONCE)
