"""Read Markdown as CommonMark with tables, strikethrough and formulas, without HTML, and within the bounds of a page.

What CommonMark drops from view (definitions of links, cells beyond the header of a table) stays as text here: a person
who judges an answer must see all of it.
"""

import re
from typing import Any, Final
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.table import escapedSplit, table
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from autotune.core.markdown.budget import RenderingBudget, TooCostly
from autotune.core.markdown.formulas import MAX_FORMULA

MAX_DEPTH: Final = 24  # lists and quotes within each other; more is not an answer that somebody reads
MAX_COLUMNS: Final = 60  # a wider table stays as it was written

# Before the path there is only the host and its port: no user names, nothing that browsers read in another way.
_LINK: Final = re.compile(r"https?://[a-z0-9](?:[a-z0-9-]|\.(?=[a-z0-9]))*(?::[0-9]{1,5})?(?:[/?#]|$)", re.IGNORECASE)
_MATH_BRACKETS: Final = {"\\(": "\\)", "\\[": "\\]"}


def parse(text: str, budget: RenderingBudget) -> list[Token]:
    """Return the tokens of a text.

    raises  TooCostly if the text takes too long, or has lists and quotes too deep
    """
    return _PARSER.parse(text, {"budget": budget})


def host(address: str) -> str:
    """Return the host that a link leads to."""
    return urlsplit(address).hostname or ""


def is_link(address: str) -> bool:
    """Whether a page may link an address: http or https with a plain host."""
    return _LINK.match(address) is not None


def _bound_block(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """A rule that never matches. It runs at each block and each line of one."""
    state.env["budget"].check()
    if state.level > MAX_DEPTH:
        raise TooCostly
    return False


def _bound_inline(state: StateInline, silent: bool) -> bool:
    state.env["budget"].check()
    return False


def _whole_table(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """Read a table. One that would lose cells stays as it was written, as does one too wide to read."""
    before = len(state.tokens)
    columns = _cells(_line(state, start_line))
    if columns > MAX_COLUMNS or not table(state, start_line, end_line, silent):
        return False
    if silent:
        return True
    cells = max(_cells(_line(state, line)) for line in range(start_line, state.line))
    if cells > columns:
        del state.tokens[before:]
        source = state.push("code_block", "code", 0)
        source.content = state.getLines(start_line, state.line, state.blkIndent, False)
    return True


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _cells(row: str) -> int:
    return len(escapedSplit(row.strip().removeprefix("|").removesuffix("|")))


def _math_block(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """Read `$$…$$` or `\\[…\\]` that begins a line and ends one."""
    if state.is_code_block(start_line):
        return False
    opening = _line(state, start_line)[:2]
    closing = {"$$": "$$", "\\[": "\\]"}.get(opening)
    if closing is None:
        return False
    latex = _line(state, start_line)[2:]
    line = start_line
    while not latex.rstrip().endswith(closing):
        line += 1
        if line >= end_line or len(latex) > MAX_FORMULA or state.sCount[line] < state.blkIndent:
            return False
        latex += "\n" + _line(state, line)
    latex = latex.rstrip().removesuffix(closing)
    if closing in latex or not latex.strip():
        return False
    if not silent:
        token = state.push("math_block", "", 0)
        token.content = latex.strip()
        state.line = line + 1
    return True


def _math_inline(state: StateInline, silent: bool) -> bool:
    """Read `\\(…\\)`, `\\[…\\]`, `$$…$$` and `$…$` within a line; a dollar before a number of money is text."""
    opening = state.src[state.pos : state.pos + 2]
    display = opening in ("$$", "\\[")
    closing = _MATH_BRACKETS.get(opening) or ("$$" if opening == "$$" else "")
    if not closing and opening[:1] != "$":
        return False
    start = state.pos + (2 if closing else 1)
    end = state.src.find(closing, start, min(state.posMax, start + MAX_FORMULA)) if closing else _dollar(state, start)
    if end < 0 or not state.src[start:end].strip():
        return False
    if not silent:
        token = state.push("math_inline", "", 0)
        token.content = state.src[start:end].strip()
        token.meta = {"display": display}
    state.pos = end + max(1, len(closing))
    return True


def _dollar(state: StateInline, start: int) -> int:
    """Return the place of the dollar that ends a formula, as Pandoc reads it; -1 if none does."""
    match = _DOLLAR_FORMULA.match(state.src, start, min(state.posMax, start + MAX_FORMULA))
    return match.end() if match and state.src[match.end() + 1 : match.end() + 2].isdigit() is False else -1


# Neither blank at its ends; a backslash takes the character after it along.
_DOLLAR_FORMULA: Final = re.compile(r"(?![\s$])(?:\\.|[^\\$\n])++(?<!\s)(?=\$)")


def _parser() -> Any:
    parser: Any = MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": 100})
    parser.enable(["table", "strikethrough"])
    parser.disable(["reference", "html_block", "html_inline"])
    parser.validateLink = is_link
    everywhere = {"alt": ["paragraph", "reference", "blockquote", "list", "table"]}
    parser.block.ruler.at("table", _whole_table, {"alt": ["paragraph", "reference"]})
    parser.block.ruler.before(
        "fence", "math_block", _math_block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    parser.block.ruler.before("table", "bound", _bound_block, everywhere)
    parser.inline.ruler.before("escape", "math_inline", _math_inline)
    parser.inline.ruler.before("text", "bound", _bound_inline)
    return parser


_PARSER: Final = _parser()
