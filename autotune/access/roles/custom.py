"""Create, change and delete an organization's own roles, which never allow more than their creator may do."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from msgspec import UNSET

from autotune.access.members import membership
from autotune.access.models import ApiKey, Membership, Role
from autotune.access.principal import Principal
from autotune.access.requests import NewRole, PermissionIn, RolePatch
from autotune.access.roles import builtin, ceilings
from autotune.core import ids
from autotune.core.errors import Conflict, Forbidden, Invalid, NotFound

MAX_ROLES = 200  # for each organization


@transaction.atomic
def create(principal: Principal, body: NewRole) -> Role:
    """Create a role in the caller's organization.

    raises  Invalid, BeyondOwnRole, Conflict `name_taken`, `too_many_roles`
    """
    permissions = _permissions(body.permissions)
    ceilings.require_covered(principal, permissions, "this role")
    membership.lock(principal.organization.pk)
    _require_free(principal.organization.pk, body.name)
    if Role.objects.filter(organization=principal.organization).count() >= MAX_ROLES:
        raise Conflict(
            f"The organization has {MAX_ROLES} roles of its own, the maximum. Delete one first.", code="too_many_roles"
        )
    return Role.objects.create(
        organization=principal.organization,
        name=body.name,
        description=body.description or "",
        permissions=permissions,
    )


@transaction.atomic
def change(principal: Principal, role_id: UUID, body: RolePatch) -> Role:
    """Change a role for all members and keys that have it.

    raises  Invalid; BeyondOwnRole if it allows, or would allow, more than the caller may do; Forbidden `own_role`;
            Conflict `name_taken`, `last_admin`
    """
    role = _locked(role_id)
    ceilings.require_not_above(principal, role, _organization(role), f"the role {role.label}")
    changes: dict[str, Any] = {}
    if isinstance(body.name, str) and body.name != role.name:
        _require_free(_organization(role).pk, body.name)
        changes["name"] = body.name
    if body.description is not UNSET:
        changes["description"] = body.description or ""
    if isinstance(body.permissions, list):
        changes["permissions"] = _allowed(principal, role, body.permissions)
    for name, value in changes.items():
        setattr(role, name, value)
    if changes:
        role.save(update_fields=[*changes])
    return role


@transaction.atomic
def delete(principal: Principal, role_id: UUID) -> None:
    """Delete a role that no member, open invitation or working key has.

    raises  BeyondOwnRole, Conflict `in_use`
    """
    role = _locked(role_id)
    ceilings.require_not_above(principal, role, _organization(role), f"the role {role.label}")
    now = timezone.now()
    over = Q(user=None, expires_at__lte=now)
    ended = Q(revoked_at__isnull=False) | Q(expires_at__lte=now)
    has_members = Membership.objects.filter(role=role).exclude(over).exists()
    if has_members or ApiKey.objects.filter(role=role).exclude(ended).exists():
        raise Conflict("Members, invitations or keys have this role. Give them another one first.", code="in_use")
    Membership.objects.filter(over, role=role).delete()
    ApiKey.objects.filter(ended, role=role).update(role=None)
    role.delete()


def _allowed(principal: Principal, role: Role, entries: Sequence[PermissionIn]) -> list[dict[str, Any]]:
    permissions = _permissions(entries)
    if role.pk == principal.role.pk or Membership.objects.filter(role=role, user=principal.user).exists():
        raise Forbidden("You cannot change what your own role allows. Ask another administrator.", code="own_role")
    ceilings.require_covered(principal, permissions, f"the role {role.label} after the change")
    if membership.administers(role) and not membership.administers(Role(permissions=permissions)):
        membership.require_another_admin(_organization(role), but_role=role)
    return permissions


def _permissions(entries: Sequence[PermissionIn]) -> list[dict[str, Any]]:
    permissions = [msgspec.to_builtins(entry) for entry in entries]
    for place, entry in enumerate(permissions):
        if fault := builtin.resource_fault(entry["resource"]):
            raise Invalid.field(f"/permissions/{place}/resource", "invalid_choice", fault)
        if fault := builtin.fault([entry]):
            raise Invalid.field(f"/permissions/{place}", "invalid_choice", fault)
    permissions = builtin.expanded(permissions)
    if fault := builtin.fault(permissions):  # short names have made them more than a role can hold
        raise Invalid.field("/permissions", "invalid_length", fault)
    return permissions


def _require_free(organization_id: UUID, name: str) -> None:
    """Raise Invalid for a name that looks like an id, or Conflict `name_taken` for the name of an existing role."""
    try:
        ids.decode("role", name)
    except ValueError:
        pass
    else:
        raise Invalid.field("/name", "invalid_format", "this looks like a role's id; enter another name.")
    if Role.objects.filter(Q(organization=None) | Q(organization_id=organization_id), name=name).exists():
        raise Conflict("A role with this name exists already. Choose another name.", code="name_taken")


def _locked(role_id: UUID) -> Role:
    """Lock the organization's members and roles, and return the role as it is now.

    raises  NotFound if it was deleted, Forbidden for a built-in one
    """
    organization_id = Role.objects.filter(pk=role_id).values_list("organization_id", flat=True).first()
    if organization_id is not None:
        membership.lock(organization_id)
    role = Role.objects.select_related("organization").select_for_update(of=("self",)).filter(pk=role_id).first()
    if role is None:
        raise NotFound("There is no such role.")
    if role.organization is None:
        raise Forbidden(
            "Built-in roles cannot be changed or deleted. Create your own role instead.", code="built_in_role"
        )
    return role


def _organization(role: Role) -> Any:
    assert role.organization is not None
    return role.organization
