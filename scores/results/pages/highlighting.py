"""Render a model's answer as safe HTML: fenced code in colours, the rest as text, hidden characters visible.

No text becomes markup: all of it is escaped here, and only this module adds elements. Every step has a bound,
in size and in time, so that no text makes the page slow or large.
"""

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import islice
from typing import Any, Final
from unicodedata import name as unicode_name

from django.utils.safestring import SafeString, mark_safe
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Token, _TokenType

SHOWN: Final = 100_000  # characters of one text on a page; the rest is in its download
MAX_SEGMENTS: Final = 200  # text and code by turns; behind them all is text
SEGMENTS_EACH: Final = 10  # where a page has so many answers that this is more
COLOURED: Final = 40_000  # characters of code in colours on a page
MAX_LINE: Final = 1_000  # a longer line is not code that somebody reads
MAX_SECONDS: Final = 0.06  # of computing
MAX_MARKS: Final = 1_000  # hidden characters that are spelt out
MAX_INLINE: Final = 1_000  # stretches of code within lines of an answer

_FENCE: Final = re.compile(r"^ {0,3}(`{3,}+|~{3,}+)[ \t]*+([^\n`]{0,100})$", re.MULTILINE)
_INLINE: Final = re.compile(r"(?<!`)`(?!`)([^`\n]{1,200})`(?!`)")
# Languages by the names that models write. Only lexers that read hostile text in linear time (a test holds them to it).
LANGUAGES: Final = {
    "bash": "bash", "sh": "bash", "shell": "bash", "zsh": "bash", "c": "c", "h": "c", "c++": "cpp", "cpp": "cpp",
    "cs": "csharp", "csharp": "csharp", "css": "css", "diff": "diff", "patch": "diff", "go": "go", "golang": "go",
    "html": "html", "xml": "xml", "ini": "ini", "java": "java", "javascript": "javascript", "js": "javascript",
    "jsx": "javascript", "json": "json", "jsonc": "json", "kotlin": "kotlin", "lua": "lua", "php": "php",
    "py": "python", "python": "python", "python3": "python", "r": "r", "rb": "ruby", "ruby": "ruby", "rs": "rust",
    "rust": "rust", "sql": "sql", "swift": "swift", "toml": "toml", "ts": "typescript", "tsx": "typescript",
    "typescript": "typescript", "yaml": "yaml", "yml": "yaml",
}  # fmt: skip
# A class for each family of tokens, most special first; a token without one is plain.
_CLASSES: Final = (
    (Token.Comment, "hl-comment"), (Token.Keyword, "hl-keyword"), (Token.Operator.Word, "hl-keyword"),
    (Token.Literal.String, "hl-string"), (Token.Literal.Number, "hl-number"), (Token.Name.Function, "hl-name"),
    (Token.Name.Class, "hl-name"), (Token.Name.Tag, "hl-keyword"), (Token.Name.Attribute, "hl-name"),
    (Token.Name.Builtin, "hl-builtin"), (Token.Name.Decorator, "hl-builtin"), (Token.Name.Exception, "hl-builtin"),
    (Token.Generic.Inserted, "hl-inserted"), (Token.Generic.Deleted, "hl-deleted"),
    (Token.Generic.Heading, "hl-keyword"), (Token.Generic.Subheading, "hl-keyword"),
)  # fmt: skip
# Controls but tab and newline; characters without a width; those that turn the direction of the text.
_HIDDEN: Final = re.compile(
    "([\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f])\\1*"
)


@dataclass(frozen=True, slots=True)
class HighlightedSegment:
    """A stretch of an answer. `language`: of code, as it was written; `coloured`: whether it is in colours."""

    html: SafeString
    code: bool = False
    language: str = ""
    coloured: bool = False


@dataclass(frozen=True, slots=True)
class HighlightedText:
    """A text as a page shows it. `cut`: characters that are left out at its end."""

    segments: list[HighlightedSegment]
    cut: int = 0


@dataclass(slots=True)
class _Budget:
    """What is left of a page's bounds."""

    segments: int = MAX_SEGMENTS
    colours: int = COLOURED
    marks: int = MAX_MARKS
    inline: int = MAX_INLINE
    seconds: float = MAX_SECONDS


def answer(text: str, *, limit: int = SHOWN) -> HighlightedText:
    """Render an answer with its fenced code separate and in colours."""
    return answers([text], limit=limit)[0]


def answers(texts: Sequence[str], *, limit: int = SHOWN) -> list[HighlightedText]:
    """Render several answers of one page, which share its bounds; `limit` applies to each."""
    budget = _Budget(segments=max(MAX_SEGMENTS, SEGMENTS_EACH * len(texts)))
    return [_answer(text, limit, budget) for text in texts]


def _answer(text: str, limit: int, budget: _Budget) -> HighlightedText:
    segments = [_segment(code, language, part, budget) for code, language, part in _parts(text[:limit], budget)]
    return HighlightedText(segments, max(0, len(text) - limit))


def plain(text: str, *, limit: int = SHOWN) -> HighlightedText:
    """Render a text as one segment, without separate code."""
    return HighlightedText([HighlightedSegment(_visible(_unix(text[:limit]), _Budget()))], max(0, len(text) - limit))


def marked(pieces: Iterable[tuple[str, bool]], element: str) -> SafeString:
    """Render pieces of a text, those that are True within an element (`ins` or `del`)."""
    budget = _Budget()
    visible_pieces = ((_visible(text, budget), is_marked) for text, is_marked in pieces)
    html = (f"<{element}>{text}</{element}>" if is_marked else text for text, is_marked in visible_pieces)
    return _safe("".join(html))


def _parts(text: str, budget: _Budget) -> Iterator[tuple[bool, str, str]]:
    """(is code, language, text) by turns, as CommonMark reads fences: one that never closes goes on to the end."""
    text = _unix(text)
    position = text_start = 0
    while budget.segments > 0 and (opening := _FENCE.search(text, position)):
        fence, info = opening[1], opening[2].strip()
        closing = re.compile(rf"^ {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$", re.MULTILINE)
        end = closing.search(text, min(opening.end() + 1, len(text)))
        if before := text[text_start : opening.start()].strip("\n"):
            yield False, "", before
            budget.segments -= 1
        code = text[opening.end() + 1 : end.start() if end else len(text)]
        yield True, info.split()[0][:40] if info else "", code.removesuffix("\n")
        budget.segments -= 1
        position = text_start = min(end.end() + 1, len(text)) if end else len(text)
    if rest := text[text_start:].strip("\n") if text_start else text:
        yield False, "", rest


def _segment(code: bool, language: str, text: str, budget: _Budget) -> HighlightedSegment:
    coloured = _coloured(text, language, budget) if code else None
    html = coloured or (_visible(text, budget) if code else _lines(text, budget))
    return HighlightedSegment(html, code, language, coloured is not None)


def _lines(text: str, budget: _Budget) -> SafeString:
    """Render text outside fenced code, with `code` within lines; beyond the bound it stays as written."""
    html, position = [], 0
    for match in islice(_INLINE.finditer(text), budget.inline):
        html += [_visible(text[position : match.start()], budget), f"<code>{_visible(match[1], budget)}</code>"]
        position, budget.inline = match.end(), budget.inline - 1
    return _safe("".join([*html, _visible(text[position:], budget)]))


def _coloured(code: str, language: str, budget: _Budget) -> SafeString | None:
    """Code in colours; None for a language that is not known, and for what lies beyond the bounds."""
    lexer = _lexer(language)
    if lexer is None or len(code) > budget.colours or any(len(line) > MAX_LINE for line in code.split("\n")):
        return None
    budget.colours -= len(code)
    ends = time.thread_time() + budget.seconds
    before, runs, kind = time.thread_time(), [], ""
    stretch: list[str] = []
    for _, token, text in lexer.get_tokens_unprocessed(code):
        token_class = _class(token)
        if token_class != kind and not text.isspace():
            runs.append((kind, "".join(stretch)))
            stretch, kind = [], token_class
        stretch.append(text)
        if time.thread_time() > ends:
            budget.seconds = 0.0
            return None
    runs.append((kind, "".join(stretch)))
    budget.seconds -= time.thread_time() - before
    return _safe("".join(_run(kind, text, budget) for kind, text in runs))


def _run(kind: str, text: str, budget: _Budget) -> str:
    html = _visible(text, budget)
    return f'<span class="{kind}">{html}</span>' if kind else html


_lexers: dict[str, Lexer] = {}


def _lexer(language: str) -> Any:
    lexer_name = LANGUAGES.get(language.lower())
    if lexer_name is None:
        return None
    if lexer_name not in _lexers:
        _lexers[lexer_name] = get_lexer_by_name(lexer_name)
    return _lexers[lexer_name]


_classes: dict[_TokenType, str] = {}


def _class(token: _TokenType) -> str:
    if token not in _classes:
        _classes[token] = next((name for family, name in _CLASSES if token in family), "")
    return _classes[token]


def _visible(text: str, budget: _Budget) -> SafeString:
    """Escape a text and spell out hidden and direction characters; beyond the bound each run becomes �."""

    def spelt(match: re.Match[str]) -> str:
        if budget.marks <= 0:
            return "\ufffd"
        budget.marks -= 1
        code, count = f"U+{ord(match[1]):04X}", len(match[0])
        times = f" ×{count}" if count > 1 else ""
        title = unicode_name(match[1], "control character").lower()
        return f'<span class="hidden-character" title="{title}">{code}{times}</span>'

    return _safe(_HIDDEN.sub(spelt, escape(text)))


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n")


def _safe(html: str) -> SafeString:
    return mark_safe(html)  # noqa: S308  every text in it was escaped above
