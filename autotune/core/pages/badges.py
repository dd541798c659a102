"""Show values as HTML: icons, badges of states, times with a tooltip. Everything is escaped; no value is trusted."""

from datetime import datetime
from typing import Any, Final

from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from autotune.core.pages import zones
from autotune.core.pages.formats import ago, span, words

TONES: Final = {
    "good": {
        "active", "completed", "succeeded", "delivered", "closed", "ready", "verified", "healthy", "scored", "decided",
        "enabled",
    },
    "warn": {
        "degraded", "sleeping", "waiting", "half_open", "cancelling", "retrying", "partially_scored", "claimed",
        "paused", "expiring", "held", "rejected",
    },
    "bad": {"failed", "open", "unhealthy", "refused", "disabled", "revoked", "expired", "withdrawn", "lost"},
    "busy": {"pending", "running", "queued", "scoring", "processing"},
}  # fmt: skip
NEUTRAL: Final = "neutral"


def icon(name: str, label: str = "") -> SafeString:
    """Return an icon of static/img/icons.svg; it is decoration unless it has a label."""
    href = f"{static('img/icons.svg')}#{name}"
    if label:
        return format_html('<svg class="icon" role="img" aria-label="{}"><use href="{}"/></svg>', label, href)
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}"/></svg>', href)


def when(moment: datetime | None, never: str = "never") -> SafeString:
    """Return `4 min ago` or `in 2 h`, with the time and its zone as a tooltip; `never` for None."""
    if moment is None:
        return format_html('<span class="faint">{}</span>', never)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', moment.isoformat(), zones.stamp(moment, "seconds"), ago(moment)
    )


def dated(moment: datetime | None, never: str = "never") -> SafeString:
    """Return `4 min ago · 28 November 2026, 14:02 UTC`, for places with enough room."""
    relative_time = when(moment, never)
    if moment is None or not span(abs((timezone.now() - moment).total_seconds())):
        return relative_time
    return format_html('{} <span class="faint">· {}</span>', relative_time, zones.stamp(moment))


def status(value: Any, text: str = "") -> SafeString:
    """Return a state as a badge; its word and its colour have the same meaning."""
    name = str(value)
    return format_html('<span class="badge {}">{}</span>', tone(name), text or words(name))


def tone(name: Any) -> str:
    """Return the tone of a state: good, warn, bad, busy or neutral."""
    return next((tone for tone, names in TONES.items() if str(name) in names), NEUTRAL)


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
