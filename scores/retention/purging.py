"""Delete completions with all their rows when the retention of their scores has ended."""

from collections.abc import Collection
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import transaction

from scores.feedback.models import Feedback
from scores.models import AttemptEvidence, CallbackItem, Review, Reward, Score, WorkflowRun
from scores.retention import erasing
from tasks.models import Completion

AT_ONCE: Final = erasing.AT_ONCE  # completions of one transaction


def purge(completion_ids: Collection[UUID], *, scored_before: datetime) -> int:
    """Delete those of at most AT_ONCE completions that have ended, are not held, and have no newer score.

    Returns how many. Plain statements delete the rows: Django's collector would load every row that refers to them.
    """
    with transaction.atomic():
        outcome, callbacks = erasing.choose(completion_ids, leave_unfinished=True, again=True)
        young = Score.objects.filter(completion_id__in=outcome.gone, created_at__gte=scored_before)
        doomed = set(outcome.gone) - set(young.values_list("completion_id", flat=True))
        if doomed:
            erasing.forget(doomed, callbacks, deleted=True)
            runs = WorkflowRun.objects.filter(completion_id__in=doomed)
            for of_runs in (CallbackItem.objects.filter(run__in=runs), AttemptEvidence.objects.filter(run__in=runs)):
                of_runs._raw_delete(of_runs.db)
            for model in (Score, Reward, Feedback, Review, WorkflowRun):
                rows = model._default_manager.filter(completion_id__in=doomed)
                rows._raw_delete(rows.db)
            completions = Completion.objects.filter(pk__in=doomed)
            completions._raw_delete(completions.db)
    return len(doomed)
