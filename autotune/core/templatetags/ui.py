"""Formats values on pages: times, numbers, states and icons. All values are escaped; none is trusted as HTML."""

import json
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from autotune.core import ids

register = template.Library()

SECOND, MINUTE, HOUR, DAY = 1, 60, 3600, 86400
STEPS: Final = ((MINUTE, SECOND, "s"), (HOUR, MINUTE, "min"), (2 * DAY, HOUR, "h"), (60 * DAY, DAY, "d"))
TONES: Final = {
    "good": {
        "active", "completed", "succeeded", "delivered", "closed", "ready", "verified", "healthy", "scored", "decided",
        "enabled",
    },
    "warn": {
        "degraded", "sleeping", "waiting", "half_open", "cancelling", "retrying", "partially_scored", "claimed",
        "paused", "expiring", "held",
    },
    "bad": {"failed", "open", "unhealthy", "refused", "disabled", "revoked", "expired", "withdrawn", "lost"},
    "busy": {"pending", "running", "queued", "scoring", "processing"},
}  # fmt: skip
NEUTRAL: Final = "neutral"


@register.simple_tag
def icon(name: str, label: str = "") -> SafeString:
    """Return an icon of static/img/icons.svg; it is decoration unless it has a label."""
    href = f"{static('img/icons.svg')}#{name}"
    if label:
        return format_html('<svg class="icon" role="img" aria-label="{}"><use href="{}"/></svg>', label, href)
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}"/></svg>', href)


@register.simple_tag
def when(moment: datetime | None, never: str = "never") -> SafeString:
    """Return `4 min ago` or `in 2 h`, with the time in UTC as a tooltip; `never` for None."""
    if moment is None:
        return format_html('<span class="faint">{}</span>', never)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', moment.isoformat(), f"{moment:%d %B %Y, %H:%M:%S} UTC", ago(moment)
    )


@register.simple_tag
def dated(moment: datetime | None, never: str = "never") -> SafeString:
    """Return `4 min ago · 28 Nov 2026, 14:02 UTC`, for places with enough room."""
    relative_time = when(moment, never)
    if moment is None or not span(abs((timezone.now() - moment).total_seconds())):
        return relative_time
    return format_html('{} <span class="faint">· {}</span>', relative_time, f"{moment:%d %b %Y, %H:%M} UTC")


@register.filter
def ago(moment: datetime) -> str:
    """Return `4 min ago`, `in 2 h` or `just now`; beyond two months the date."""
    seconds = (timezone.now() - moment).total_seconds()
    if abs(seconds) < 5:
        return "just now"
    text = span(abs(seconds))
    if not text:
        return f"{moment:%d %b %Y}"
    return f"{text} ago" if seconds > 0 else f"in {text}"


def span(seconds: float) -> str:
    """Return `12 s`, `4 min`, `3 h` or `12 d`; '' beyond two months."""
    for below, unit, name in STEPS:
        if seconds < below:
            return f"{int(seconds // unit)} {name}"
    return ""


@register.filter
def duration(milliseconds: float | None) -> str:
    """Format milliseconds as `340 ms`, `1.2 s` or `4 min`; a dash for None."""
    if milliseconds is None:
        return "–"
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1000
    return f"{seconds:.1f} s" if seconds < MINUTE else (span(seconds) or f"{seconds / DAY:.0f} d")


@register.filter
def number(value: float | None, places: int = 0) -> str:
    """Format a number as `1,204`; a dash for None."""
    return "–" if value is None else f"{value:,.{places}f}"


@register.filter
def score(value: float | None) -> str:
    """Format a value of 0 to 1 with three decimals; None is a dash, never a zero."""
    return f"{value:.3f}" if isinstance(value, int | float) else "–"


@register.filter
def percent(share: float | None, places: int = 1) -> str:
    """Format a share of 0 to 1 as `99.4 %`; a dash for None. A share between 0 and 1 never shows as 0 % or 100 %."""
    if share is None:
        return "–"
    text = f"{share * 100:.{places}f}"
    if 0 < share < 1 and float(text) in (0, 100):
        return "> 99.9 %" if share > 0.5 else "< 0.1 %"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


@register.filter
def octets(count: int | None) -> str:
    """Format a number of bytes as `1.2 MiB`; a dash for None."""
    if count is None:
        return "–"
    size, units = float(count), ["B", "KiB", "MiB", "GiB", "TiB"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        units.pop(0)
    return f"{size:.0f} B" if units[0] == "B" else f"{size:.1f} {units[0]}"


@register.filter
def public_id(value: UUID | None, kind: str) -> str:
    """Return the public id of a UUID, such as `comp_01j…`; '' for None."""
    return "" if value is None else ids.encode(kind, value)


@register.filter
def brief(text: Any, length: int = 80) -> str:
    """Shorten text to one line of at most `length` characters."""
    line = " ".join(str(text or "")[: length * 4].split())
    return line if len(line) <= length and len(str(text or "")) <= length * 4 else f"{line[: length - 1]}…"


@register.filter
def words(name: str) -> str:
    """Write `half_open` as `half open`."""
    return str(name).replace("_", " ")


@register.simple_tag
def status(value: Any, text: str = "") -> SafeString:
    """Return a state as a badge; its word and its colour have the same meaning."""
    name = str(value)
    return format_html('<span class="badge {}">{}</span>', tone(name), text or words(name))


@register.filter
def tone(name: Any) -> str:
    """Return the tone of a state: good, warn, bad, busy or neutral."""
    return next((tone for tone, names in TONES.items() if str(name) in names), NEUTRAL)


@register.simple_tag
def unreadable(out: Any) -> SafeString:
    """Return a notice that lists the members of an answer that cannot be decrypted; empty if all can."""
    names = getattr(out, "unreadable", None)
    if not isinstance(names, list) or not names:
        return SafeString("")
    return format_html(
        '<div class="notice bad" role="alert"><p><strong>Cannot be read: {}.</strong> Decryption failed.'
        " The page shows everything else; the server's log names the damaged row for its operator.</p></div>",
        ", ".join(names),
    )


@register.filter
def pretty_json(value: Any) -> str:
    """Format JSON for reading, in its own order."""
    return json.dumps(value, indent=2, ensure_ascii=False)
