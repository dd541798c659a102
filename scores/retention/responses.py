"""Responses about erasures and legal holds."""

from datetime import datetime
from uuid import UUID

from msgspec import UNSET, UnsetType

from autotune.core import clock, ids
from autotune.core.api.operations import ApiStruct
from autotune.core.api.pagination import Pagination
from autotune.core.crypto.fields import LegibleRow
from scores.models import Erasure, LegalHold
from scores.states import ErasureStatus


class ErasureOut(ApiStruct):
    """An erasure; one of `completionId`, `taskId` and `modelId` is set. `held`: completions that a legal hold kept."""

    id: str
    organization_id: str
    completion_id: str | None
    task_id: str | None
    model_id: str | None
    status: ErasureStatus
    erased: int
    held: int
    created_by: str
    created_at: str
    completed_at: str | None


class ErasureAnswer(ApiStruct):
    erasure: ErasureOut


class ErasurePage(ApiStruct):
    erasures: list[ErasureOut]
    pagination: Pagination


class LegalHoldOut(ApiStruct):
    """A legal hold. Until `releasedAt` it keeps the completion, the task, the model, or (all null) the organization.

    `unreadable` names the members that are null because they cannot be decrypted; it is absent otherwise.
    """

    id: str
    organization_id: str
    completion_id: str | None
    task_id: str | None
    model_id: str | None
    reason: str | None
    created_by: str
    created_at: str
    released_by: str | None
    released_at: str | None
    unreadable: list[str] | UnsetType = UNSET


class LegalHoldAnswer(ApiStruct):
    legal_hold: LegalHoldOut


class LegalHoldPage(ApiStruct):
    legal_holds: list[LegalHoldOut]
    pagination: Pagination


def erasure_out(erasure: Erasure) -> ErasureOut:
    """Return an erasure for the API; makes no query."""
    return ErasureOut(
        id=erasure.public_id,
        organization_id=ids.encode("org", erasure.organization_id),
        completion_id=_id("comp", erasure.completion_id),
        task_id=_id("task", erasure.task_id),
        model_id=erasure.model_id or None,
        status=ErasureStatus(erasure.status),
        erased=erasure.erased,
        held=erasure.held,
        created_by=ids.encode("user", erasure.created_by_id),
        created_at=clock.wire(erasure.created_at),
        completed_at=_wire(erasure.completed_at),
    )


def legal_hold_out(hold: LegalHold) -> LegalHoldOut:
    """Return a legal hold for the API; makes no query."""
    text = LegibleRow(hold)
    reason = text.reason
    return LegalHoldOut(
        id=hold.public_id,
        organization_id=ids.encode("org", hold.organization_id),
        completion_id=_id("comp", hold.completion_id),
        task_id=_id("task", hold.task_id),
        model_id=hold.model_id or None,
        reason=reason,
        created_by=ids.encode("user", hold.created_by_id),
        created_at=clock.wire(hold.created_at),
        released_by=_id("user", hold.released_by_id),
        released_at=_wire(hold.released_at),
        unreadable=text.marker(),
    )


def _id(kind: str, value: UUID | None) -> str | None:
    return None if value is None else ids.encode(kind, value)


def _wire(moment: datetime | None) -> str | None:
    return None if moment is None else clock.wire(moment)
