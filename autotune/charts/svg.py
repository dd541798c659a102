"""Writes SVG: elements with escaped attributes, and labels of any origin.

Labels come from untrusted people. A label that does not fit is cut in the drawing; its title and the table show all of
it. Every `text` is a paragraph of its own, so a direction control ends with it.
"""

import re
import unicodedata
from collections.abc import Iterable
from html import escape

from django.utils.safestring import SafeString, mark_safe

ELLIPSIS = "…"
FONT = 12.5  # size of text in units of the viewBox; charts.css says the same
NARROW_GLYPHS = frozenset("iIjl.,:;'|!()[]{}ftr ")
JOINERS = "\u200d\ufe0e\ufe0f"
CONTROLS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # of the direction of text
ISOLATE, END_ISOLATE, UNKNOWN = "\u2068", "\u2069", "\ufffd"


def join(parts: Iterable[str]) -> SafeString:
    """Join pieces that are already markup."""
    return mark_safe("".join(parts))  # noqa: S308  each piece was made by `element` or `text`


def element(name: str, inside: str = "", **attributes: str | float) -> SafeString:
    """Return an element. `inside` is markup; attributes are escaped; `class_` is class, and `_` in a name means `-`."""
    attributes_markup = "".join(f' {_name(key)}="{_value(value)}"' for key, value in attributes.items())
    return mark_safe(f"<{name}{attributes_markup}>{inside}</{name}>" if inside else f"<{name}{attributes_markup}/>")  # noqa: S308


def _name(key: str) -> str:
    return "viewBox" if key == "viewBox" else key.rstrip("_").replace("_", "-")


def _value(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else place(value)


def place(value: float) -> str:
    """Format a coordinate, to a tenth of a unit: `12` or `12.3`."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def text(line: str, x: float, y: float, class_: str = "", anchor: str = "start") -> SafeString:
    """Return a line of text whose baseline starts, ends or is centred at (x, y)."""
    return element("text", escape(line), x=x, y=y, text_anchor=anchor, class_=f"chart-text {class_}".rstrip())


def label(text: str, x: float, y: float, room: float, *, anchor: str = "start", class_: str = "") -> SafeString:
    """Return a label of unknown origin, cut to `room` units; its tooltip shows all of it."""
    visible = cut(text, room)
    inside = escape(visible) if visible == text else f"{escape(visible)}<title>{escape(text)}</title>"
    return element("text", inside, x=x, y=y, text_anchor=anchor, class_=f"chart-text chart-label {class_}".rstrip())


def titled(name: str, title: str, inside: str = "", **attributes: str | float) -> SafeString:
    """Return an element with `title` as its tooltip."""
    return element(name, f"<title>{escape(title)}</title>{inside}", **attributes)


def linked(href: str, inside: str) -> SafeString:
    """Return `inside` as a link, if there is an address."""
    return element("a", inside, href=own_address(href)) if href else mark_safe(inside)  # noqa: S308


def own_address(href: str) -> str:
    """Return the address. Raises ValueError if it leaves this site: a chart must not link elsewhere or run code."""
    if not href.startswith(("/", "?", "#")) or href.startswith(("//", "/\\")) or any(c in href for c in "\t\r\n"):
        raise ValueError("a chart links to addresses of this site only")
    return href


def breadth(text: str) -> float:
    """Estimate the width of a text in units, rather too high than too low."""
    return sum(map(_glyph, text))


def _glyph(glyph: str) -> float:
    if glyph < "\u0300":
        return FONT * (0.32 if glyph in NARROW_GLYPHS else 0.72 if glyph.isupper() else 0.58)
    if glyph in JOINERS or unicodedata.combining(glyph):
        return 0.0
    return FONT * (1.3 if unicodedata.east_asian_width(glyph) in "WF" else 0.7)


def cut(text: str, room: float) -> str:
    """Cut the text to one line of `room` units with an ellipsis; never between a glyph and what modifies it."""
    line = " ".join(text[:2000].split()) if len(text) > 2000 else " ".join(text.split())
    used, dots = 0.0, FONT
    fits = 0  # glyphs that leave room for the ellipsis
    for at, glyph in enumerate(line):
        used += _glyph(glyph)
        if used <= room - dots:
            fits = at + 1
        if used > room:
            return line[:fits].rstrip(JOINERS + " ") + ELLIPSIS
    return line


def isolated(text: str, longest: int = 40) -> str:
    """Return a label for a sentence of plain text: cut, and unable to change the direction of the text around it.

    A direction control of its own could end the isolation, so there it shows as the replacement character.
    """
    line = " ".join(text[: 4 * longest].split())
    line = (
        line if len(line) <= longest and len(text) <= 4 * longest else line[:longest].rstrip(JOINERS + " ") + ELLIPSIS
    )
    return f"{ISOLATE}{CONTROLS.sub(UNKNOWN, line)}{END_ISOLATE}"
