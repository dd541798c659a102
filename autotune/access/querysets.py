"""Querysets of organizations, members, roles and keys, which can be limited to a principal.

The models cannot import the policy, so these querysets are created from the model classes and not by managers.
"""

from typing import Self

from django.db.models import Q

from autotune.access import policy
from autotune.access.models import ApiKey, Membership, Organization, Role
from autotune.access.policy import ScopedQuerySet
from autotune.access.principal import Principal


class OrganizationQuerySet(ScopedQuerySet):
    """Organizations. They have no owner: a principal reads its own organization, or all."""

    resource = "organizations"
    organization_path = "pk"
    owner_path = ""


class MemberQuerySet(ScopedQuerySet):
    """Members and invitations. `own` is the person's own membership."""

    resource = "members"
    owner_path = "user_id"


class RoleQuerySet(ScopedQuerySet):
    """Roles. They have no owner. A principal that may read any role also reads the built-in ones."""

    resource = "roles"
    owner_path = ""

    def visible_to(self, principal: Principal) -> Self:
        if policy.reach(principal, self.resource, "read") is None:
            return self.none()
        return self.filter(organization=None) | policy.scope(self, principal, self.resource, "read")

    def assignable_in(self, organization: Organization) -> Self:
        """Return the roles that members and keys of the organization can have: the built-in ones and its own."""
        return self.filter(Q(organization=None) | Q(organization=organization))


class ApiKeyQuerySet(ScopedQuerySet):
    """API keys. `own` are those that the person created."""

    resource = "keys"
    owner_path = "user_id"


def organizations() -> OrganizationQuerySet:
    return OrganizationQuerySet(Organization)


def members() -> MemberQuerySet:
    """Return all members and invitations, joined with what an API response shows."""
    return MemberQuerySet(Membership).select_related("organization", "role", "user", "invited_by")


def roles() -> RoleQuerySet:
    return RoleQuerySet(Role)


def api_keys() -> ApiKeyQuerySet:
    """Return all API keys, joined with what an API response shows and without the digest."""
    return ApiKeyQuerySet(ApiKey).select_related("organization", "role").defer("digest")
