"""Who made a task or a version, as far as the reader may know."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import Q

from autotune.access import policy
from autotune.access.audit import querysets
from autotune.access.models import AuditEvent, User
from autotune.access.pages.people import Names
from autotune.access.principal import Principal
from autotune.core import ids
from tasks.models import Task, TaskVersion

NEAR: Final = timedelta(seconds=3)  # between a version and the event of the request that made it


def called(principal: Principal, person: User | UUID) -> str:
    """The address of a member that the principal may see, `you`, else the id, which the API shows too."""
    pk = person if isinstance(person, UUID) else person.pk
    if pk != principal.user.pk and policy.reach(principal, "members", "read") is None:
        return ids.encode("user", pk)
    return Names(principal, [pk]).of(pk)


def makers(principal: Principal, task: Task, versions: Sequence[TaskVersion]) -> Mapping[UUID, str]:
    """Who made which version, in one query: of the first one the task tells, of the others the audit trail, which not
    everybody reads. What it does not tell is left out.
    """
    if not versions or policy.reach(principal, "audit", "read") is None:
        return {}
    near = Q()
    for version in versions:
        first, last = (ids.first_of(version.created_at + way * NEAR) for way in (-1, 1))
        near |= Q(id__gte=first, id__lt=last)
    events = querysets.visible_to(principal).filter(
        near, chain=task.organization_id, resource="tasks", object_id=task.public_id,
        action__in=("tasks.create", "tasks.update"), outcome=AuditEvent.Outcome.SUCCEEDED,
    )  # fmt: skip
    told = list(events.values_list("at", "actor"))
    return {version.pk: actor for version in versions if (actor := _nearest(told, version.created_at)) is not None}


def _nearest(told: Iterable[tuple[datetime, str]], moment: datetime) -> str | None:
    near = [(abs(at - moment), actor) for at, actor in told if abs(at - moment) <= NEAR]
    return min(near)[1] if near else None
