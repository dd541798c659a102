"""Check that a role, key or invitation has no rights that its creator lacks."""

from collections.abc import Iterable, Mapping
from typing import Any

from autotune.access import policy, querysets
from autotune.access.models import Organization, Role
from autotune.access.principal import Principal
from autotune.core import ids
from autotune.core.errors import Forbidden, Invalid, NotFound


class BeyondOwnRole(Forbidden):
    code, title = "beyond_own_role", "Beyond your own role"


def role_named(text: str, organization: Organization, pointer: str = "/role") -> Role:
    """Return the role with this id or name, built in or the organization's own.

    raises  NotFound with the pointer for an id, Invalid for a name
    """
    assignable = querysets.roles().assignable_in(organization)
    try:
        role = assignable.filter(pk=ids.decode("role", text)).first()
    except ValueError:
        role = assignable.filter(name=text).first()
        if role is None:
            raise Invalid.field(
                pointer, "unknown_role", "there is no role with this name; enter a role's name or id."
            ) from None
    if role is None:
        raise NotFound.field(pointer, "role")
    return role


def require_covered(principal: Principal, permissions: Iterable[Mapping[str, Any]], what: str) -> None:
    """Raise BeyondOwnRole unless the principal itself has all of the permissions."""
    if not policy.covers(principal, permissions):
        raise BeyondOwnRole(f"The role {principal.role.label} has fewer rights than {what}.")


def require_not_above(principal: Principal, role: Role, organization: Organization, whose: str) -> None:
    """Raise BeyondOwnRole if holders of the role in the organization may do more than the principal."""
    if not policy.covers(principal, _in(organization, role.permissions)):
        raise BeyondOwnRole(f"The role {principal.role.label} has fewer rights than {whose}.")


def _in(organization: Organization, permissions: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the permissions as they apply in the organization: only the operating one has the scope `all`."""
    if organization.operating:
        return list(permissions)
    return [{**entry, "scope": "organization"} if entry["scope"] == "all" else entry for entry in permissions]
