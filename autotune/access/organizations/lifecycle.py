"""Create, change and suspend organizations.

Only the operating organization creates and suspends them; an organization's own admins set its name and retention.
"""

from typing import Any
from uuid import UUID

from django.db import transaction
from msgspec import UNSET

from autotune.access import policy, querysets
from autotune.access.models import Organization
from autotune.access.principal import Principal
from autotune.access.requests import NewOrganization, OrganizationPatch, RetentionPatch
from autotune.core.errors import Conflict, Forbidden, NotFound


@transaction.atomic
def create(principal: Principal, body: NewOrganization) -> Organization:
    """Create an organization without members; its first admin is invited afterwards.

    raises  Forbidden unless the caller acts for all organizations, Conflict `name_taken`
    """
    _require_all(principal, "create")
    # One at a time: otherwise two requests could both find the same name free.
    Organization.objects.select_for_update(no_key=True).get(pk=principal.organization.pk)
    _require_free(body.name)
    return Organization.objects.create(name=body.name)


@transaction.atomic
def change(principal: Principal, organization_id: UUID, body: OrganizationPatch) -> Organization:
    """Change what the body contains; each member of `retention` separately.

    raises  NotFound, Forbidden by what is changed; Conflict `name_taken`, `operating_organization`
    """
    organization = _require_changeable(principal, organization_id, body)
    Organization.objects.select_for_update(no_key=True).get(pk=organization.pk)
    changes: dict[str, Any] = {}
    if isinstance(body.name, str) and body.name != organization.name:
        _require_free(body.name)
        changes["name"] = body.name
    if isinstance(body.suspended, bool):
        _require_all(principal, "update")
        if body.suspended and organization.operating:
            raise Conflict("The operating organization cannot be suspended.", code="operating_organization")
        changes["suspended"] = body.suspended
    if isinstance(body.retention, RetentionPatch):
        changes |= _retention(body.retention)
    for name, value in changes.items():
        setattr(organization, name, value)
    if changes:
        organization.save(update_fields=[*changes])
    return organization


def readable(principal: Principal) -> querysets.OrganizationQuerySet:
    """Return the organizations whose data or retention the principal may read."""
    every = querysets.organizations()
    return every.visible_to(principal) | policy.scope(every, principal, "retention", "read")


def _require_changeable(principal: Principal, organization_id: UUID, body: OrganizationPatch) -> Organization:
    needed = []
    if body.name is not UNSET or body.suspended is not UNSET or body.retention is UNSET:
        needed.append("organizations")
    if body.retention is not UNSET:
        needed.append("retention")
    for resource in needed:
        policy.require(principal, resource, "update")
        if (
            not policy.scope(querysets.organizations(), principal, resource, "update")
            .filter(pk=organization_id)
            .exists()
        ):
            if readable(principal).filter(pk=organization_id).exists():
                raise Forbidden(f"The role {principal.role.label} may not update this organization.")
            raise NotFound("There is no such organization.")
    return Organization.objects.get(pk=organization_id)


def _retention(patch: RetentionPatch) -> dict[str, Any]:
    days = {"text_days": patch.text_days, "score_days": patch.score_days}
    return {name: value for name, value in days.items() if value is not UNSET}


def _require_all(principal: Principal, action: str) -> None:
    if policy.reach(principal, "organizations", action) != "all":
        raise Forbidden(f"Only the operating organization may {action} organizations.")


def _require_free(name: str) -> None:
    if Organization.objects.filter(name=name).exists():
        raise Conflict("An organization with this name exists already. Choose another name.", code="name_taken")
