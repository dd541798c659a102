"""Load a grader for its pages, with what the person may do and the context that its templates share."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.urls import reverse

from autotune.access import policy
from autotune.access.frame import navigation
from autotune.access.principal import Principal
from autotune.access.views import find_for
from autotune.core.clock import database_now
from graders import queued_runs, responses
from graders.models import Grader
from graders.statistics import board

RESOURCE = "endpoint_graders"


@dataclass(frozen=True, slots=True)
class GraderPermissions:
    """What the person may do with the grader."""

    update: bool
    delete: bool


def find(principal: Principal, grader_id: UUID, action: str = "read") -> Grader:
    """Return a grader. raises NotFound, Forbidden as the API does"""
    rows = Grader.objects.live().with_details().select_related("version")
    grader: Grader = find_for(rows, principal, grader_id, action, "grader")
    return grader


def may(principal: Principal, grader: Grader) -> GraderPermissions:
    """Return what the person may do with the grader."""
    row = Grader.objects.live().filter(pk=grader.pk)
    return GraderPermissions(row.allowed(principal, "update").exists(), row.allowed(principal, "delete").exists())


def context(principal: Principal, grader: Grader, tab: str, **more: Any) -> dict[str, Any]:
    """Return the context that the templates of a grader's pages share.

    out    the grader as the API shows it to this person: no page shows what is null there
    whole  whether the person's role reaches the grader itself, not only its entry in the marketplace
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
        "may_read_history": sees_all and policy.reach(principal, "audit", "read") is not None,
        "tab": tab,
        **more,
    }


def present_state(grader: Grader) -> dict[str, Any]:
    """Return the present circuit, pause and queue of a grader, for people who may see all of it."""
    now = database_now()
    is_paused = grader.held_until is not None and grader.held_until > now
    return {
        "circuit": board.circuit(grader, now),
        "held_until": grader.held_until if is_paused else None,
        "held_reason": grader.held_reason if is_paused else "",
        "queue": queued_runs.of([grader.pk])[grader.pk],
    }
