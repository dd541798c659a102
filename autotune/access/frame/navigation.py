"""The navigation: a registry to which each app adds its entries; each person sees those that their role permits.

Apps register in their `apps.py`. Pages are named by their routes, since this module cannot import the apps.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from django.urls import NoReverseMatch, reverse

from autotune.access import policy
from autotune.access.principal import Principal

SECTIONS: Final = ("", "Judge", "Data", "Measure", "Train", "Operate", "Settings")  # in the order of the navigation
SETTINGS: Final = "Settings"  # shown as one entry, with a list of its pages while one of them is open


@dataclass(frozen=True, slots=True)
class NavigationEntry:
    """An entry of the navigation.

    page     the name of its route
    section  one of SECTIONS
    order    its place in the section; numbers have gaps so that later entries need no others changed
    needs    pairs of (resource, action), one of which the role must allow; empty: everybody sees it
    about    what the page is for, shown on the first page of the settings
    """

    label: str
    page: str
    icon: str
    section: str
    order: int
    needs: tuple[tuple[str, str], ...] = ()
    about: str = ""


@dataclass(frozen=True, slots=True)
class NavigationAct:
    """Something a person can start from the search, such as registering a grader; `page` is the route of its form."""

    label: str
    page: str
    needs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class NavigationLink:
    """An entry as it is shown.

    current  whether the entry is the nearest above the page
    below    the entries of its side list
    """

    label: str
    url: str
    icon: str
    current: bool
    about: str = ""
    below: list["NavigationLink"] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class NavigationSection:
    label: str
    links: list[NavigationLink]


_entries: dict[str, NavigationEntry] = {}
_acts: dict[str, NavigationAct] = {}


def register(*places: NavigationEntry | NavigationAct) -> None:
    """Add entries and acts; a later one with the same route replaces the earlier one."""
    for place in places:
        if isinstance(place, NavigationAct):
            _acts[place.page] = place
        elif place.section in SECTIONS:
            _entries[place.page] = place
        else:
            raise ValueError(f"The navigation has no section {place.section!r}.")


def entries() -> list[NavigationEntry]:
    """Return all entries in the order of the navigation."""
    return sorted(_entries.values(), key=lambda entry: (SECTIONS.index(entry.section), entry.order, entry.label))


def acts() -> list[NavigationAct]:
    """Return all acts by their labels."""
    return sorted(_acts.values(), key=lambda act: act.label)


def sections(principal: Principal, path: str) -> list[NavigationSection]:
    """Return the entries that the principal may open, in sections; the one nearest above `path` is current."""
    links = [(entry.section, link) for entry, link in _links(principal, path)]
    by_section = {name: [link for section, link in links if section == name] for name in SECTIONS}
    in_settings = by_section.pop(SETTINGS)
    visible = [NavigationSection(label, section) for label, section in by_section.items() if section]
    if in_settings:
        visible.append(NavigationSection("", [_settings(*in_settings)]))
    return visible


def _settings(first: NavigationLink, *below: NavigationLink) -> NavigationLink:
    """Return the entry of the settings, with its side list if one of its pages is open."""
    is_open = first.current or any(link.current for link in below)
    return NavigationLink(first.label, first.url, first.icon, first.current, below=list(below) if is_open else [])


def settings_links(principal: Principal) -> list[NavigationLink]:
    """Return the pages of the settings that the principal may open, without the first."""
    return [link for entry, link in _links(principal, "") if entry.section == SETTINGS][1:]


def allowed_acts(principal: Principal) -> list[tuple[str, str]]:
    """Return the labels and addresses of the acts that the principal may do."""
    return [(act.label, url) for act in acts() if _allowed(principal, act) and (url := _url(act.page))]


def allowed_entries(principal: Principal) -> list[NavigationLink]:
    """Return every entry that the principal may open."""
    return [link for _, link in _links(principal, "")]


def _links(principal: Principal, path: str) -> list[tuple[NavigationEntry, NavigationLink]]:
    allowed = [(entry, url) for entry in entries() if _allowed(principal, entry) and (url := _url(entry.page))]
    here = nearest((url for _, url in allowed), path)
    return [(entry, NavigationLink(entry.label, url, entry.icon, url == here, entry.about)) for entry, url in allowed]


def nearest(urls: Iterable[str], path: str) -> str:
    """Return the longest of the addresses that is the path or above it, or ''."""
    return max((url for url in urls if _above(url, path)), key=len, default="")


def _allowed(principal: Principal, place: NavigationEntry | NavigationAct) -> bool:
    return not place.needs or any(policy.reach(principal, *need) for need in place.needs)


def _url(name: str) -> str:
    try:
        return reverse(name)
    except NoReverseMatch:
        return ""


def _above(url: str, path: str) -> bool:
    return path == url or (url != "/" and path.startswith(f"{url.rstrip('/')}/"))


def crumbs(*steps: tuple[str, str]) -> Sequence[dict[str, str]]:
    """Return the (label, address) pairs of the pages above the one shown, in the form of the template."""
    return [{"label": label, "url": url} for label, url in steps]
