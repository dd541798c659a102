"""Format values as text: times, durations, numbers, shares, sizes and ids."""

import json
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils import timezone

from autotune.core import ids

SECOND, MINUTE, HOUR, DAY = 1, 60, 3600, 86400
STEPS: Final = ((MINUTE, SECOND, "s"), (HOUR, MINUTE, "min"), (2 * DAY, HOUR, "h"), (60 * DAY, DAY, "d"))


def moment(text: str | None) -> datetime | None:
    """Parse a time of an API response, for the tags and filters that show one."""
    return datetime.fromisoformat(text) if text else None


def ago(moment: datetime) -> str:
    """Return `4 min ago`, `in 2 h` or `just now`; beyond two months the date."""
    seconds = (timezone.now() - moment).total_seconds()
    if abs(seconds) < 5:
        return "just now"
    text = span(abs(seconds))
    if not text:
        return f"{timezone.localtime(moment):%d %b %Y}"
    return f"{text} ago" if seconds > 0 else f"in {text}"


def span(seconds: float) -> str:
    """Return `12 s`, `4 min`, `3 h` or `12 d`, rounded; '' beyond two months."""
    for below, unit, name in STEPS:
        count = round(seconds / unit)
        if count * unit < below:
            return f"{count} {name}"
    return ""


def duration(milliseconds: float | None) -> str:
    """Format milliseconds as `340 ms`, `1.2 s` or `4 min`; a dash for None."""
    if milliseconds is None:
        return "–"
    if round(milliseconds) < 1000:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1000
    return f"{seconds:.1f} s" if round(seconds, 1) < MINUTE else (span(seconds) or f"{seconds / DAY:.0f} d")


def number(value: float | None, places: int = 0) -> str:
    """Format a number as `1,204`; a dash for None."""
    return "–" if value is None else f"{value:,.{places}f}"


def score(value: float | None) -> str:
    """Format a value of 0 to 1 with three decimals; None is a dash, never a zero."""
    return f"{value:.3f}" if isinstance(value, int | float) else "–"


def percent(share: float | None, places: int = 1) -> str:
    """Format a share of 0 to 1 as `99.4 %`; a dash for None. A share between 0 and 1 never shows as 0 % or 100 %."""
    if share is None:
        return "–"
    text = f"{share * 100:.{places}f}"
    if 0 < share < 1 and float(text) in (0, 100):
        return "> 99.9 %" if share > 0.5 else "< 0.1 %"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


def byte_size(count: int | None) -> str:
    """Format a number of bytes as `1.2 MiB`; a dash for None."""
    if count is None:
        return "–"
    size, units = float(count), ["B", "KiB", "MiB", "GiB", "TiB"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        units.pop(0)
    return f"{size:.0f} B" if units[0] == "B" else f"{size:.1f} {units[0]}"


def public_id(value: UUID | None, kind: str) -> str:
    """Return the public id of a UUID, such as `comp_01j…`; '' for None."""
    return "" if value is None else ids.encode(kind, value)


def brief(text: Any, length: int = 80) -> str:
    """Shorten text to one line of at most `length` characters."""
    line = " ".join(str(text or "")[: length * 4].split())
    return line if len(line) <= length and len(str(text or "")) <= length * 4 else f"{line[: length - 1]}…"


def words(name: str) -> str:
    """Write `half_open` as `half open`."""
    return str(name).replace("_", " ")


def pretty_json(value: Any) -> str:
    """Format JSON for reading, in its own order."""
    return json.dumps(value, indent=2, ensure_ascii=False)
