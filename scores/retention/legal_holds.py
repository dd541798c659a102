"""Place and release legal holds, which keep what they cover from erasure and deletion.

An erasure shares a lock of the organization, and placing a hold takes the lock exclusively. So a hold that was answered
with 201 covers everything that still existed: no erasure that began without the hold ends after it.
"""

import hashlib
import secrets
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q

from autotune.access.models import User
from autotune.core.clock import database_now
from autotune.core.errors import Conflict
from scores.models import LegalHold
from tasks.models import Completion, Task

_WHOLE: Final = Q(completion=None, task=None, model_id="")


@dataclass(frozen=True, slots=True)
class RetentionScope:
    """What a hold or an erasure covers: one completion, one task, one model, or (none of them) an organization."""

    organization_id: UUID
    completion_id: UUID | None = None
    task_id: UUID | None = None
    model_id: str = ""


@dataclass(frozen=True, slots=True)
class Holdable:
    """The attributes of a completion by which a hold can cover it."""

    pk: UUID
    organization_id: UUID
    task_id: UUID
    model_id: str


def place(scope: RetentionScope, reason: str, by: User) -> LegalHold:
    """Place a hold. It waits for erasures in progress; later erasures wait for it."""
    with transaction.atomic():
        _lock(scope.organization_id, exclusive=True)
        hold = LegalHold(
            organization_id=scope.organization_id,
            created_by=by,
            completion_id=scope.completion_id,
            task_id=scope.task_id,
            model_id=scope.model_id,
            created_at=database_now(),
        )
        hold.reason = reason
        hold.save(force_insert=True)
    return hold


def release(hold_id: UUID, by: User) -> None:
    """Release a hold; a released one stays as it is. Retention checks again everything that the hold kept."""
    with transaction.atomic():
        hold = LegalHold.objects.select_for_update(no_key=True).get(pk=hold_id)
        if hold.released_at is not None:
            return
        hold.released_at, hold.released_by = database_now(), by
        hold.save(update_fields=["released_at", "released_by"])
        tasks = Task.objects.filter(organization_id=hold.organization_id)
        if hold.task_id is not None:
            tasks = tasks.filter(pk=hold.task_id)
        elif hold.completion_id is not None:
            tasks = tasks.filter(Exists(Completion.objects.filter(task=OuterRef("pk"), pk=hold.completion_id)))
        tasks.update(erased_to=_beginning())


def _beginning() -> UUID:
    """Return an id before all ids with a time, new on each call, so that an erasure in progress sees the change."""
    return UUID(int=secrets.randbits(64))


def share(organization_ids: Iterable[UUID]) -> None:
    """Block new holds of these organizations until the end of the transaction; call it before any other lock."""
    for organization_id in sorted(set(organization_ids)):
        _lock(organization_id, exclusive=False)


def held(rows: Collection[Holdable]) -> set[UUID]:
    """Return the completions that a hold covers; call `share` first."""
    if not rows:
        return set()
    covering = (
        _WHOLE
        | Q(completion_id__in=[row.pk for row in rows])
        | Q(task_id__in={row.task_id for row in rows})
        | Q(model_id__in={row.model_id for row in rows} - {""})
    )
    active_holds = LegalHold.objects.active().filter(
        covering, organization_id__in={row.organization_id for row in rows}
    )
    holds = set(active_holds.values_list("organization_id", "completion_id", "task_id", "model_id"))
    return {row.pk for row in rows if not holds.isdisjoint(_covers_of(row))} if holds else set()


def held_organizations(organization_ids: Iterable[UUID]) -> set[UUID]:
    """Return the organizations that an active hold covers as a whole."""
    active_holds = LegalHold.objects.active().filter(_WHOLE, organization_id__in=set(organization_ids))
    return set(active_holds.values_list("organization_id", flat=True))


def refusal(what: str = "completion") -> Conflict:
    """Return the error for an object that a legal hold keeps."""
    detail = f"A legal hold covers this {what}: it cannot be erased or deleted until the hold is released."
    return Conflict(detail, code="legal_hold")


def _covers_of(row: Holdable) -> set[tuple[UUID, UUID | None, UUID | None, str]]:
    organization = row.organization_id
    return {
        (organization, None, None, ""),
        (organization, row.pk, None, ""),
        (organization, None, row.task_id, ""),
        (organization, None, None, row.model_id),
    }


def _lock(organization_id: UUID, *, exclusive: bool) -> None:
    """Lock the holds of an organization; on the embedded engine the immediate transaction is the lock."""
    if connection.vendor != "postgresql":
        return
    number = int.from_bytes(hashlib.sha256(b"legal holds" + organization_id.bytes).digest()[:8], "big", signed=True)
    kind = "" if exclusive else "_shared"
    with connection.cursor() as cursor:
        cursor.execute(f"select pg_advisory_xact_lock{kind}(%s)", [number])
