"""The principal of a request: a person in one organization with one role, by API key or by session."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from autotune.access.models import ApiKey, Organization, Role, User

ORDER: Final = ("own", "organization", "all")
RANKS: Final = {scope: rank for rank, scope in enumerate(ORDER)}
OPEN: Final = "listed_graders"  # open to everybody: this permission ranks nobody above another
Grants = dict[tuple[str, str], str]


@dataclass(frozen=True)
class Principal:
    """Who makes a request; it decides what the request may do.

    membership_grants  for a key: what the membership allows now. It limits the key, whatever the key's role allows
    """

    organization: Organization
    role: Role
    user: User
    key: ApiKey | None = None
    membership_grants: list[dict[str, Any]] | None = None

    @property
    def is_test(self) -> bool:
        """Whether this is a test key, which may use only graders of its own organization."""
        return self.key is not None and self.key.kind == ApiKey.Kind.TEST

    @cached_property
    def grants(self) -> Grants:
        """Map (resource, action) to the widest scope that the role, and for a key the person's membership, allows."""
        role_grants = granted(self.role.permissions)
        if self.membership_grants is None or self.membership_grants == self.role.permissions:
            return role_grants
        return _lesser(role_grants, granted(self.membership_grants))


def granted(permissions: Iterable[Mapping[str, Any]]) -> Grants:
    """Map (resource, action) to the widest of its scopes."""
    grants: Grants = {}
    for permission in permissions:
        resource, scope = permission["resource"], permission["scope"]
        rank = RANKS[scope]
        for action in permission["actions"]:
            widest = grants.get((resource, action))
            if widest is None or RANKS[widest] < rank:
                grants[resource, action] = scope
    return grants


def wider(scope: str | None, than: str) -> bool:
    """Return whether `scope` reaches at least as far as `than`."""
    return scope is not None and RANKS[scope] >= RANKS[than]


def _lesser(role_grants: Grants, member_grants: Grants) -> Grants:
    return {
        pair: scope if pair[0] == OPEN or wider(member_grants[pair], scope) else member_grants[pair]
        for pair, scope in role_grants.items()
        if pair in member_grants or pair[0] == OPEN
    }
