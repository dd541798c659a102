"""Requests about erasures and legal holds."""

from typing import Annotated, Any
from uuid import UUID

from msgspec import Meta

from autotune.access import policy
from autotune.access.policy import ScopedQuerySet
from autotune.access.principal import Principal
from autotune.core.api import parsing
from autotune.core.api.operations import BodyStruct
from autotune.core.api.pagination import PageQuery
from autotune.core.api.parsing import PublicId
from autotune.core.errors import FieldError, Invalid, NotFound
from scores.results.filters import CompletionRef, TaskRef
from scores.retention.legal_holds import RetentionScope
from scores.states import ErasureStatus
from tasks.models import Completion, Task

RESOURCE = "retention"
ModelName = Annotated[str, Meta(min_length=1, max_length=200)]


class NewErasure(BodyStruct):
    """The completions to erase: exactly one of the three. `modelId` is a model of the caller's organization."""

    completion_id: CompletionRef | None = None
    task_id: TaskRef | None = None
    model_id: ModelName | None = None


class NewLegalHold(BodyStruct):
    """What to keep, and why: at most one of the three ids. Without one, it is the caller's whole organization."""

    reason: Annotated[str, Meta(min_length=1, max_length=2000, pattern=r"\S")]
    completion_id: CompletionRef | None = None
    task_id: TaskRef | None = None
    model_id: ModelName | None = None


class ErasureQuery(PageQuery):
    status: ErasureStatus | None = None


class LegalHoldQuery(PageQuery):
    """Filters of the list of holds. `active`: true for holds in force, false for released ones."""

    active: bool | None = None


def scope_of(body: NewErasure | NewLegalHold, principal: Principal, *, needs_one: bool) -> RetentionScope:
    """Return the scope that the body names, if the caller may act on its retention.

    raises Invalid, NotFound with a pointer
    """
    names = {"/completionId": body.completion_id, "/taskId": body.task_id, "/modelId": body.model_id}
    pointers = [pointer for pointer, value in names.items() if value is not None]
    if len(pointers) > 1:
        message = "Send only one of `completionId`, `taskId` and `modelId`."
        raise parsing.invalid([FieldError(pointer, "mutually_exclusive", message) for pointer in pointers])
    if needs_one and not pointers:
        raise Invalid.field("", "missing_field", "Send one of completionId, taskId and modelId.")
    if body.completion_id is not None:
        owner = _owner(Completion.objects.all(), principal, body.completion_id, "/completionId", "completion")
        return RetentionScope(owner, completion_id=body.completion_id.uuid)
    if body.task_id is not None:
        owner = _owner(Task.objects.all(), principal, body.task_id, "/taskId", "task")
        return RetentionScope(owner, task_id=body.task_id.uuid)
    return RetentionScope(principal.organization.pk, model_id=body.model_id or "")


def _owner(queryset: ScopedQuerySet, principal: Principal, reference: PublicId, pointer: str, what: str) -> UUID:
    """Return the organization of an object; raises NotFound."""
    reachable: Any = policy.scope(queryset, principal, RESOURCE, "create").filter(pk=reference.uuid)
    owner: UUID | None = reachable.values_list("organization_id", flat=True).first()
    if owner is None:
        raise NotFound.field(pointer, what)
    return owner
