"""Answers as Markdown: what a page shows of headings, lists, tables, code, formulas, links and images."""

import pytest

from autotune.core import markdown


def html(text: str, **options: int) -> str:
    rendered = markdown.answer(text, **options)
    assert (rendered.note, rendered.written, rendered.cut) == ("", "", 0)
    return rendered.formatted


def test_paragraphs_lists_and_emphasis():
    assert html("**Bold** and *thin*\n\n3. three\n4. four\n   - *deep*") == (
        "<p><strong>Bold</strong> and <em>thin</em></p>"
        '<ol start="3"><li>three</li><li>four<ul><li><em>deep</em></li></ul></li></ol>'
    )


def test_a_line_of_its_own_stays_one():
    assert html("48 / 2 = 24\n24 + 48 = 72\n#### 72").startswith("<p>48 / 2 = 24<br>24 + 48 = 72</p><h3>72</h3>")


def test_headings_begin_below_those_of_the_page_and_skip_no_level():
    assert html("# One\n#### Two\n## Three\n# Four", heading=4) == "<h4>One</h4><h5>Two</h5><h5>Three</h5><h4>Four</h4>"
    assert html("#\n\n# &nbsp;") == "<p></p><p>&nbsp;</p>"


def test_a_table_has_its_alignment_and_can_be_scrolled():
    table = html("| a | b |\n|---|--:|\n| 1 | 2 |")
    assert table.startswith('<div class="answer-table" tabindex="0" role="group" aria-label="Table"><table><thead>')
    assert '<th class="cell-end" scope="col">b</th>' in table
    assert '<td class="cell-end">2</td>' in table
    assert "<th " not in html("| | |\n|---|---|\n| 1 | 2 |")


def test_a_table_that_would_lose_cells_stays_as_written():
    source = "| a | b |\n|---|---|\n| 1 | 2 | the third |"
    assert f"<code>{source}</code>" in html(source)
    assert "<table" in html("| a | b |\n|---|---|\n| 1 |\n| x \\| y | 2 |")


def test_code_is_in_colours_and_keeps_every_letter():
    code = html("```python and more\nx = 1 < 2\n```\n\n~~~\nplain & simple\n~~~")
    assert "<bdi>python and more</bdi>" in code
    assert '<span class="hl-number">' in code
    assert "&lt;" in code
    assert 'aria-label="Code"><code>plain &amp; simple</code>' in code
    assert html("Give `a < b` or `<b>`.") == "<p>Give <code>a &lt; b</code> or <code>&lt;b&gt;</code>.</p>"


@pytest.mark.parametrize("latex", [r"\(x^2\)", "$x^2$"])
def test_a_formula_within_a_line_is_mathml(latex):
    squared = '<math display="inline"><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow></math>'
    assert html(f"Take {latex}.") == f"<p>Take {squared}.</p>"


@pytest.mark.parametrize("latex", ["$$\n\\frac{a}{b}\n= c\n$$", "\\[\n\\frac{a}{b}\n= c\n\\]", "$$\\frac{a}{b} = c$$"])
def test_a_displayed_formula_is_a_block(latex):
    block = html(f"Text\n{latex}\nmore")
    assert block.startswith('<p>Text</p><div class="formula" tabindex="0"')
    assert '<math display="block"><mrow><mfrac>' in block
    assert block.endswith("</math></div><p>more</p>")


def test_money_is_no_formula():
    for text in ("It costs $5 and $10.", "From $5/$6 to $7.", "US$ 5 or 6 US$", r"\$5 and 6\$"):
        assert "<math" not in html(text), text


def test_a_formula_that_is_not_understood_is_shown_as_written():
    for latex in (r"\frac{a", r"\begin{pmatrix} 1", r"\nosuch\left(", "x^{" * 20 + "}" * 20, r"\def\x{y}\x"):
        assert f'<code class="formula-source">{latex}</code>' in html(f"${latex}$").replace("&amp;", "&"), latex


def test_a_link_shows_its_host_whatever_its_text_says():
    assert html("[https://bank.example](https://evil.example/a?b=1&c=2 'title')") == (
        '<p><a href="https://evil.example/a?b=1&amp;c=2" rel="noopener noreferrer nofollow">https://bank.example</a> '
        '<small class="link-host">(evil.example)</small></p>'
    )
    assert ">https://a.example</a>" in html("[](https://a.example)")


def test_an_image_is_not_loaded():
    image = html("![A *map*](https://pixel.example/a.png)")
    assert "<img" not in image
    assert "href" not in image
    assert 'Image not shown: A *map* <small class="link-host">(pixel.example)</small>' in image


def test_nothing_that_was_written_is_dropped_from_view():
    text = "[note]: https://hidden.example\n\n<!-- comment -->\n\n<style>p {color: red}</style>"
    assert html(text) == (
        "<p>[note]: https://hidden.example</p><p>&lt;!-- comment --&gt;</p>"
        "<p>&lt;style&gt;p {color: red}&lt;/style&gt;</p>"
    )


def test_beyond_the_bound_text_is_shown_as_written_and_says_so():
    text = ("*word*" + " other" * 50 + "\n\n") * 100
    rendered = markdown.answer(text)
    assert rendered.note == "From here on the text is shown as written: a page formats its first 20,000 characters."
    assert rendered.written.startswith("*word*")
    assert rendered.formatted.count("word") + rendered.written.count("word") == 100
    assert markdown.answer(text, limit=10_000).cut == len(text) - 10_000


def test_the_answers_of_one_page_share_its_bounds():
    first, second = markdown.answers(["*a*" + " a" * 9_998 + "a", "*b*"])
    assert "<em>a</em>" in first.formatted
    assert (second.note, second.formatted, second.written) == (markdown.PAGE_FULL, "", "*b*")


def test_a_text_can_be_shown_as_it_was_written():
    assert markdown.plain("# `raw` <b>").written == "# `raw` &lt;b&gt;"
    assert markdown.plain("# `raw`").formatted == ""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\u202eabc", "U+202E"), ("a\u200bb", "U+200B"), ("\x1b[31m", "U+001B"), ("\u200b" * 9, "U+200B ×9"),
        ("\U000e0041", "U+E0041"),
    ],
)  # fmt: skip
def test_invisible_characters_are_spelt_out(text, shown):
    assert shown in markdown.plain(text).written
    assert shown in markdown.answer(f"*{text}*").formatted
    assert shown in markdown.answer(f"```\n{text}\n```").formatted


def test_emoji_and_other_scripts_stay_unchanged():
    text = "\U0001f468\u200d\U0001f469 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 naïve 漢字"
    assert markdown.plain(text).written == text
    assert html(text) == f"<p>{text}</p>"
