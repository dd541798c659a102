"""The template context of the page layout; each value is computed only if a template shows it."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from autotune.access.accounts import requirement
from autotune.access.frame import entry, navigation
from autotune.access.models import User
from autotune.core import ids
from autotune.core.pages import zones

THEMES = frozenset({"light", "dark"})


def frame(request: HttpRequest) -> dict[str, Any]:
    """Return the layout's context.

    theme              `light`, `dark` or ''
    time_zone          the name of the zone in which the page shows times
    principal, frame   on a page: who acts, and the sections and organizations of the navigation
    outer              the layout of pages that both logged-in and anonymous people see
    second_factor_due  whether the person must set up a second factor first
    """
    theme = request.COOKIES.get("theme", "")
    return {
        "theme": theme if theme in THEMES else "",
        "time_zone": SimpleLazyObject(zones.active),
        "principal": SimpleLazyObject(lambda: getattr(request, "principal", None)),
        "frame": SimpleLazyObject(lambda: _frame(request)),
        "second_factor_due": lambda: _is_due(request),
        "outer": lambda: "access/frame/base.html" if is_framed(request) else "access/accounts/plain.html",
    }


def is_framed(request: Any) -> bool:
    """Return whether the person can act in an organization, so that the page shows its navigation."""
    if hasattr(request, "principal"):
        return True
    return isinstance(getattr(request, "user", None), User) and not _is_due(request) and entry.enter(request)


def _is_due(request: Any) -> bool:
    user = getattr(request, "user", None)
    return isinstance(user, User) and requirement.lacks_second_factor(user)


def _frame(request: Any) -> dict[str, Any]:
    return {
        "sections": navigation.sections(request.principal, request.path),
        "organizations": [
            {
                "id": ids.encode("org", membership.organization_id),
                "name": membership.organization.name,
                "role": membership.role.name,
            }
            for membership in request.memberships
        ],
    }
