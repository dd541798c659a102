"""Find the present rights of the person behind earlier work: a job that runs later, or a link that is used later."""

from uuid import UUID

from autotune.access.keys import tokens
from autotune.access.models import Membership
from autotune.access.principal import Principal


def principal_now(organization_id: UUID, user_id: UUID, key_id: UUID | None) -> Principal | None:
    """Return the present principal of a person, or of the key they used; None if they left or the key has ended."""
    if key_id is not None:
        return _of_key(organization_id, user_id, key_id)
    memberships = Membership.objects.select_related("organization", "role", "user")
    membership = memberships.filter(organization=organization_id, user=user_id).first()
    if membership is None or membership.user is None or not membership.user.is_active:
        return None
    if membership.organization.suspended:
        return None
    return Principal(membership.organization, membership.role, membership.user)


def _of_key(organization_id: UUID, user_id: UUID, key_id: UUID) -> Principal | None:
    key = tokens.usable_now(key_id)
    if key is None or key.role is None or (key.organization_id, key.user_id) != (organization_id, user_id):
        return None
    return Principal(key.organization, key.role, key.user, key, key.membership_grants)
