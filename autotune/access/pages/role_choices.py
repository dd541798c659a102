"""The roles that a form offers: those of the organization that the person may give."""

from typing import Final

from autotune.access import policy, querysets
from autotune.access.models import Organization, Role
from autotune.access.principal import Principal
from autotune.core import ids

NONE: Final = ("", "Choose a role")


def given_by(principal: Principal, organization: Organization, *, current: Role | None = None) -> list[tuple[str, str]]:
    """Return the (id, name) of the roles that `principal` may give in the organization, and of the current one."""
    assignable = querysets.roles().assignable_in(organization).order_by("organization_id", "name")
    roles = [
        role
        for role in assignable
        if policy.covers(principal, role.permissions) or (current is not None and role.pk == current.pk)
    ]
    return [(ids.encode("role", role.pk), role.label) for role in roles]
