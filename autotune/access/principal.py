"""Who asks: a person in one organization with one role, by key or by session."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from autotune.access.models import ApiKey, Organization, Role, User

ORDER: Final = ("own", "organization", "all")
OPEN: Final = "listed_graders"  # what owners list is open: holding it raises nobody above another
Grants = dict[tuple[str, str], str]


@dataclass(frozen=True)
class Principal:
    """What a request is allowed to do follows from this alone.

    held  for a key: what the person's membership allows now. The key does no more than that, whatever its role says
    """

    organization: Organization
    role: Role
    user: User
    key: ApiKey | None = None
    held: list[dict[str, Any]] | None = None

    @property
    def is_test(self) -> bool:
        """A test key may use only graders of its own organization."""
        return self.key is not None and self.key.kind == ApiKey.Kind.TEST

    @cached_property
    def grants(self) -> Grants:
        """(resource, action) -> the widest scope that the role gives, and for a key the person's membership too."""
        given = granted(self.role.permissions)
        return given if self.held is None else _lesser(given, granted(self.held))


def granted(permissions: Iterable[Mapping[str, Any]]) -> Grants:
    """(resource, action) -> the widest of its scopes."""
    found: Grants = {}
    for permission in permissions:
        for action in permission["actions"]:
            at = (permission["resource"], action)
            if not wider(found.get(at), permission["scope"]):
                found[at] = permission["scope"]
    return found


def wider(scope: str | None, than: str) -> bool:
    """Whether `scope` reaches at least as far as `than`."""
    return scope is not None and ORDER.index(scope) >= ORDER.index(than)


def _lesser(one: Grants, other: Grants) -> Grants:
    return {
        at: scope if at[0] == OPEN or wider(other[at], scope) else other[at]
        for at, scope in one.items()
        if at in other or at[0] == OPEN
    }
