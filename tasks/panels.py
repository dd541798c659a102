"""Panels: the graders of a task with their weights and parts, and the rule that a grader in use is not deleted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from django.db.models import F

from autotune.access.models import Organization
from autotune.access.principal import Principal
from autotune.core import ids
from autotune.core.api import parsing
from autotune.core.errors import Conflict, FieldError, NotFound
from graders.models import Grader
from graders.states import GraderStatus
from tasks.models import PanelMember, TaskVersion
from tasks.requests import PanelEntry
from tasks.states import PanelPart

MEMBERS: Final = PanelMember.objects.select_related("grader").only(  # with what blocking_graders() reads
    "task_version_id", "grader_id", "weight", "part", "grader__status", "grader__deleted_at"
)


@dataclass(frozen=True, slots=True)
class PanelSeat:
    """One grader's place in a panel."""

    grader_id: UUID
    weight: float
    part: str

    def wire(self) -> dict[str, Any]:
        return {"graderId": ids.encode("grader", self.grader_id), "weight": self.weight, "part": self.part}


def seats(version: TaskVersion) -> list[PanelSeat]:
    """Return the panel of a version as plain values."""
    return [PanelSeat(member.grader_id, member.weight, member.part) for member in version.members.all()]


def blocks_submissions(grader: Grader, part: str) -> bool:
    """Whether a panel refuses new completions because of this grader: it scores, and is inactive or deleted."""
    return part == PanelPart.SCORING and (grader.status == GraderStatus.INACTIVE or grader.deleted_at is not None)


def blocking_graders(version: TaskVersion) -> list[UUID]:
    """Return the graders because of which the panel refuses new completions.

    Makes no query if the members were prefetched with MEMBERS.
    """
    return [member.grader_id for member in version.members.all() if blocks_submissions(member.grader, member.part)]


def resolve(
    entries: Sequence[tuple[str, PanelEntry]], *, principal: Principal, organization: Organization
) -> list[PanelSeat]:
    """Return the panel for the entries; call it inside the transaction that writes the panel.

    The graders' rows are locked. If a grader is deleted at the same time, either this call sees that it is gone, or
    the deletion sees this panel.

    entries       each with the JSON pointer of its grader
    organization  owner of the task; an admin of the operating organization may change another organization's task
    raises        NotFound with a pointer for each grader that the organization may not use
    """
    asking = replace(principal, organization=organization)
    grader_ids = [entry.grader_id.uuid for _, entry in entries]
    locked = Grader.objects.usable_by(asking).filter(pk__in=grader_ids).order_by("pk").select_for_update(no_key=True)
    usable = set(locked.values_list("pk", flat=True))
    errors = [
        FieldError(pointer, "not_found", "There is no such grader.")
        for pointer, entry in entries
        if entry.grader_id.uuid not in usable
    ]
    if errors:
        raise NotFound(f"{errors[0].pointer}: {errors[0].detail}", errors=errors[: parsing.MAX_ERRORS])
    return [_seat(entry) for _, entry in entries]


def _seat(entry: PanelEntry) -> PanelSeat:
    weight = 1.0 if entry.weight is None else abs(entry.weight)  # -0.0 is 0
    return PanelSeat(entry.grader_id.uuid, weight, str(entry.part or PanelPart.SCORING))


def keep_what_is_used(sender: object, *, grader: Grader, **_: object) -> None:
    """Receive `grader_retiring`: prevent the deletion of a grader that the current version of a task names."""
    current = PanelMember.objects.filter(grader=grader, task_version=F("task_version__task__version"))
    if current.exists():
        raise Conflict("The panel of a task names this grader. Change or delete the task first.", code="in_use")
