"""Apply retention: erase text after the days of its task or organization; delete rows after the organization's days.

Both work in bounded batches, in the order of the ids of completions, which is the order of submission. Each task stores
up to where its text is erased, so that the next job does not read those completions again; releasing a hold resets it.
A completion that is still being scored is kept until it has ended.
"""

import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce

from autotune.access.audit import trail
from autotune.access.models import Organization
from autotune.core import ids
from scores.engine import pulses
from scores.retention import erasing, legal_holds, purging
from tasks.models import Completion, Task

JOB: Final = "scores.retain"
ACTOR: Final = "retention"  # in the audit log
BUDGET_S: Final = 240.0  # of one job; the next one continues
READ_LIMIT: Final = 2_000  # completions that one query reads
TASKS_AT_ONCE: Final = 500


def work(now: datetime, budget_s: float = BUDGET_S) -> bool:
    """Erase and delete what is past its days, for at most this many seconds. Returns whether work is left."""
    is_left = _work(now, budget_s)
    pulses.beat(pulses.RETAIN)
    return is_left


def is_wanted() -> bool:
    """Return whether any organization or task limits its retention."""
    limited = Organization.objects.filter(Q(text_days__isnull=False) | Q(score_days__isnull=False))
    return limited.exists() or Task.objects.filter(text_days__isnull=False).exists()


def _work(now: datetime, budget_s: float) -> bool:
    until = time.monotonic() + budget_s
    for task_id, organization_id, days in _tasks():
        if organization_id in legal_holds.held_organizations([organization_id]):
            continue
        if not _erase_of_task(task_id, organization_id, ids.first_of(now - timedelta(days=days)), until):
            return True
    for organization_id, days in _organizations():
        if organization_id in legal_holds.held_organizations([organization_id]):
            continue
        if not _purge_of_organization(organization_id, now - timedelta(days=days), until):
            return True
    return False


def _tasks() -> Iterator[tuple[UUID, UUID, int]]:
    """Yield (task, organization, days) of the tasks whose text is not kept forever."""
    annotated = Task.objects.annotate(days=Coalesce(F("text_days"), F("organization__text_days")))
    limited = annotated.filter(days__isnull=False).order_by("pk").values_list("pk", "organization_id", "days")
    rows = list(limited[:TASKS_AT_ONCE])
    while rows:
        yield from rows
        rows = list(limited.filter(pk__gt=rows[-1][0])[:TASKS_AT_ONCE])


def _organizations() -> list[tuple[UUID, int]]:
    limited = Organization.objects.filter(score_days__isnull=False).order_by("pk")
    return [(pk, days) for pk, days in limited.values_list("pk", "score_days") if days is not None]


def _erase_of_task(task_id: UUID, organization_id: UUID, before: UUID, until: float) -> bool:
    """Erase the text of a task's completions with smaller ids. Returns False if the time ran out before the end."""
    start = Task.objects.filter(pk=task_id).values_list("erased_to", flat=True).first()
    completions = Completion.objects.filter(task_id=task_id, pk__lt=before).order_by("pk")
    after, done = start, start  # the last id read, and the last one before an unfinished completion
    met_unfinished = False
    while rows := list(
        (completions.filter(pk__gt=after) if after else completions).values_list("pk", "erased_at")[:READ_LIMIT]
    ):
        due = [pk for pk, erased_at in rows if erased_at is None]
        unfinished: set[UUID] = set()
        for at in range(0, len(due), erasing.AT_ONCE):
            unfinished |= _erase(task_id, organization_id, due[at : at + erasing.AT_ONCE])
            if time.monotonic() > until:
                return False
        for pk, _ in rows:
            met_unfinished = met_unfinished or pk in unfinished
            if not met_unfinished:
                done = pk
        after = rows[-1][0]
        if done != start:
            # if a hold was released in between, it has reset this value, which then stays
            Task.objects.filter(pk=task_id, erased_to=start).update(erased_to=done)
            start = done
    return True


def _erase(task_id: UUID, organization_id: UUID, completion_ids: Sequence[UUID]) -> set[UUID]:
    """Erase those that may be erased, and record it in the audit log. Returns the unfinished ones."""
    with transaction.atomic():
        outcome = erasing.erase(completion_ids, end_unfinished=False)
        if outcome.gone:
            owner = Organization.objects.get(pk=organization_id)
            _audit("completions.erase", owner, ids.encode("task", task_id), len(outcome.gone))
    return set(outcome.unfinished)


def _purge_of_organization(organization_id: UUID, before: datetime, until: float) -> bool:
    """Delete an organization's older completions with all rows. Returns False if the time ran out before the end."""
    completions = Completion.objects.filter(organization_id=organization_id, pk__lt=ids.first_of(before)).order_by("pk")
    rest = completions
    while rows := list(rest.values_list("pk", flat=True)[: purging.AT_ONCE]):
        _purge(organization_id, rows, before)
        rest = completions.filter(pk__gt=rows[-1])
        if time.monotonic() > until:
            return False
    return True


def _purge(organization_id: UUID, completion_ids: Sequence[UUID], before: datetime) -> None:
    with transaction.atomic():
        count = purging.purge(completion_ids, scored_before=before)
        if count:
            owner = Organization.objects.get(pk=organization_id)
            _audit("completions.delete", owner, ids.encode("org", organization_id), count)


def _audit(action: str, organization: Organization, about: str, count: int) -> None:
    """Record an event in the audit log."""
    trail.record(
        action=action, resource="completions", organization=organization, actor=ACTOR, object_id=about,
        objects_count=count,
    )  # fmt: skip
