"""What every page of one grader begins with: the grader itself, and what the person may do with it."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.urls import reverse

from autotune.access.frame import navigation
from autotune.access.principal import Principal
from autotune.access.views import find_for
from autotune.core.clock import database_now
from graders import queued_runs, responses
from graders.models import Grader
from graders.statistics import board

RESOURCE = "endpoint_graders"


@dataclass(frozen=True, slots=True)
class May:
    """What the person may do with the grader."""

    update: bool
    delete: bool


def find(principal: Principal, grader_id: UUID, action: str = "read") -> Grader:
    """The grader. raises NotFound, Forbidden as the API does"""
    rows = Grader.objects.live().with_details().select_related("version")
    grader: Grader = find_for(rows, principal, grader_id, action, "grader")
    return grader


def may(principal: Principal, grader: Grader) -> May:
    """What its role and the grader's owner leave to the person."""
    row = Grader.objects.live().filter(pk=grader.pk)
    return May(row.allowed(principal, "update").exists(), row.allowed(principal, "delete").exists())


def context(principal: Principal, grader: Grader, tab: str, **more: Any) -> dict[str, Any]:
    """What the templates of one grader's pages share.

    out    the grader as the API shows it to this person: what is null there is shown nowhere
    whole  whether it is in the person's own reach, and not only listed by another organization
    """
    sees_all = responses.sees_all_of(grader, principal)
    return {
        "title": grader.name,
        "crumbs": navigation.crumbs(
            ("Graders", reverse("graders")) if sees_all else ("Marketplace", reverse("marketplace"))
        ),
        "grader": grader,
        "out": responses.grader_out(grader, principal),
        "whole": sees_all,
        "foreign": grader.organization_id != principal.organization.pk,
        "may": may(principal, grader),
        "tab": tab,
        **more,
    }


def standing(grader: Grader) -> dict[str, Any]:
    """How a grader of one's own stands at this moment."""
    now = database_now()
    is_held = grader.held_until is not None and grader.held_until > now
    return {
        "circuit": board.circuit(grader, now),
        "held_until": grader.held_until if is_held else None,
        "held_reason": grader.held_reason if is_held else "",
        "queue": queued_runs.of([grader.pk])[grader.pk],
    }
