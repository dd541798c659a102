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
class Place:
    """An entry of the navigation.

    page   the name of its route
    needs  pairs of (resource, action), one of which the role must allow; empty: everybody sees it
    """

    label: str
    page: str
    icon: str
    needs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A place as it is shown; `current` is True on its page and the pages below it."""

    label: str
    url: str
    icon: str
    current: bool


@dataclass(frozen=True, slots=True)
class Section:
    label: str
    links: list[Link]


PLACES: Final[dict[str, tuple[Place, ...]]] = {
    "": (Place("Overview", "home", "home"),),
    "Judge": (
        Place("Graders", "graders", "grader", (("endpoint_graders", "read"),)),
        Place("Marketplace", "marketplace", "market", (("listed_graders", "read"),)),
        Place("Reviews", "reviews", "review", (("reviews", "update"), ("reviews", "create"))),
    ),
    "Score": (
        Place("Tasks", "tasks", "task", (("tasks", "read"),)),
        Place("Completions", "completions", "completion", (("completions", "read"), ("shared_completions", "read"))),
        Place("Scores", "scores", "score", (("scores", "read"),)),
        Place("Workflow runs", "workflow_runs", "run", (("workflow_runs", "read"),)),
    ),
    "Train": (
        Place("Exports", "exports", "export", (("exports", "read"),)),
        Place("Preference pairs", "pairs", "pair", (("preference_pairs", "read"),)),
        Place("Live rewards", "reward_endpoints", "reward", (("reward_endpoints", "read"),)),
    ),
    "Settings": (
        Place("Organization", "settings", "organization"),
        Place("Members", "members", "people", (("members", "read"),)),
        Place("Roles", "roles", "role", (("roles", "read"),)),
        Place("API keys", "api_keys", "key", (("keys", "read"),)),
        Place("Webhooks", "webhooks", "webhook", (("webhooks", "read"),)),
        Place("Retention", "retention", "retention", (("retention", "read"),)),
        Place("Audit", "audit", "audit", (("audit", "read"),)),
        Place("Your account", "account", "person"),
    ),
}


def sections(principal: Principal, path: str) -> list[Section]:
    """Return the places that the principal may enter, in sections; the one nearest above `path` is current."""
    allowed = {
        label: [(place, url) for place in places if _allowed(principal, place) and (url := _url(place.page))]
        for label, places in PLACES.items()
    }
    here = max((url for entries in allowed.values() for _, url in entries if _above(url, path)), key=len, default="")
    return [
        Section(label, [Link(place.label, url, place.icon, url == here) for place, url in entries])
        for label, entries in allowed.items()
        if entries
    ]


def _allowed(principal: Principal, place: Place) -> bool:
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
