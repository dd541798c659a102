"""Delete old health checks, status changes and guards, and compact old statistics.

It is safe to run two clean-ups at the same time.
"""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from graders.models import Grader, GraderCheck, GraderGuard, GraderStatusChange
from graders.statistics import folding

CHECKS_FOR: Final = timedelta(days=30)
CHANGES_FOR: Final = timedelta(days=400)
GUARDS_FOR: Final = timedelta(days=1)  # after the grader was deleted
KEPT: Final = 200  # the newest rows of each grader stay, whatever their age
MOST_CHECKS: Final = 20_000  # upper limit of checks for each grader, whatever their age
MOST_CHANGES: Final = 5_000  # likewise for status changes: nothing limits how often a grader changes status
AT_ONCE: Final = 5_000  # rows in one statement


def clean(now: datetime) -> int:
    """Delete old rows and compact old statistics; return by how many rows the tables shrank."""
    deleted = 0
    for grader_id in Grader.objects.order_by("pk").values_list("pk", flat=True).iterator(chunk_size=1_000):
        deleted += _prune(GraderCheck, grader_id, older_than=now - CHECKS_FOR, beyond=KEPT)
        deleted += _prune(GraderCheck, grader_id, older_than=now, beyond=MOST_CHECKS)
        deleted += _prune(GraderStatusChange, grader_id, older_than=now - CHANGES_FOR, beyond=KEPT)
        deleted += _prune(GraderStatusChange, grader_id, older_than=now, beyond=MOST_CHANGES)
        deleted += folding.compact(grader_id, now)
    return deleted + GraderGuard.objects.filter(grader__deleted_at__lt=now - GUARDS_FOR).delete()[0]


def _prune(model: type[GraderCheck | GraderStatusChange], grader_id: UUID, *, older_than: datetime, beyond: int) -> int:
    """Delete a grader's rows from before `older_than` in short statements, except its newest `beyond`."""
    newest = model.objects.newest_of(grader_id)
    last_kept = newest.values_list("pk", flat=True)[beyond - 1 : beyond].first()
    if last_kept is None:
        return 0
    deleted = 0
    oldest = newest.reverse().filter(pk__lt=last_kept).values_list("pk", "at")
    while some := list(oldest[:AT_ONCE]):
        doomed = [pk for pk, created_at in some if created_at < older_than]
        deleted += model.objects.filter(pk__in=doomed).delete()[0]
        if len(doomed) < len(some):  # younger rows follow: ids and times have the same order
            break
    return deleted
