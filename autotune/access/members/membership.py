"""Who belongs to an organization, and with which role.

Nobody changes their own role, gives a role that may do more than they themselves, or touches whoever may do more. An
organization keeps somebody who can change its members. The organization's row is the lock of all this.
"""

from uuid import UUID

from django.db import transaction

from autotune.access import principal, querysets
from autotune.access.keys import tokens
from autotune.access.members import invitations
from autotune.access.models import Membership, Organization, Role
from autotune.access.principal import Principal
from autotune.access.roles import ceilings
from autotune.core.errors import Conflict, Forbidden, NotFound


@transaction.atomic
def change_role(by: Principal, member_id: int, role_text: str) -> Membership:
    """Give a member, or somebody invited, another role.

    raises  Forbidden `own_role`, BeyondOwnRole, Conflict `last_admin`; Invalid or NotFound for the role
    """
    member = locked(member_id)
    if member.user_id == by.user.pk:
        raise Forbidden("Nobody changes their own role.", code="own_role")
    role = ceilings.role_named(role_text, member.organization)
    _require_not_above(by, member)
    ceilings.require_covered(by, role.permissions, f"the role {role.name}")
    if member.user_id is None:
        invitations.change_role(role, member, by)
        return member
    if not administers(role):
        require_another_admin(member.organization, without=[member])
    member.role = role
    member.save(update_fields=["role"])
    return member


@transaction.atomic
def remove(by: Principal, member_id: int) -> None:
    """Remove a member, whose keys and sessions end with it; leave oneself; or withdraw an invitation.

    raises  BeyondOwnRole, Conflict `last_admin`
    """
    member = locked(member_id)
    if member.user_id is None or member.user_id != by.user.pk:
        _require_not_above(by, member)
    require_another_admin(member.organization, without=[member])
    end(member)


def end(member: Membership) -> None:
    """The membership is over, whoever decided it."""
    if member.user_id is not None:
        tokens.revoke_all(organization_id=member.organization_id, user_id=member.user_id)
    member.delete()


def locked(member_id: int) -> Membership:
    """The row as it is now, no other of its organization being changed meanwhile.

    raises  NotFound if it was removed
    """
    organization_id = Membership.objects.filter(pk=member_id).values_list("organization_id", flat=True).first()
    if organization_id is not None:
        lock(organization_id)
    member = querysets.members().filter(pk=member_id).first()
    if member is None:
        raise NotFound("There is no such member.")
    return member


def lock(organization_id: UUID) -> None:
    """Held until the transaction ends; rows that merely name the organization may be written meanwhile."""
    Organization.objects.select_for_update(no_key=True).get(pk=organization_id)


def administers(role: Role) -> bool:
    """Whether its holders can change the members of their organization."""
    return principal.wider(principal.granted(role.permissions).get(("members", "update")), "organization")


def require_another_admin(
    organization: Organization, *, without: list[Membership] | None = None, but_role: Role | None = None
) -> None:
    """raises Conflict `last_admin` if nobody would be left who can change members, where now somebody can

    without   members who go, or get a role that cannot
    but_role  a role that will be such a one
    """
    can = [role for role in Role.objects.filter(membership__organization=organization).distinct() if administers(role)]
    admins = Membership.objects.filter(organization=organization, role__in=can, user__is_active=True)
    left = admins.exclude(pk__in=[member.pk for member in without or []])
    if but_role is not None:
        left = left.exclude(role=but_role)
    if not left.exists() and admins.exists():
        raise Conflict("Nobody else could change the members of the organization.", code="last_admin")


def _require_not_above(by: Principal, member: Membership) -> None:
    ceilings.require_not_above(by, member.role, member.organization, f"the member's role {member.role.name}")
