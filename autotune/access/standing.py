"""Who somebody is by now, for what was asked for before: a job that runs later, a link that is used later."""

from uuid import UUID

from autotune.access import keys
from autotune.access.models import ApiKey, Membership
from autotune.access.principal import Principal


def principal_now(organization_id: UUID, user_id: UUID, key_id: UUID | None) -> Principal | None:
    """The principal of a person, or of the key with which they asked; None if they left or the key is of no use."""
    memberships = Membership.objects.select_related("organization", "role", "user")
    found = memberships.filter(organization=organization_id, user=user_id).first()
    if found is None or found.user is None or not found.user.is_active or found.organization.suspended:
        return None
    if key_id is None:
        return Principal(found.organization, found.role, found.user)
    key = ApiKey.objects.select_related("organization", "role", "user").filter(pk=key_id).first()
    if key is None or key.role is None or not keys.usable(key):
        return None
    return Principal(found.organization, key.role, found.user, key, found.role.permissions)
