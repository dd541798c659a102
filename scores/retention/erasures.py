"""Request erasures and process them in bounded batches. A job that is killed loses at most its last batch.

The transaction of each batch stores the progress of its erasure. Beat looks for open erasures, in case a wake-up was
lost. An erasure covers only what was submitted before its request.
"""

import time
from functools import partial
from typing import Final
from uuid import UUID

from django.db import transaction

from autotune.access.audit import trail
from autotune.access.models import User
from autotune.core.brokers import queue
from autotune.core.clock import database_now
from scores.engine import pulses
from scores.models import Erasure
from scores.retention import erasing, legal_holds
from scores.retention.legal_holds import Holdable, RetentionScope
from scores.states import ErasureStatus
from tasks.models import Completion

JOB: Final = "scores.erase"
ACTOR: Final = "erasure"  # in the audit log, beside the request of a person
BUDGET_S: Final = 25.0  # of one job; the next one continues
READ_LIMIT: Final = 2_000  # completions that one batch reads; most may be erased or of another model


def request(scope: RetentionScope, by: User) -> Erasure:
    """Create an erasure, which begins after the commit.

    raises Conflict `legal_hold` for a single completion that a hold covers
    """
    with transaction.atomic():
        if scope.completion_id is not None:
            legal_holds.share([scope.organization_id])
            facts = Completion.objects.filter(pk=scope.completion_id)
            rows = [Holdable(*row) for row in facts.values_list("pk", "organization_id", "task_id", "model_id")]
            if legal_holds.held(rows):
                raise legal_holds.refusal()
        erasure = Erasure.objects.create(
            organization_id=scope.organization_id,
            created_by=by,
            completion_id=scope.completion_id,
            task_id=scope.task_id,
            model_id=scope.model_id,
            created_at=database_now(),
        )
        transaction.on_commit(partial(queue.send, JOB), robust=True)
    return erasure


def work(budget_s: float = BUDGET_S) -> bool:
    """Process open erasures, the oldest first, for at most this many seconds. Returns whether work may be left."""
    until = time.monotonic() + budget_s
    while time.monotonic() < until:
        went_on = step()
        pulses.beat(pulses.ERASE)
        if not went_on:
            return False
    return True


def step() -> bool:
    """Process one batch of the oldest erasure that no other worker has locked. Returns whether there was one."""
    with transaction.atomic():
        waiting = Erasure.objects.exclude(status=ErasureStatus.COMPLETED).order_by("pk")
        erasure = waiting.select_for_update(skip_locked=True, no_key=True).first()
        if erasure is None:
            return False
        chosen, last = _next(erasure)
        outcome = erasing.erase(chosen, end_unfinished=True)
        if outcome.gone:
            trail.record(
                action="completions.erase",
                resource="completions",
                organization=erasure.organization,
                actor=ACTOR,
                object_id=erasure.public_id,
                objects_count=len(outcome.gone),
            )
        erasure.erased += len(outcome.gone)
        erasure.held += len(outcome.held)
        erasure.status = ErasureStatus.RUNNING
        if last is None:
            erasure.status, erasure.completed_at = ErasureStatus.COMPLETED, database_now()
        else:
            erasure.cursor = last
        erasure.save(update_fields=["erased", "held", "status", "cursor", "completed_at"])
    return True


def _next(erasure: Erasure) -> tuple[list[UUID], UUID | None]:
    """Return the completions of the next batch and the id up to which it reads, or None for the last batch.

    It reads ranges of ids in the order of an index, so each batch is short, however few completions it finds.
    """
    if erasure.completion_id is not None:
        return [erasure.completion_id], None
    completions = Completion.objects.filter(organization_id=erasure.organization_id, pk__lt=erasure.pk).order_by("pk")
    if erasure.task_id is not None:
        completions = completions.filter(task_id=erasure.task_id)
    if erasure.cursor is not None:
        completions = completions.filter(pk__gt=erasure.cursor)
    rows = list(completions.values_list("pk", "model_id", "erased_at")[:READ_LIMIT])
    chosen: list[UUID] = []
    for pk, model_id, erased_at in rows:
        if erased_at is None and erasure.model_id in ("", model_id):
            chosen.append(pk)
            if len(chosen) == erasing.AT_ONCE:
                return chosen, pk
    return chosen, rows[-1][0] if len(rows) == READ_LIMIT else None
