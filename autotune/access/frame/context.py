"""What the layout shows of the person and of where they are; for templates, worked out only where it is shown."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from autotune.access.accounts import requirement
from autotune.access.frame import entry, navigation
from autotune.access.models import User
from autotune.core import ids

THEMES = frozenset({"light", "dark"})


def frame(request: HttpRequest) -> dict[str, Any]:
    """`theme`; on a page `principal` and `frame` (sections, organizations); for pages that somebody may see who is
    logged in and somebody who is not, `outer`, the layout around them; `second_factor_due`, whether they must set one
    up first."""
    theme = request.COOKIES.get("theme", "")
    return {
        "theme": theme if theme in THEMES else "",
        "principal": SimpleLazyObject(lambda: getattr(request, "principal", None)),
        "frame": SimpleLazyObject(lambda: _frame(request)),
        "second_factor_due": lambda: _is_due(request),
        "outer": lambda: "frame/base.html" if is_framed(request) else "account/plain.html",
    }


def is_framed(request: Any) -> bool:
    """Whether the person belongs somewhere and may go there, so that there is a frame to be in."""
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
