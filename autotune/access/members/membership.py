"""Change roles of members, and remove members.

Nobody can change their own role, give a role with more rights than their own, or change a member with more rights. An
organization always keeps a member who can change its members. The organization's row is the lock for these rules.
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
    """Give a member or an invitation another role.

    raises  Forbidden `own_role`, BeyondOwnRole, Conflict `last_admin`; Invalid or NotFound for the role
    """
    member = locked(member_id)
    if member.user_id == by.user.pk:
        raise Forbidden("You cannot change your own role. Ask another administrator.", code="own_role")
    role = ceilings.role_named(role_text, member.organization)
    _require_not_above(by, member)
    ceilings.require_covered(by, role.permissions, f"the role {role.label}")
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
    """Remove a member and revoke their keys, leave the organization, or withdraw an invitation.

    raises  BeyondOwnRole, Conflict `last_admin`
    """
    member = locked(member_id)
    if member.user_id is None or member.user_id != by.user.pk:
        _require_not_above(by, member)
    require_another_admin(member.organization, without=[member])
    end(member)


def end(member: Membership) -> None:
    """End a membership and revoke its keys, without checking any rights."""
    if member.user_id is not None:
        tokens.revoke_all(organization_id=member.organization_id, user_id=member.user_id)
    member.delete()


def locked(member_id: int) -> Membership:
    """Return the current membership, with its organization locked so that none of its memberships can change.

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
    """Lock the organization until the transaction ends. Rows that refer to it can still be written."""
    Organization.objects.select_for_update(no_key=True).get(pk=organization_id)


def administers(role: Role) -> bool:
    """Return whether the role's holders can change the members of their organization."""
    return principal.wider(principal.granted(role.permissions).get(("members", "update")), "organization")


def require_another_admin(
    organization: Organization, *, without: list[Membership] | None = None, but_role: Role | None = None
) -> None:
    """Raise Conflict `last_admin` if a change would leave nobody who can change the members.

    without   members who leave, or get a role that cannot change members
    but_role  a role that loses the right to change members
    """
    can = [role for role in Role.objects.filter(membership__organization=organization).distinct() if administers(role)]
    admins = Membership.objects.filter(organization=organization, role__in=can, user__is_active=True)
    left = admins.exclude(pk__in=[member.pk for member in without or []])
    if but_role is not None:
        left = left.exclude(role=but_role)
    if not left.exists() and admins.exists():
        raise Conflict(
            "Nobody else can change the organization's members. Give somebody else such a role first.",
            code="last_admin",
        )


def _require_not_above(by: Principal, member: Membership) -> None:
    ceilings.require_not_above(by, member.role, member.organization, f"the member's role {member.role.label}")
