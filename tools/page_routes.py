"""List the routes of all pages, and their addresses in a test world with one object of each kind."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, get_resolver

OUTSIDE = (
    "api/",
    "admin/",
    "account",
    "invitations/",
    "settings/audit/none",
)  # the API, the administration, signing in
ID = re.compile(r"<(\w+):\w+>")
PLAIN = {"str": "prompt", "int": "1"}  # values of parameters that are not ids


@dataclass(frozen=True)
class Page:
    """A route of a page. `path` has `:kind` in place of ids; `view` is the wrapped view that `page` returned."""

    path: str
    name: str
    view: Any

    @property
    def needs(self) -> tuple[tuple[str, str], ...] | None:
        """Return the permissions of which a role needs one; None for a view without access control."""
        return getattr(self.view, "needs", None)

    @property
    def methods(self) -> tuple[str, ...]:
        return getattr(self.view, "methods", ("GET", "HEAD"))

    @property
    def kinds(self) -> list[str]:
        """Return the kinds of the ids in its path."""
        return [kind for kind in re.findall(r":(\w+)", self.path) if kind not in PLAIN]

    def address(self, ids: Mapping[str, str]) -> str:
        """Return the path with an id of each kind inserted."""
        return re.sub(r":(\w+)", lambda match: ids.get(match[1]) or PLAIN[match[1]], self.path)


def pages() -> list[Page]:
    """Return every page of the product itself, sorted by path."""
    by_path = {}
    for pattern, prefix in _patterns(get_resolver().url_patterns, ""):
        path = prefix + str(pattern.pattern)
        if not path.lstrip("^").startswith(OUTSIDE):
            page_path = "/" + ID.sub(r":\1", path)
            by_path[page_path] = Page(page_path, pattern.name or "", pattern.callback)
    return sorted(by_path.values(), key=lambda page: page.path)


def _patterns(patterns: Iterable[Any], prefix: str) -> Iterator[tuple[URLPattern, str]]:
    for entry in patterns:
        if isinstance(entry, URLPattern):
            yield entry, prefix
        else:
            yield from _patterns(entry.url_patterns, prefix + str(entry.pattern))


def readable() -> list[Page]:
    """Return the pages that accept GET."""
    return [page for page in pages() if "GET" in page.methods]
