"""What the layout shows of the person and of where they are; for templates, worked out only where it is shown."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from autotune.access.frame import navigation
from autotune.core import ids

THEMES = frozenset({"light", "dark"})


def frame(request: HttpRequest) -> dict[str, Any]:
    """`theme`, and on a page `principal` and `frame` (sections, organizations)."""
    theme = request.COOKIES.get("theme", "")
    found: dict[str, Any] = {"theme": theme if theme in THEMES else ""}
    if hasattr(request, "principal"):
        found["principal"] = request.principal
        found["frame"] = SimpleLazyObject(lambda: _frame(request))
    return found


def _frame(request: Any) -> dict[str, Any]:
    return {
        "sections": navigation.sections(request.principal, request.path),
        "organizations": [
            {"id": ids.encode("org", one.organization_id), "name": one.organization.name, "role": one.role.name}
            for one in request.memberships
        ],
    }
