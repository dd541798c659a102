"""Turn LaTeX formulas into MathML on the server.

The library that reads LaTeX returns unescaped text and lets a formula name attributes. So this module writes the
elements itself: only those of its list, with the values of its list. What it does not know is shown as it was written.
"""

import re
from html import escape, unescape
from typing import Final
from xml.etree.ElementTree import Element

from latex2mathml import exceptions
from latex2mathml.converter import Converter

from autotune.core.markdown.budget import RenderingBudget
from autotune.core.markdown.visible import HIDDEN, visible

MAX_FORMULA: Final = 1_000  # characters
MAX_DEPTH: Final = 15  # of braces
MAX_ELEMENTS: Final = 2_000
TAGS: Final = frozenset(
    [
        "math",
        "mrow",
        "mi",
        "mn",
        "mo",
        "ms",
        "mtext",
        "mspace",
        "mfrac",
        "msqrt",
        "mroot",
        "msub",
        "msup",
        "msubsup",
        "munder",
        "mover",
        "munderover",
        "mtable",
        "mtr",
        "mtd",
        "mstyle",
        "mpadded",
        "menclose",
    ]
)
# How many parts an element has; a browser shows one with more or fewer as an error.
_PARTS: Final = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3}
_WORDS: Final = re.compile(r"[a-z][a-z-]{0,30}( [a-z][a-z-]{0,30}){0,9}")
_LENGTH: Final = re.compile(r"-?0?\.[0-9]{1,4}(em|ex)|[0-3](\.[0-9]{1,4})?(em|ex)|0(px|pt)?")  # nothing leaves its line
_NUMBER: Final = re.compile(r"[0-2]")
# Colours, sizes, classes and links are not here: they could hide what a formula says, or lead away from the page.
ATTRIBUTES: Final = {
    **dict.fromkeys(
        ("display", "stretchy", "fence", "form", "separator", "accent", "accentunder", "columnalign", "rowlines",
         "columnlines", "displaystyle", "mathvariant", "movablelimits", "largeop", "notation"),
        _WORDS,
    ),
    **dict.fromkeys(("width", "height", "depth", "lspace", "rspace", "linethickness"), _LENGTH),
    "scriptlevel": _NUMBER,
}  # fmt: skip
# A macro can grow without limit, and the others style or link.
_REFUSED: Final = re.compile(
    r"\\(?:(?:re|provide)?newcommand|(?:re)?newenvironment|[gex]?def|let|DeclareMathOperator|class|style|cssId|href|url"
    r"|begin\s*\{document|phantom|hphantom|vphantom|llap|rlap|clap|mathllap|mathrlap|mathclap|tiny)"
)
_DEPTHS: Final = {"{": 1, "\\left": 1, "\\begin": 1, "}": -1, "\\right": -1, "\\end": -1}
_ERRORS: Final[tuple[type[Exception], ...]] = (
    *(error for error in vars(exceptions).values() if isinstance(error, type) and issubclass(error, Exception)),
    ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, StopIteration, TypeError, ValueError,
)  # fmt: skip


def formula(latex: str, budget: RenderingBudget, *, display: bool) -> str:
    """Render a formula as MathML, or as its source where it is too long, too deep, or not understood."""
    html = _mathml(latex, budget, display) if _is_bounded(latex) and budget.formulas > 0 else None
    if html is None:
        html = f'<code class="formula-source">{visible(latex, budget)}</code>'
    return f'<div class="formula" tabindex="0" role="group" aria-label="Formula">{html}</div>' if display else html


def _is_bounded(latex: str) -> bool:
    depth = deepest = 0
    for match in re.finditer(r"\\(?:left|right|begin|end)(?![a-zA-Z])|\\.|[{}]", latex):
        depth += _DEPTHS.get(match[0], 0)
        deepest = max(deepest, depth)
    return depth == 0 and deepest <= MAX_DEPTH and len(latex) <= MAX_FORMULA and not _REFUSED.search(latex)


def _mathml(latex: str, budget: RenderingBudget, display: bool) -> str | None:
    budget.check()
    budget.formulas -= 1
    try:
        root = Converter(display="block" if display else "inline").convert_to_element(latex)
        elements = list(root.iter())
        if len(elements) > MAX_ELEMENTS or not all(map(_is_whole, elements)):
            return None
        return _element(root)
    except _ERRORS:
        return None


def _is_whole(element: Element) -> bool:
    return element.tag in TAGS and len(element) == _PARTS.get(element.tag, len(element))


def _element(element: Element) -> str:
    attributes = "".join(
        f' {name}="{value}"'
        for name, value in element.attrib.items()
        if name in ATTRIBUTES and ATTRIBUTES[name].fullmatch(value)
    )
    children = "".join(map(_element, element))
    return f"<{element.tag}{attributes}>{_symbols(element.text)}{children}</{element.tag}>{_symbols(element.tail)}"


def _symbols(text: str | None) -> str:
    """The library writes symbols as references. Invisible operators say nothing to a reader; the rest becomes �."""
    return escape(HIDDEN.sub("\ufffd", re.sub("[\u2061-\u2064]", "", unescape(text or ""))))
