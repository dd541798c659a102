"""The graders that a panel's rows offer: those that the person may use, with the own organization's graders first."""

from typing import Any, Final
from uuid import UUID

from autotune.access.principal import Principal
from autotune.core import ids
from autotune.core.pages.formats import brief
from graders.models import Grader
from graders.states import GraderStatus

MOST: Final = 400  # choices in a select; for other graders, the grader's page links to a new task
Choices = list[tuple[str, Any]]


def offered(principal: Principal, panel_ids: list[UUID]) -> tuple[Choices, bool]:
    """The choices of a row, in groups, and whether there are more graders than they hold.

    panel_ids  graders of the current panel, which can always be chosen; those that the person may not see show their id
    """
    usable = Grader.objects.usable_by(principal).order_by("name", "pk")
    graders = list(usable.only("id", "name", "status", "organization_id")[: MOST + 1])
    choosable, more = graders[:MOST], len(graders) > MOST
    missing = [pk for pk in panel_ids if pk not in {grader.pk for grader in choosable}]
    readable: Any = (
        Grader.objects.visible_to(principal).filter(pk__in=missing).only("id", "name", "status", "organization_id")
    )
    readable_by_id = {grader.pk: grader for grader in (readable if missing else [])}
    own_choices = [_choice(grader) for grader in choosable if grader.organization_id == principal.organization.pk]
    listed_choices = [_choice(grader) for grader in choosable if grader.organization_id != principal.organization.pk]
    panel_choices = [_choice(readable_by_id[pk]) if pk in readable_by_id else _unknown(pk) for pk in missing]
    groups = (
        ("In this panel", panel_choices),
        ("Your organization", own_choices),
        ("Listed by others", listed_choices),
    )
    return [("", "No grader"), *((name, choices) for name, choices in groups if choices)], more


def _choice(grader: Grader) -> tuple[str, str]:
    state = "" if grader.status == GraderStatus.ACTIVE else f" ({grader.status})"
    return ids.encode("grader", grader.pk), f"{brief(grader.name, 80)}{state}"


def _unknown(pk: UUID) -> tuple[str, str]:
    return ids.encode("grader", pk), ids.encode("grader", pk)
