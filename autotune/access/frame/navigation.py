"""The navigation: one list of places, of which each person sees those that their role allows.

Pages are named by string, since this module cannot import their apps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.urls import NoReverseMatch, reverse

from autotune.access import policy
from autotune.access.principal import Principal


@dataclass(frozen=True, slots=True)
class NavigationEntry:
    """An entry of the navigation.

    page   the name of its route
    needs  pairs of (resource, action), one of which the role must allow; empty: everybody sees it
    """

    label: str
    page: str
    icon: str
    needs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class NavigationLink:
    """A place as it is shown; `current` is True on its page and the pages below it."""

    label: str
    url: str
    icon: str
    current: bool


@dataclass(frozen=True, slots=True)
class NavigationSection:
    label: str
    links: list[NavigationLink]


PLACES: Final[dict[str, tuple[NavigationEntry, ...]]] = {
    "": (NavigationEntry("Overview", "home", "home"),),
    "Judge": (
        NavigationEntry("Graders", "graders", "grader", (("endpoint_graders", "read"),)),
        NavigationEntry("Marketplace", "marketplace", "market", (("listed_graders", "read"),)),
        NavigationEntry("Reviews", "reviews", "review", (("reviews", "update"), ("reviews", "create"))),
    ),
    "Score": (
        NavigationEntry("Tasks", "tasks", "task", (("tasks", "read"),)),
        NavigationEntry(
            "Completions", "completions", "completion", (("completions", "read"), ("shared_completions", "read"))
        ),
        NavigationEntry("Scores", "scores", "score", (("scores", "read"),)),
        NavigationEntry("Workflow runs", "workflow_runs", "run", (("workflow_runs", "read"),)),
    ),
    "Train": (
        NavigationEntry("Exports", "exports", "export", (("exports", "read"),)),
        NavigationEntry("Preference pairs", "pairs", "pair", (("preference_pairs", "read"),)),
        NavigationEntry("Live rewards", "reward_endpoints", "reward", (("reward_endpoints", "read"),)),
    ),
    "Settings": (
        NavigationEntry("Organization", "settings", "organization"),
        NavigationEntry("Members", "members", "people", (("members", "read"),)),
        NavigationEntry("Roles", "roles", "role", (("roles", "read"),)),
        NavigationEntry("API keys", "api_keys", "key", (("keys", "read"),)),
        NavigationEntry("Webhooks", "webhooks", "webhook", (("webhooks", "read"),)),
        NavigationEntry("Retention", "retention", "retention", (("retention", "read"),)),
        NavigationEntry("Audit", "audit", "audit", (("audit", "read"),)),
        NavigationEntry("Your account", "account", "person"),
    ),
}


def sections(principal: Principal, path: str) -> list[NavigationSection]:
    """Return the places that the principal may enter, in sections; the one nearest above `path` is current."""
    allowed = {
        label: [(place, url) for place in places if _allowed(principal, place) and (url := _url(place.page))]
        for label, places in PLACES.items()
    }
    here = max((url for entries in allowed.values() for _, url in entries if _above(url, path)), key=len, default="")
    return [
        NavigationSection(label, [NavigationLink(place.label, url, place.icon, url == here) for place, url in entries])
        for label, entries in allowed.items()
        if entries
    ]


def _allowed(principal: Principal, place: NavigationEntry) -> bool:
    return not place.needs or any(policy.reach(principal, *need) for need in place.needs)


def _url(name: str) -> str:
    try:
        return reverse(name)
    except NoReverseMatch:
        return ""


def _above(url: str, path: str) -> bool:
    return path == url or (not url.endswith("/") and path.startswith(f"{url}/"))


def crumbs(*steps: tuple[str, str]) -> Sequence[dict[str, str]]:
    """Return the (label, address) pairs of the pages above the one shown, in the form of the template."""
    return [{"label": label, "url": url} for label, url in steps]
