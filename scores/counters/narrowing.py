"""Narrow a query to the tasks and days in which a model has scores.

A query for a rare model then does not read the scores of all other models.
"""

from datetime import timedelta
from typing import Any

from django.db.models import Max, Min

from autotune.access import policy
from autotune.core import ids
from scores.counters import building
from scores.counters.ranks import NARROWED
from scores.models import ScoreCount, ScoreTally
from scores.models.counters import CountSpan
from scores.results.filters import Selection
from scores.states import ScoreStanding

DAY = timedelta(days=1)


def of_model(selection: Selection, scores: Any) -> Any:
    """Limit `scores`, those of the selection, to the tasks and days in which its model has scores."""
    principal, model = selection.principal, selection.query.model_id
    reach = policy.reach(principal, "scores", "read")
    if model is None or reach not in ("organization", "all") or building.is_behind(selection.task):
        return scores
    readable = {"model_id": model, "held_out": False, "source__in": selection.sources}
    folded = ScoreCount.objects.filter(**readable, span=CountSpan.DAY).exclude(standing=ScoreStanding.DELETED)
    fresh = ScoreTally.objects.filter(**readable).exclude(standing=ScoreStanding.DELETED)
    if selection.task:
        folded, fresh = folded.filter(task_id=selection.task), fresh.filter(task_id=selection.task)
    elif reach == "organization":
        owner = principal.organization.pk
        folded, fresh = folded.filter(organization_id=owner), fresh.filter(organization_id=owner)
    by_task = folded.order_by().values("task_id").annotate(first=Min("start"), last=Max("start"))
    recent = fresh.order_by().values("task_id").annotate(first=Min("hour"), last=Max("hour"))
    columns = ("task_id", "first", "last")
    rows = list(by_task.values_list(*columns).union(recent.values_list(*columns)))
    if not rows:
        return scores.none()
    tasks = {task for task, _, _ in rows}
    if selection.task is None and len(tasks) <= NARROWED:
        scores = scores.filter(task_id__in=tasks)
    first, last = min(row[1] for row in rows), max(row[2] for row in rows)
    # A score's id holds its time too, less than a day from its column.
    return scores.filter(pk__gte=ids.first_of(first - DAY), pk__lt=ids.first_of(last + 2 * DAY))
