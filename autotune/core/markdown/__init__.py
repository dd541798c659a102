"""Render what models wrote as safe HTML: Markdown with code in colours and formulas, or the text as it was written.

No text becomes markup by itself: all of it is escaped, only this package adds elements, and a sanitiser guards the
result. Every step has a bound, in size and in time, so that no text makes a page slow or large. What lies beyond is
shown as it was written, and the page says so. Nothing here changes what is stored, sent or exported.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.safestring import SafeString, mark_safe

from autotune.core.markdown.budget import FORMATTED, RenderingBudget, TooCostly
from autotune.core.markdown.elements import ElementWriter
from autotune.core.markdown.parser import parse
from autotune.core.markdown.sanitiser import clean
from autotune.core.markdown.visible import visible

SHOWN: Final = 100_000  # characters of one text on a page; the rest is in its download
MAX_GROWTH: Final = 400_000  # characters of HTML of one formatted text
TOO_LONG: Final = "From here on the text is shown as written: a page formats its first {:,} characters."
TOO_COSTLY: Final = "Shown as written: this text is nested too deeply or takes too long to format."
PAGE_FULL: Final = "Shown as written: the texts before it on this page used up what a page formats."


@dataclass(frozen=True, slots=True)
class RenderedText:
    """A text as a page shows it.

    formatted  its beginning as HTML, if it is shown as Markdown
    note       why the rest is shown as it was written; empty if nothing is, or if that was asked for
    written    the rest, escaped
    cut        characters that are left out at its end
    """

    formatted: SafeString
    note: str
    written: SafeString
    cut: int = 0


def is_raw(parameters: Mapping[str, str]) -> bool:
    """Whether the address of a page asks for its answers as they were written."""
    return parameters.get("view") == "raw"


def answer(text: str, *, limit: int = SHOWN, heading: int = 3) -> RenderedText:
    """Render one answer as Markdown. `heading`: the level on the page of its first heading."""
    return answers([text], limit=limit, heading=heading)[0]


def answers(texts: Sequence[str], *, limit: int = SHOWN, heading: int = 3) -> list[RenderedText]:
    """Render several answers of one page, which share its bounds; `limit` applies to each."""
    budget = RenderingBudget()
    return [_answer(text, limit, heading, budget) for text in texts]


def plain(text: str, *, limit: int = SHOWN) -> RenderedText:
    """Render a text as it was written."""
    return RenderedText(
        _safe(""), "", _safe(visible(_unix(text[:limit]), RenderingBudget())), max(0, len(text) - limit)
    )


def marked(pieces: Iterable[tuple[str, bool]], element: str) -> SafeString:
    """Render pieces of a text, those that are True within an element (`ins` or `del`)."""
    budget = RenderingBudget()
    visible_pieces = ((visible(text, budget), is_marked) for text, is_marked in pieces)
    return _safe("".join(f"<{element}>{text}</{element}>" if is_marked else text for text, is_marked in visible_pieces))


def _answer(text: str, limit: int, heading: int, budget: RenderingBudget) -> RenderedText:
    cut = max(0, len(text) - limit)
    text = _unix(text[:limit])
    head, rest = _split(text, budget.characters)
    if (rest and not head) or budget.is_spent:
        return RenderedText(_safe(""), PAGE_FULL, _safe(visible(text, budget)), cut)
    budget.characters -= len(head)
    try:
        html = ElementWriter(budget, heading).blocks(parse(head, budget))
        if len(html) > MAX_GROWTH:
            raise TooCostly
    except TooCostly:
        return RenderedText(_safe(""), TOO_COSTLY, _safe(visible(text, budget)), cut)
    note = TOO_LONG.format(FORMATTED) if rest else ""
    return RenderedText(_safe(clean(html)), note, _safe(visible(rest, budget)), cut)


def _split(text: str, size: int) -> tuple[str, str]:
    """The beginning that is formatted and the rest, at the end of a paragraph or line if there is one."""
    if len(text) <= size:
        return text, ""
    end = max(text.rfind("\n\n", 0, size), 0) or max(text.rfind("\n", 0, size), 0) or size
    return text[:end], text[end:].lstrip("\n")


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n")


def _safe(html: str) -> SafeString:
    return mark_safe(html)  # noqa: S308  every text in it was escaped above
