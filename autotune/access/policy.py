"""Decide what a principal may do, and limit querysets to it. Roles are data; each queryset class declares its paths."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from django.db.models import Q, QuerySet

from autotune.access.principal import OPEN, Principal, wider
from autotune.core import labels
from autotune.core.errors import Forbidden

Q_ = TypeVar("Q_", bound="ScopedQuerySet[Any]")


class ScopedQuerySet(QuerySet):
    """A queryset that can be scoped to a principal.

    resource                 the resource that permissions name
    organization_path        lookup of the organization to which the object belongs
    owner_path               lookup of the person who created it; '' if objects have no owner: `own` then reaches none
    owner_organization_path  lookup of the organization in which the owner created it, if that is another one
    """

    resource = ""
    organization_path = "organization_id"
    owner_path = "created_by_id"
    owner_organization_path = ""

    def visible_to(self: Q_, principal: Principal) -> Q_:
        """Return the objects that the principal may read; all others answer 404."""
        return scope(self, principal, self.resource, "read")

    def allowed(self: Q_, principal: Principal, action: str) -> Q_:
        """Return the objects on which the principal may do `action`: `create`, `read`, `update` or `delete`."""
        return scope(self, principal, self.resource, action)


def reach(principal: Principal, resource: str, action: str) -> str | None:
    """Return an action's scope: `own`, `organization`, `all` or None. Only the operating organization has `all`."""
    scope = principal.grants.get((resource, action))
    if scope == "all" and not principal.organization.operating:
        return "organization"
    return scope


def require(principal: Principal, resource: str, action: str) -> None:
    """Raise Forbidden if the role does not allow the action on the resource in any scope."""
    if reach(principal, resource, action) is None:
        raise Forbidden(f"The role {principal.role.label} may not {action} {labels.resource(resource)}.")


def scope(queryset: Q_, principal: Principal, resource: str, action: str) -> Q_:
    """Return the part of `queryset` on which the principal may do `action`."""
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
    """Return whether the principal has each of the permissions itself: nobody can give rights that they lack."""
    return all(
        wider(reach(principal, entry["resource"], action), entry["scope"])
        for entry in permissions
        if entry["resource"] != OPEN
        for action in entry["actions"]
    )
