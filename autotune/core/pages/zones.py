"""The time zones in which pages show times. Django's active zone decides; a page activates that of its reader."""

import functools
from datetime import UTC, datetime, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from django.utils import timezone

DEFAULT: Final = "UTC"
LONGEST: Final = 64  # characters of a name; the longest of 2026 has 32
REGIONS: Final = (
    "Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific",
)  # fmt: skip


@functools.cache
def names() -> frozenset[str]:
    """Return the names that a person may choose: UTC, and the places of the IANA database."""
    places = (name for name in available_timezones() if name.partition("/")[0] in REGIONS and "/" in name)
    return frozenset({DEFAULT, *places})


@functools.cache
def by_region() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the names as groups for a select: (region, names in order)."""
    ordered = sorted(names() - {DEFAULT})
    return tuple((region, tuple(name for name in ordered if name.startswith(f"{region}/"))) for region in REGIONS)


def of(name: str) -> tzinfo:
    """Return the zone of that name, or UTC for a name that this installation does not have."""
    return ZoneInfo(name) if name != DEFAULT and name in names() else UTC


def active() -> str:
    """Return the name of the active zone: `Europe/Berlin`."""
    return str(timezone.get_current_timezone())


def abbreviation(moment: datetime) -> str:
    """Return what the active zone is called at a moment: `CET`, `CEST`, or `UTC+04` where it has no letters."""
    name = timezone.localtime(moment).tzname() or DEFAULT
    return name if name.isalpha() else f"UTC{name}"


def stamp(moment: datetime, precision: str = "minutes") -> str:
    """Format a moment in full, with its zone: `28 November 2026, 14:02 CET`. `precision`: minutes or seconds."""
    local = timezone.localtime(moment)
    time = f"{local:%H:%M:%S}" if precision == "seconds" else f"{local:%H:%M}"
    return f"{local.day} {local:%b %Y}, {time} {abbreviation(moment)}"
