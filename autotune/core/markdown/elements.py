"""Write the tokens of Markdown as HTML. Every text in it is escaped here; elements come only from the parser."""

from collections.abc import Callable
from html import unescape
from typing import Any, Final

from markdown_it.token import Token

from autotune.core.markdown.budget import RenderingBudget
from autotune.core.markdown.code import code_block
from autotune.core.markdown.formulas import formula
from autotune.core.markdown.parser import host
from autotune.core.markdown.visible import attribute, visible

PLAIN_TAGS: Final = frozenset(
    ["p", "ul", "ol", "li", "blockquote", "thead", "tbody", "tr", "th", "td", "em", "strong", "s"]
)
_ALIGNED: Final = {"text-align:left": "start", "text-align:center": "center", "text-align:right": "end"}


class ElementWriter:
    """Writes one text. `heading`: the level of its first heading; a later one goes at most one level deeper."""

    def __init__(self, budget: RenderingBudget, heading: int) -> None:
        self.budget = budget
        self._headings: list[tuple[int, int]] = []  # (level in the text, level on the page) of those that are open
        self._first = heading
        self._closing: list[str] = []  # what ends the headings, cells and links that are open

    def blocks(self, tokens: list[Token]) -> str:
        """Return the HTML of the blocks of a text."""
        html: list[str] = []
        for position, token in enumerate(tokens):
            self.budget.check()
            following = tokens[position + 1] if position + 1 < len(tokens) else None
            html.append(self._block(token, following))
        return "".join(html)

    def _block(self, token: Token, following: Token | None) -> str:
        if token.hidden:
            return ""
        if token.type == "inline":
            return self._inline(token.children or [])
        if writer := _BLOCKS.get(token.type):
            return writer(self, token)
        if token.type in ("heading_open", "th_open", "td_open"):
            return self._open(token, following)
        if token.type in ("heading_close", "th_close", "td_close"):
            return self._closing.pop()
        return self._tag(token)

    def _tag(self, token: Token) -> str:
        if token.tag not in PLAIN_TAGS:
            raise ValueError(f"no element for {token.type}")
        if token.nesting < 0:
            return f"</{token.tag}>"
        start = token.attrGet("start")
        return f'<{token.tag} start="{int(start)}">' if token.tag == "ol" and start is not None else f"<{token.tag}>"

    def _open(self, token: Token, following: Token | None) -> str:
        """Open a heading or a cell. An empty one is no heading, for those who hear the page."""
        is_empty = following is None or not unescape(following.content).strip()
        tag = token.tag
        if token.type == "heading_open":
            tag = "p" if is_empty else f"h{self._level(int(token.tag[1:]))}"
        elif is_empty:
            tag = "td"
        self._closing.append(f"</{tag}>")
        alignment = _ALIGNED.get(str(token.attrGet("style") or ""))
        scope = ' scope="col"' if tag == "th" else ""
        return f'<{tag} class="cell-{alignment}"{scope}>' if alignment else f"<{tag}{scope}>"

    def _level(self, level: int) -> int:
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        shown = min(6, self._headings[-1][1] + 1 if self._headings else self._first)
        self._headings.append((level, shown))
        return shown

    def _table(self, token: Token) -> str:
        if token.nesting < 0:
            return "</table></div>"
        return '<div class="answer-table" tabindex="0" role="group" aria-label="Table"><table>'

    def _code(self, token: Token) -> str:
        return code_block(token.content.removesuffix("\n"), unescape(token.info), self.budget)

    def _formula(self, token: Token) -> str:
        display = token.type == "math_block" or bool(token.meta.get("display"))
        if token.type == "math_block":
            return formula(token.content, self.budget, display=True)
        html = formula(token.content, self.budget, display=False)
        return html.replace('display="inline"', 'display="block"', 1) if display else html

    def _rule(self, token: Token) -> str:
        return "<hr>"

    def _inline(self, tokens: list[Token]) -> str:
        html: list[str] = []
        for position, token in enumerate(tokens):
            if token.type == "link_open" and tokens[position + 1].type == "link_close":
                html.append(self._link(token) + visible(str(token.attrGet("href")), self.budget))
            elif writer := _INLINES.get(token.type):
                html.append(writer(self, token))
            else:
                html.append(self._tag(token))
        return "".join(html)

    def _text(self, token: Token) -> str:
        return visible(token.content, self.budget)

    def _code_within(self, token: Token) -> str:
        return f"<code>{visible(token.content, self.budget)}</code>"

    def _break(self, token: Token) -> str:
        return "<br>"

    def _link(self, token: Token) -> str:
        """A link, and behind it the host that it leads to, whatever its text says."""
        address = str(token.attrGet("href"))
        self._closing.append(f'</a> <small class="link-host">({visible(host(address), self.budget)})</small>')
        return f'<a href="{attribute(address)}">'

    def _link_end(self, token: Token) -> str:
        return self._closing.pop()

    def _image(self, token: Token) -> str:
        """Name an image instead of loading it: loading would show its host who reads the answer, and when."""
        name = visible(token.content, self.budget) or "without a description"
        place = visible(host(str(token.attrGet("src"))), self.budget)
        return f'<span class="image-left-out">Image not shown: {name} <small class="link-host">({place})</small></span>'


_Writer = Callable[[ElementWriter, Any], str]
_BLOCKS: Final[dict[str, _Writer]] = {
    "table_open": ElementWriter._table, "table_close": ElementWriter._table, "fence": ElementWriter._code,
    "code_block": ElementWriter._code, "math_block": ElementWriter._formula, "hr": ElementWriter._rule,
}  # fmt: skip
_INLINES: Final[dict[str, _Writer]] = {
    "text": ElementWriter._text, "code_inline": ElementWriter._code_within, "softbreak": ElementWriter._break,
    "hardbreak": ElementWriter._break, "link_open": ElementWriter._link, "link_close": ElementWriter._link_end,
    "image": ElementWriter._image, "math_inline": ElementWriter._formula,
}  # fmt: skip
