"""Score a completion again: create new runs for the panel of its task version, with the graders' current versions.

The old scores stay. The reward uses the newest score of each scoring grader, so it changes when the new runs have
ended, and stays if they fail; a reward without a value is deleted at once.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Max

from autotune.access.principal import Principal
from autotune.core import ids
from autotune.core.clock import database_now
from autotune.core.errors import Conflict, Forbidden, NotFound
from scores.engine import settling, wakeups
from scores.intake.storing import TaskPanel, panel_of
from scores.models import Reward, WorkflowRun
from scores.states import FINAL, RunPurpose
from tasks.models import Completion
from tasks.states import PanelPart

MAX_GENERATION: Final = 32_767


def rescore(completion_id: UUID, principal: Principal) -> list[UUID]:
    """Create the new runs and return their ids, scoring runs first.

    raises  Conflict `not_final` while a scoring run is unfinished, `grader_inactive`, `task_archived`, `text_erased`,
            `no_graders`;
            Forbidden for a test key if a grader of another organization is in the panel
    """
    with transaction.atomic():
        settling.lock({completion_id})  # a concurrent re-score then sees the runs of this one
        completions = Completion.objects.defer(
            "prompt", "response", "messages", "metadata", "variables", "task__metadata"
        )
        completion = completions.select_related("task").filter(pk=completion_id).first()
        if completion is None:
            raise NotFound("There is no such completion.")  # retention deleted it at this moment
        panel = panel_of(completion.task, completion.task_version_id)  # with which it was submitted
        _require_allowed(completion, panel, principal)
        runs = _runs(completion, panel)
        WorkflowRun.objects.bulk_create(runs)
        Reward.objects.filter(completion_id=completion_id, value=None).delete()
        wakeups.on_commit({run.grader_id for run in runs})
    return [run.pk for run in runs]


def _require_allowed(completion: Completion, panel: TaskPanel, principal: Principal) -> None:
    if completion.erased_at is not None:
        raise Conflict("The completion's text was erased: no grader can judge it any more.", code="text_erased")
    if completion.task.archived:
        raise Conflict("The task is archived.", code="task_archived")
    if not panel.graders:
        raise Conflict("The completion's task version has no graders.", code="no_graders")
    if grader := panel.inactive:
        raise Conflict(
            f"The task's grader {grader.public_id} is inactive. Activate it, or remove it from the panel.",
            code="grader_inactive",
        )
    if principal.is_test and panel.is_judged_outside(principal.organization.pk):
        raise Forbidden("A test key may use only graders of its own organization.")
    if WorkflowRun.objects.filter(completion=completion, purpose=RunPurpose.SCORE).exclude(status__in=FINAL).exists():
        raise Conflict("The completion is still being scored. Try again when it is final.", code="not_final")


def _runs(completion: Completion, panel: TaskPanel) -> Sequence[WorkflowRun]:
    """A run of the next generation for each grader, except shadow graders that are deleted or still have a run."""
    before = WorkflowRun.objects.filter(completion=completion)
    last = before.aggregate(last=Max("generation"))["last"]
    generation = min((-1 if last is None else last) + 1, MAX_GENERATION)
    shadows = before.filter(purpose=RunPurpose.SHADOW)
    busy = set(shadows.exclude(status__in=FINAL).values_list("grader_id", flat=True))
    now = database_now()
    return [
        WorkflowRun(
            id=ids.new(),
            organization_id=completion.organization_id,
            completion_id=completion.pk,
            task_id=completion.task_id,
            grader_id=grader.pk,
            purpose=RunPurpose.SCORE if part == PanelPart.SCORING else RunPurpose.SHADOW,
            panel_size=panel.scoring if part == PanelPart.SCORING else 0,
            priority=completion.priority,
            deadline_at=now + timedelta(milliseconds=completion.task.deadline_ms),
            generation=generation,
            created_at=now,
        )
        for grader, part in sorted(panel.graders, key=lambda entry: entry[1] != PanelPart.SCORING)
        if grader.pk not in busy and not grader.deleted_at
    ]
