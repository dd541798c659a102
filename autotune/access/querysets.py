"""The named questions about organizations, members, roles and keys. The models stand below the policy, so these are
made from their classes and not by their managers."""

from typing import Self

from django.db.models import Q

from autotune.access import policy
from autotune.access.models import ApiKey, Membership, Organization, Role
from autotune.access.policy import ScopedQuerySet
from autotune.access.principal import Principal


class OrganizationQuerySet(ScopedQuerySet):
    """An organization has no owner: who may read it, reads their own, or all."""

    resource = "organizations"
    organization_path = "pk"
    owner_path = ""


class MemberQuerySet(ScopedQuerySet):
    """Members, and who is invited. `own` is oneself."""

    resource = "members"
    owner_path = "user_id"


class RoleQuerySet(ScopedQuerySet):
    """Roles have no owner. Who may read any reads the built-in ones too, which are nobody's to change."""

    resource = "roles"
    owner_path = ""

    def visible_to(self, principal: Principal) -> Self:
        if policy.reach(principal, self.resource, "read") is None:
            return self.none()
        return self.filter(organization=None) | policy.scope(self, principal, self.resource, "read")

    def assignable_in(self, organization: Organization) -> Self:
        """What a member or a key of the organization may be given: the built-in ones and its own."""
        return self.filter(Q(organization=None) | Q(organization=organization))


class ApiKeyQuerySet(ScopedQuerySet):
    """API keys. `own` are those one made."""

    resource = "keys"
    owner_path = "user_id"


def organizations() -> OrganizationQuerySet:
    return OrganizationQuerySet(Organization)


def members() -> MemberQuerySet:
    """With what an answer of the API shows."""
    return MemberQuerySet(Membership).select_related("organization", "role", "user", "invited_by")


def roles() -> RoleQuerySet:
    return RoleQuerySet(Role)


def api_keys() -> ApiKeyQuerySet:
    """With what an answer of the API shows; never the digest."""
    return ApiKeyQuerySet(ApiKey).select_related("organization", "role").defer("digest")
