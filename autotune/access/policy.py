"""The one function that decides, and the one that scopes. Roles are data; each queryset class declares its paths."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from django.db.models import Q, QuerySet

from autotune.access.principal import OPEN, Principal, wider
from autotune.core.errors import Forbidden

Q_ = TypeVar("Q_", bound="ScopedQuerySet[Any]")


class ScopedQuerySet(QuerySet):
    """A queryset that can be scoped to a principal.

    resource                 the row of the role table
    organization_path        lookup of the organization whose object it is
    owner_path               lookup of the person who made it; '' where nobody owns one: then `own` reaches none
    owner_organization_path  lookup of the organization in which the owner made it, where that is another
    """

    resource = ""
    organization_path = "organization_id"
    owner_path = "created_by_id"
    owner_organization_path = ""

    def visible_to(self: Q_, principal: Principal) -> Q_:
        """What the principal may read; what is not in it answers 404."""
        return scope(self, principal, self.resource, "read")

    def allowed(self: Q_, principal: Principal, action: str) -> Q_:
        """What the principal may `create`, `read`, `update` or `delete`."""
        return scope(self, principal, self.resource, action)


def reach(principal: Principal, resource: str, action: str) -> str | None:
    """Return `own`, `organization`, `all` or None. Only the operating organization can have `all`."""
    scope = principal.grants.get((resource, action))
    if scope == "all" and not principal.organization.operating:
        return "organization"
    return scope


def require(principal: Principal, resource: str, action: str) -> None:
    """raises Forbidden if the role has no such action on the resource at all"""
    if reach(principal, resource, action) is None:
        raise Forbidden(f"The role {principal.role.name} may not {action} {resource.replace('_', ' ')}.")


def scope(queryset: Q_, principal: Principal, resource: str, action: str) -> Q_:
    """The part of `queryset` on which the principal may do `action`."""
    match reach(principal, resource, action):
        case "all":
            return queryset
        case "organization":
            return queryset.filter(**{queryset.organization_path: principal.organization.pk})
        case "own" if queryset.owner_path:
            path = queryset.owner_organization_path or queryset.organization_path
            return queryset.filter(
                Q(**{queryset.owner_path: principal.user.pk}) & Q(**{path: principal.organization.pk})
            )
        case _:
            return queryset.none()


def covers(principal: Principal, permissions: Iterable[Mapping[str, Any]]) -> bool:
    """Whether each of the permissions lies within what the principal itself may do: nobody gives what they lack."""
    return all(
        wider(reach(principal, entry["resource"], action), entry["scope"])
        for entry in permissions
        if entry["resource"] != OPEN
        for action in entry["actions"]
    )
