"""Who asks: a person in one organization with one role, by key or by session."""

from dataclasses import dataclass
from functools import cached_property

from autotune.access.models import ApiKey, Organization, Role, User


@dataclass(frozen=True)
class Principal:
    """What a request is allowed to do follows from this alone."""

    organization: Organization
    role: Role
    user: User
    key: ApiKey | None = None

    @property
    def is_test(self) -> bool:
        """A test key may use only graders of its own organization."""
        return self.key is not None and self.key.kind == ApiKey.Kind.TEST

    @cached_property
    def grants(self) -> dict[tuple[str, str], str]:
        """(resource, action) -> the widest scope that the role gives."""
        order = ("own", "organization", "all")
        found: dict[tuple[str, str], str] = {}
        for permission in self.role.permissions:
            for action in permission["actions"]:
                at = (permission["resource"], action)
                if at not in found or order.index(permission["scope"]) > order.index(found[at]):
                    found[at] = permission["scope"]
        return found
