"""Escape text for a page, and make its hidden characters visible."""

import re
from html import escape
from typing import Final
from unicodedata import name as unicode_name

from autotune.core.markdown.budget import RenderingBudget

# Controls but tab and newline; characters without a width; those that turn the direction of the text.
HIDDEN: Final = re.compile(
    "([\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f])\\1*"
)


def visible(text: str, budget: RenderingBudget) -> str:
    """Escape a text and spell out hidden and direction characters; beyond the bound each run becomes �."""

    def spelt(match: re.Match[str]) -> str:
        if budget.marks <= 0:
            return "\ufffd"
        budget.marks -= 1
        code, count = f"U+{ord(match[1]):04X}", len(match[0])
        times = f" ×{count}" if count > 1 else ""
        title = unicode_name(match[1], "control character").lower()
        return f'<span class="hidden-character" title="{title}">{code}{times}</span>'

    return HIDDEN.sub(spelt, escape(text))


def attribute(text: str) -> str:
    """Escape a text for an attribute, where hidden characters cannot be spelt out: each run becomes �."""
    return escape(HIDDEN.sub("\ufffd", text))
