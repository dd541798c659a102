"""Cancel runs on request: unfinished runs fail with `cancelled`, and their completions are settled.

A save and a cancel both check the present status in their WHERE clause: the first one wins, and an answer that arrives
after the cancel is dropped.
"""

from collections.abc import Collection
from uuid import UUID

from django.db import transaction

from autotune.core.errors import Conflict
from scores.engine import recording
from scores.engine.materials import TaskFactsCache
from scores.engine.statements import SavedRun
from scores.models import WorkflowRun
from scores.reviews import opening
from scores.states import FINAL, RunStatus

AT_ONCE = 300
MESSAGE = "The run was cancelled before it ended."
_SAVED = ("pk", "completion_id", "task_id", "organization_id", "purpose")


def cancel(run_id: UUID) -> None:
    """Fail one unfinished run.

    raises Conflict `already_final`
    """
    if not cancel_all([run_id]):
        raise Conflict("The run has already ended.", code="already_final")


def cancel_all(run_ids: Collection[UUID]) -> int:
    """Fail the unfinished runs, each group of them in a transaction of its own. Returns how many."""
    ordered_ids, facts, total = sorted(run_ids), TaskFactsCache(), 0
    for at in range(0, len(ordered_ids), AT_ONCE):
        total += _cancel(ordered_ids[at : at + AT_ONCE], facts)
    return total


def _cancel(run_ids: Collection[UUID], facts: TaskFactsCache) -> int:
    with transaction.atomic():
        unfinished = WorkflowRun.objects.filter(pk__in=run_ids).exclude(status__in=FINAL)
        runs = [SavedRun(*row) for row in unfinished.values_list(*_SAVED)]
        if not runs:
            return 0
        ended = recording.fail(runs, "cancelled", MESSAGE, facts, step="cancel")
        statuses = WorkflowRun.objects.filter(pk__in=[run.run_id for run in runs]).values_list("pk", "status")
        # Filtered in Python: a condition on the status would read the index of all failed runs of the history.
        opening.cancel(pk for pk, status in statuses if status == RunStatus.FAILED)
    return ended
