"""Hostile answers: none becomes markup of its own, leads away unseen, hides text, or takes long."""

import re
import time
from html.parser import HTMLParser

import pytest

from autotune.core import markdown
from autotune.core.markdown import code, formulas

MIB = 2**20
MAX_CPU = 1.5  # seconds for a mebibyte; on a quiet machine none takes 0.2


def filled(pattern: str) -> str:
    return (pattern * (MIB // len(pattern) + 1))[:MIB]


PATTERNS = {
    "quotes": filled(">"), "lists": filled("- "), "nested": filled("> - 1. "), "brackets": filled("["),
    "images": filled("!["), "empty links": filled("[]("), "half links": filled("[a](<b"), "emphasis": filled("*a_"),
    "mixed emphasis": filled("*a_b**c"), "strikes": filled("~~a"), "backslashes": filled("\\"), "entities": filled("&#"),
    "markup": filled("<"), "lines": filled("a\n"), "headings": filled("#\n"), "fences": filled("```\n"),
    "a fence that never closes": "```python\n" + filled("x = '"), "definitions": filled("[a]: b\n"),
    "links": filled("[a](http://b) "), "autolinks": filled("<http://a>"), "parentheses": "[a](" + filled("("),
    "lazy quotes": filled("> a\n\n- b\n"), "code": filled("    a\n\n"), "dollars": filled("$"),
    "half formulas": filled("$a"), "brackets of formulas": filled("\\("), "formulas": filled("$x^{2}$ "),
    "blocks of formulas": filled("$$\nx\n"), "deep formulas": filled("$" + "{" * 400 + "}" * 400 + "$ "),
    "roots": filled("$" + "\\sqrt" * 190 + "x$ "), "fractions": filled("$" + "\\frac" * 190 + "x$ "),
    "matrices": filled("$\\begin{matrix}" + "a&" * 400 + "\\end{matrix}$\n"), "powers": filled("$" + "x^" * 400 + "x$ "),
    "macros": filled(r"$\def\a{\a\a}\a$ "), "hidden characters": filled("a\u200b"), "one word": filled("y"),
    "rows": "|a|b|\n|-|-|\n" + filled("|\n"), "deep lists": "".join(" " * 2 * n + "- a\n" for n in range(1_000)),
    "a thousand columns": "\n".join(["|" + "a|" * 1_000, "|" + "-|" * 1_000, *["|" + "a|" * 1_000] * 500]),
    "short rows of many columns": "|" + "a|" * 6_000 + "\n|" + "-|" * 6_000 + filled("\n|"),
    "fences of all lengths": "".join("`" * n + " " for n in range(1, 1_400)),
}  # fmt: skip


@pytest.mark.parametrize("name", PATTERNS)
def test_a_mebibyte_takes_little_time_and_grows_little(name):
    began = time.process_time()
    rendered = markdown.answer(PATTERNS[name])
    assert time.process_time() - began < MAX_CPU
    assert len(rendered.formatted) + len(rendered.written) < 10**6
    assert rendered.note or rendered.cut
    assert elements(rendered.formatted) <= ELEMENTS


def test_many_answers_of_one_page_take_no_longer():
    began = time.process_time()
    rendered = markdown.answers([PATTERNS["brackets"], PATTERNS["emphasis"], PATTERNS["lines"]] * 30, limit=20_000)
    assert time.process_time() - began < MAX_CPU
    assert all(text.note for text in rendered[1:])


ELEMENTS = {
    "p", "ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr", "th", "td", "em", "strong", "s", "h3", "h4", "h5",
    "h6", "hr", "br", "a", "small", "span", "div", "code", "pre", "figure", "figcaption", "bdi", *formulas.TAGS,
}  # fmt: skip
ATTRIBUTES = {"href", "rel", "class", "title", "tabindex", "role", "aria-label", "start", "scope", *formulas.ATTRIBUTES}


class MarkupReader(HTMLParser):
    """Collects the elements and attributes that a browser would make of a text."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes += attrs


def read(html: str) -> MarkupReader:
    reader = MarkupReader()
    reader.feed(html)
    reader.close()
    return reader


def elements(html: str) -> set[str]:
    return read(html).elements


SCRIPT = "<script>alert(1)</script>"
MARKUP = [
    SCRIPT, "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>", "<a href='javascript:alert(1)'>x</a>",
    "<!-- <b> -->", "<style>*{display:none}</style>", "<math><maction actiontype=statusline href=javascript:1>x</maction></math>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--><img src=1 onerror=alert(1)>'>",
    "<form id=content><input name=csrfmiddlewaretoken>", "<h2 id=response-title>", "<iframe srcdoc='<script>'>",
    "<base href=//evil.example>", "<meta http-equiv=refresh content=0>", "</div></section><b>", "<details open ontoggle=x>",
]  # fmt: skip
SETTINGS = ["{}", "# {}", "- {}", "> {}", "*{}*", "[{}](http://a.example)", "![{}](http://a.example/b)", "|{}|b|\n|-|-|\n|{}|c|",
            "```{}\n{}\n```", "`{}`", "$x {}$", r"$\text{{{}}}$", r"$\unicode{{{}}}$", r"\[\operatorname{{{}}}\]", "    {}",
            r"$\class{{{}}}{{x}}$", r"$\color{{{}}} x$", r"$\begin{{array}}{{{}}} a \end{{array}}$", r"$\tag{{{}}}$",
            "[a](http://a.example/{})", "<http://a.example/{}>", "~~~ {}\nx\n~~~"]  # fmt: skip


@pytest.mark.parametrize("setting", SETTINGS)
def test_no_text_becomes_markup_of_its_own(setting):
    for markup in MARKUP:
        html = markdown.answer(setting.replace("{}", markup).replace("{{", "{").replace("}}", "}")).formatted
        page = read(html)
        assert page.elements <= ELEMENTS, markup
        assert {name for name, _ in page.attributes} <= ATTRIBUTES, markup
        assert all(re.match("https?://a.example", value or "") for name, value in page.attributes if name == "href")


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)", "JaVaScRiPt:alert(1)", "java&#115;cript:alert(1)", "&#x6A;avascript:alert(1)",
        "javascript&colon;alert(1)", "java\\script:x", "\x01javascript:x", "%6Aavascript:x", "vbscript:x", "file:///etc/passwd",
        "data:text/html;base64,PHNjcmlwdD4=", "//evil.example", "/settings/members", "#response-title", "?view=raw",
        "mailto:a@b.example", "https://autotune.example@evil.example/", "https://evil.example\\@autotune.example",
        "https:evil.example", "https:///evil.example", "https://evil.example&#x202e;/", "https://[::1]/", "https://a..b/",
        "http://evil&#x2e;example&#x3a;x@y/", "https://-a/",
    ],
)  # fmt: skip
def test_only_an_address_with_a_plain_host_is_a_link(address):
    for text in (f"[x]({address})", f"[x](<{address}>)", f"<{address}>", f"[x]: {address}\n\n[x]", f"![x]({address})"):
        html = markdown.answer(text).formatted
        assert "href" not in html or ">(evil.example)</small>" in html, text
        assert "@" not in "".join(value or "" for name, value in read(html).attributes if name == "href"), text


def test_a_host_in_other_letters_is_shown_as_it_is_called():
    assert ">(xn--pypal-4ve.com)</small>" in markdown.answer("[paypal](https://p\u0430ypal.com/)").formatted


@pytest.mark.parametrize(
    "latex",
    [
        r"\href{javascript:alert(1)}{x}", r"\class{hidden}{x}", r"\style{display:none}{x}", r"\cssId{content}{x}",
        r"\phantom{hidden}", r"\llap{over}", r"\newcommand{\a}{\a\a}\a", r"\def\a{\a\a}\a", r"\tiny{x}",
    ],
)  # fmt: skip
def test_a_formula_that_styles_links_hides_or_grows_is_shown_as_written(latex):
    assert f'<code class="formula-source">{latex}</code>' in markdown.answer(f"${latex}$").formatted


@pytest.mark.parametrize(
    "latex", [r"\color{white}x", r"\hspace{99999em}x", r"\kern{-99em}x", r"\raise{99em}{x}", r"\rule{9999em}{9999em}"]
)
def test_a_formula_stays_in_its_place_and_colour(latex):
    attributes = dict(read(markdown.answer(f"a ${latex}$").formatted).attributes)
    assert not {"mathcolor", "mathbackground", "style", "voffset"} & attributes.keys()
    assert not [value for value in attributes.values() if "9" in (value or "")]


@pytest.mark.parametrize("language", sorted(set(code.LANGUAGES.values())))
def test_no_code_takes_long_to_colour(language):
    markdown.answer(f"```{language}\nx\n```")  # the lexer is made once
    for seed in ('"', "'", "/*", "<", "{", "[", "\\", "`", "${", "a ", '@"', "<!--", "=begin\n", 'R"('):
        began = time.process_time()
        markdown.answer(f"````{language}\n" + "\n".join([(seed * 990)[:990]] * 8) + "\n````")
        assert time.process_time() - began < 1.0, seed
