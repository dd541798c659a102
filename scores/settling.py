"""Rewards of completions whose scoring runs are all final: written once, in the transaction that made them so."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef

from autotune.core.clock import database_now
from scores import rewards
from scores.materials import Facts
from scores.models import Reward, Score, WorkflowRun
from scores.statements import Saved
from scores.states import FINAL, RunStatus
from tasks.models import Completion, TaskVersion

LOOK_BACK = timedelta(minutes=15)


def lock(completion_ids: Iterable[UUID]) -> None:
    """Lock completions of larger panels, in id order: of two graders that finish together one sees both scores."""
    rows = Completion.objects.filter(pk__in=set(completion_ids)).order_by("pk")
    list(rows.select_for_update(no_key=True).values_list("pk", flat=True))


def settle_sole_failures(failed: Sequence[Saved]) -> None:
    """The failed rewards of completions whose only scoring run failed."""
    sole = [run for run in failed if run.panel_size == 1]
    if not sole:
        return
    versions = TaskVersion.objects.filter(completion__in=[run.completion_id for run in sole])
    by_completion = dict(versions.values_list("completion", "aggregation"))
    Reward.objects.bulk_create(
        [
            _row(
                run,
                rewards.reward([], failed=1, aggregation="", error_code=run.error_code),
                by_completion[run.completion_id],
            )
            for run in sole
        ],
        ignore_conflicts=True,
    )


def settle_panels(completion_ids: Iterable[UUID], facts: Facts) -> None:
    """The rewards of those of the (locked) completions whose scoring runs are all final."""
    wanted = sorted(set(completion_ids))
    if not wanted:
        return
    runs: dict[UUID, list[WorkflowRun]] = {}
    for run in WorkflowRun.objects.filter(completion_id__in=wanted, panel_size__gt=0).order_by("pk"):
        runs.setdefault(run.completion_id, []).append(run)
    ready = {key: held for key, held in runs.items() if all(run.status in FINAL for run in held)}
    version_of = dict(Completion.objects.filter(pk__in=ready).values_list("pk", "task_version_id"))
    facts.versions(version_of.values())
    scores = {score.run_id: score for score in Score.objects.filter(completion_id__in=ready, shadow=False)}
    rows = [_panel_row(held, scores, facts, version_of[key]) for key, held in ready.items()]
    Reward.objects.bulk_create(rows, ignore_conflicts=True)


def settle_overlooked(facts: Facts, *, ever: bool = False, limit: int = 500) -> int:
    """Rewards of panels that finished lately (or `ever`) and have none: a guard of the sweep. How many were found."""
    of_panel = WorkflowRun.objects.filter(panel_size__gt=1)
    late = of_panel.filter(
        ~Exists(Reward.objects.filter(completion=OuterRef("completion"))),
        ~Exists(of_panel.filter(completion=OuterRef("completion")).exclude(status__in=FINAL)),
        status__in=FINAL,
    )
    if not ever:
        late = late.filter(completed_at__gt=database_now() - LOOK_BACK)
    unsettled = set(late.values_list("completion_id", flat=True)[:limit])
    if unsettled:
        with transaction.atomic():
            lock(unsettled)
            settle_panels(unsettled, facts)
    return len(unsettled)


def _panel_row(runs: Sequence[WorkflowRun], scores: dict[UUID, Score], facts: Facts, version_id: UUID) -> Reward:
    version = facts.version(version_id)
    found = [scores[run.pk] for run in runs if run.pk in scores]
    scored = [rewards.Scored(s.value, s.confidence, version.weights.get(s.grader_id, 1.0)) for s in found]
    failed = [run for run in runs if run.status == RunStatus.FAILED]
    code = failed[0].error_code if failed else rewards.NO_SCORE
    result = rewards.reward(scored, failed=len(failed), aggregation=version.aggregation, error_code=code)
    first = runs[0]
    about = Saved(first.pk, first.completion_id, first.task_id, first.organization_id, first.panel_size)
    return _row(about, result, version.aggregation)


def _row(run: Saved, result: rewards.Result, aggregation: str) -> Reward:
    return Reward(
        completion_id=run.completion_id,
        organization_id=run.organization_id,
        task_id=run.task_id,
        value=result.value,
        confidence=result.confidence,
        aggregation=aggregation,
        used=result.used,
        failed=result.failed,
        error_code=result.error_code,
    )
