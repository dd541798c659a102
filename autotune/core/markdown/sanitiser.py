"""Remove every element and attribute that a rendered answer does not need: the second guard behind escaping."""

from typing import Final

import nh3

from autotune.core.markdown import code, formulas

_TAGS: Final = {
    "p", "ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr", "th", "td", "em", "strong", "s", "h2", "h3",
    "h4", "h5", "h6", "hr", "br", "a", "small", "span", "div", "code", "pre", "figure", "figcaption", "bdi",
}  # fmt: skip
_REGION: Final = {"tabindex", "role", "aria-label"}
_CELL: Final = {"cell-start", "cell-center", "cell-end"}
_CLEANER: Final = nh3.Cleaner(
    tags=_TAGS | formulas.TAGS,
    attributes={
        "a": {"href"}, "ol": {"start"}, "th": {"scope"}, "span": {"title"}, "div": _REGION, "pre": _REGION,
        **{tag: set(formulas.ATTRIBUTES) for tag in formulas.TAGS},
    },
    allowed_classes={
        "div": {"answer-table", "formula"}, "figure": {"code-block"}, "pre": {"code"}, "small": {"link-host"},
        "span": {"hidden-character", "image-left-out", *code.CLASSES}, "code": {"formula-source"},
        "th": _CELL, "td": _CELL,
    },
    url_schemes={"http", "https"},
    link_rel="noopener noreferrer nofollow",
    strip_comments=True,
)  # fmt: skip


def clean(html: str) -> str:
    """Return HTML with only what a rendered answer may have."""
    return _CLEANER.clean(html)
