"""Write the rewards of completions whose scoring runs are all final, in the transaction that ends the last run.

A re-score makes runs of a newer generation. The newest score of each scoring grader counts, so a completion keeps its
reward while it is scored again, and also if that fails.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from autotune.core.clock import database_now
from autotune.webhooks.events import outbox
from autotune.webhooks.events.outbox import EmittedEvent
from autotune.webhooks.states import EventKind
from scores.engine import pulses, rewards
from scores.engine.materials import TaskFactsCache
from scores.models import Reward, Score, WorkflowRun
from scores.states import FINAL, RunPurpose, RunStatus
from tasks.models import Completion
from tasks.states import CompletionSource

LOOK_BACK = timedelta(minutes=15)
CHECK_LIMIT = 500  # runs that one statement checks
SCORE_DELETED = "score_deleted"
_CHANGEABLE = ("value", "uncalibrated_value", "confidence", "used", "failed", "error_code", "scored_at")
_COMPARED = ("value", "uncalibrated_value", "confidence", "used", "failed", "error_code")


@dataclass(slots=True)
class _Member:
    """A scoring grader of one completion: its newest run, and its newest score if it has one."""

    run: WorkflowRun
    scores: list[Score] = field(default_factory=list)


def lock(completion_ids: Iterable[UUID]) -> None:
    """Lock completions, in id order and before their runs, so that the last of two concurrent runs sees both scores."""
    rows = Completion.objects.filter(pk__in=set(completion_ids)).order_by("pk")
    list(rows.select_for_update(no_key=True).values_list("pk", flat=True))


def settle(completion_ids: Iterable[UUID], facts: TaskFactsCache) -> None:
    """Write the rewards of the (locked) completions whose newest scoring runs are all final, and emit their events.

    Completions of evaluations have no events.
    Older scores of a grader that has a newer one are marked as superseded.
    """
    ordered_ids = sorted(set(completion_ids))
    if not ordered_ids:
        return
    members = _members(ordered_ids)
    ready = {
        completion_id: panel
        for completion_id, panel in members.items()
        if all(member.run.status in FINAL for member in panel.values())
    }
    if not ready:
        return
    completions = Completion.objects.only("task_version_id", "source", "held_out").in_bulk(list(ready))
    facts.versions(completion.task_version_id for completion in completions.values())
    reward_rows = [_reward(completions[pk], panel, facts) for pk, panel in sorted(ready.items())]
    _supersede(ready)
    _write(reward_rows)


def settle_missed(facts: TaskFactsCache, *, ever: bool = False, limit: int = 500) -> int:
    """Settle panels that finished recently without a reward, as a safety check of the sweep. Return their number.

    ever  look back to the last check of any sweeper, which may be long ago; the first sweeper checks all panels
    """
    since, count = _since(ever), 0
    for completion_ids in _finished(since):
        unsettled = _unsettled(completion_ids)
        if unsettled:
            with transaction.atomic():
                lock(unsettled)
                settle(unsettled, facts)
        count += len(unsettled)
        if count >= limit:
            return count  # the next check handles the rest
    pulses.beat(pulses.SETTLE)
    return count


def _since(ever: bool) -> datetime | None:
    """The time from which finished runs are checked; None: from the beginning."""
    recent_start = database_now() - LOOK_BACK
    if not ever:
        return recent_start
    last = pulses.all_of_them().get(pulses.SETTLE)
    return None if last is None else min(recent_start, last - LOOK_BACK)


def _finished(since: datetime | None) -> Iterator[set[UUID]]:
    """The completions of panel runs that finished since then, in bounded parts and the order of an index: one statement
    for all would compare them with every reward."""
    of_panel = WorkflowRun.objects.filter(panel_size__gt=1).order_by("completed_at", "pk")
    rest = of_panel.filter(completed_at__isnull=False) if since is None else of_panel.filter(completed_at__gt=since)
    while rows := list(rest.values_list("completed_at", "pk", "completion_id")[:CHECK_LIMIT]):
        yield {row[2] for row in rows}
        completed_at, pk, _ = rows[-1]
        rest = of_panel.filter(Q(completed_at__gt=completed_at) | Q(pk__gt=pk), completed_at__gte=completed_at)


def _unsettled(completion_ids: set[UUID]) -> set[UUID]:
    """The completions without a reward whose scoring runs have all ended."""
    unsettled = completion_ids - set(Reward.objects.filter(pk__in=completion_ids).values_list("pk", flat=True))
    if not unsettled:
        return unsettled
    runs = WorkflowRun.objects.filter(completion_id__in=unsettled, panel_size__gt=1)
    unfinished = runs.exclude(status__in=FINAL).values_list("completion_id", flat=True)
    return unsettled - set(unfinished)


def _members(completion_ids: Sequence[UUID]) -> dict[UUID, dict[UUID, _Member]]:
    """By completion and grader."""
    members: dict[UUID, dict[UUID, _Member]] = {}
    scoring_runs = WorkflowRun.objects.filter(completion_id__in=completion_ids, purpose=RunPurpose.SCORE)
    runs = list(scoring_runs.defer("steps").order_by("generation", "pk"))
    for run in runs:
        of_completion = members.setdefault(run.completion_id, {})
        if member := of_completion.get(run.grader_id):
            member.run = run
        else:
            of_completion[run.grader_id] = _Member(run)
    generations = {run.pk: run.generation for run in runs}  # no join: the planner could start it at all runs
    scores = Score.objects.live().filter(completion_id__in=completion_ids, purpose=RunPurpose.SCORE)
    scores = scores.defer("reasoning", "details")
    for score in sorted(scores, key=lambda score: (generations.get(score.run_id, 0), score.pk)):
        if member := members[score.completion_id].get(score.grader_id):
            member.scores.append(score)
    return members


def _reward(completion: Completion, members: dict[UUID, _Member], facts: TaskFactsCache) -> Reward:
    version = facts.version(completion.task_version_id)
    run = next(iter(members.values())).run
    counted = [member.scores[-1] for member in members.values() if member.scores]
    unscored = [member.run for member in members.values() if not member.scores]
    code = _lacking(unscored[0]) if unscored else rewards.NO_SCORE

    def result_of(values: Sequence[float]) -> rewards.RewardResult:
        scored = [
            rewards.WeightedScore(value, score.confidence, version.weights.get(score.grader_id, 1.0))
            for value, score in zip(values, counted, strict=True)
        ]
        return rewards.reward(scored, failed=len(unscored), aggregation=version.aggregation, error_code=code)

    uncalibrated = result_of([score.value for score in counted])
    calibrated = _calibrated_values(counted, run.task_id, facts)
    result = uncalibrated if calibrated is None else result_of(calibrated)
    return Reward(
        completion_id=completion.pk,
        organization_id=run.organization_id,
        task_id=run.task_id,
        value=result.value,
        uncalibrated_value=None if calibrated is None else uncalibrated.value,
        confidence=result.confidence,
        aggregation=version.aggregation,
        used=result.used,
        failed=result.failed,
        error_code=result.error_code,
        source=completion.source,
        held_out=completion.held_out,
    )


def _calibrated_values(scores: Sequence[Score], task_id: UUID, facts: TaskFactsCache) -> list[float] | None:
    """The values that the reward uses, calibrated where there is a calibrated value; None if it uses no such value."""
    if all(score.calibrated_value is None for score in scores) or not facts.task(task_id).use_calibration:
        return None
    return [score.value if score.calibrated_value is None else score.calibrated_value for score in scores]


def _lacking(run: WorkflowRun) -> str:
    """The code that says why a run has no score: it failed, or its score was deleted."""
    return SCORE_DELETED if run.status == RunStatus.COMPLETED else run.error_code


def _supersede(ready: dict[UUID, dict[UUID, _Member]]) -> None:
    """Mark scores that a newer score replaces; if the newer score was deleted, the one before it counts again."""
    newest = [member.scores[-1] for members in ready.values() for member in members.values() if member.scores]
    if back := [score.pk for score in newest if score.superseded]:
        Score.objects.filter(pk__in=back).update(superseded=False)
    older = [
        score.pk
        for members in ready.values()
        for member in members.values()
        for score in member.scores[:-1]
        if not score.superseded
    ]
    if older:
        Score.objects.filter(pk__in=older).update(superseded=True)


def _write(reward_rows: Sequence[Reward]) -> None:
    """Store the rewards that are new or changed, and put their events into the outbox."""
    stored = Reward.objects.in_bulk([reward.pk for reward in reward_rows])
    changed = [reward for reward in reward_rows if reward.pk not in stored or _differs(reward, stored[reward.pk])]
    if not changed:
        return
    Reward.objects.bulk_create(changed, update_conflicts=True, unique_fields=["completion"], update_fields=_CHANGEABLE)
    for kind, failed in ((EventKind.SCORE_COMPLETED, False), (EventKind.SCORE_FAILED, True)):
        events = [
            EmittedEvent(reward.organization_id, reward.pk)
            for reward in changed
            if (reward.value is None) == failed and reward.source != CompletionSource.EVALUATION
        ]
        if events:
            outbox.emit(kind, events)


def _differs(reward: Reward, other: Reward) -> bool:
    return any(getattr(reward, name) != getattr(other, name) for name in _COMPARED)
