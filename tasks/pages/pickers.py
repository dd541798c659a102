"""Which graders a panel's rows offer: those that the person may put into a panel, its own organization's first."""

from typing import Any, Final
from uuid import UUID

from autotune.access.principal import Principal
from autotune.core import ids
from autotune.core.templatetags.ui import brief
from graders.models import Grader
from graders.states import GraderStatus

MOST: Final = 400  # choices in a select; a grader beyond them comes by its own page, which links to a new task
Choices = list[tuple[str, Any]]


def offered(principal: Principal, kept: list[UUID]) -> tuple[Choices, bool]:
    """The choices of a row, in groups, and whether there are more graders than they hold.

    kept  graders of the panel as it is: they stay choosable, and one that may not be looked at is told by its id
    """
    usable = Grader.objects.usable_by(principal).order_by("name", "pk")
    found = list(usable.only("id", "name", "status", "organization_id")[: MOST + 1])
    shown, more = found[:MOST], len(found) > MOST
    missing = [pk for pk in kept if pk not in {grader.pk for grader in shown}]
    readable: Any = (
        Grader.objects.visible_to(principal).filter(pk__in=missing).only("id", "name", "status", "organization_id")
    )
    known = {grader.pk: grader for grader in (readable if missing else [])}
    ours = [_choice(grader) for grader in shown if grader.organization_id == principal.organization.pk]
    listed = [_choice(grader) for grader in shown if grader.organization_id != principal.organization.pk]
    others = [_choice(known[pk]) if pk in known else _unknown(pk) for pk in missing]
    groups = (("In this panel", others), ("Your organization", ours), ("Listed by others", listed))
    return [("", "No grader"), *((name, choices) for name, choices in groups if choices)], more


def _choice(grader: Grader) -> tuple[str, str]:
    state = "" if grader.status == GraderStatus.ACTIVE else f" ({grader.status})"
    return ids.encode("grader", grader.pk), f"{brief(grader.name, 80)}{state}"


def _unknown(pk: UUID) -> tuple[str, str]:
    return ids.encode("grader", pk), ids.encode("grader", pk)
