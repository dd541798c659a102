"""Hostile texts: none of them becomes markup, hides content, or makes a page grow without limit."""

import time

import pytest
from django.urls import reverse

from scores.results.pages import highlighting
from tests.factories import CompletionFactory, ScoreFactory

pytestmark = pytest.mark.django_db
SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>"
MIB = 2**20
HOSTILE = {
    "script": SCRIPT,
    "one word": "x" * 10_000,
    "a mebibyte": "word " * (MIB // 5),
    "a mebibyte of one word": "y" * MIB,
    "a mebibyte of markup": "<" * MIB,
    "a mebibyte of hidden characters": "a\u200b" * (MIB // 4),
    "emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 1000,
    "ansi": "\x1b[31mred\x1b[0m" * 100,
    "right to left": "\u202e\u2066abc" * 500,
    "a fence that never closes": "```python\n" + "x = '" * 20_000,
    "ten thousand fences": "```js\nf()\n```\n" * 10_000,
    "fences that open only": "```\n" * 10_000,
    "a fence of a hundred thousand": "`" * 100_000 + "\n",
    "spaces behind fences": ("```" + " " * 5_000 + "`x\n") * 20,
    "quotes": "```python\n" + '"""' * 10_000 + "\n```",
    "deep": "```json\n" + "[" * 30_000 + "\n```",
    "language with markup": f"```{SCRIPT}\ncode\n```",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_breaks_the_page(visitor, name):
    completion = CompletionFactory(prompt=HOSTILE[name], response=HOSTILE[name], model_id="\u202e<b>" + "m" * 190)
    client = visitor("organization_admin", completion.organization)
    answer = client.get(reverse("completion", args=[completion.pk]))
    html = answer.content.decode()
    assert answer.status_code == 200
    assert len(answer.content) < 2 * 10**6
    for markup in ("<script>alert", "<img src=x", "<b>m"):
        assert markup not in html
    assert client.get(reverse("completions")).status_code == 200


def test_a_truncated_text_is_complete_in_its_file(visitor):
    completion = CompletionFactory(response="z" * MIB)
    client = visitor("training_operator", completion.organization)
    there = reverse("completion_text", args=[completion.pk, "response"])
    assert there in client.get(reverse("completion", args=[completion.pk])).content.decode()
    answer = client.get(there)
    assert answer.content == completion.response.encode()
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Disposition"].startswith("attachment;")


def test_hostile_words_of_a_grader_are_text(visitor):
    score = ScoreFactory(reasoning=SCRIPT, dimensions=[{"name": SCRIPT, "value": 0.5, "weight": 1.0}])
    client = visitor("training_operator", score.organization)
    for path in (reverse("score", args=[score.pk]), reverse("completion", args=[score.completion.pk])):
        html = client.get(path).content.decode()
        assert "<script>alert" not in html
        assert "&lt;script&gt;alert" in html


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\u202eabc", "U+202E"), ("a\u200bb", "U+200B"), ("\x1b[31m", "U+001B"), ("\u200b" * 9, "U+200B ×9"),
        ("\U000e0041", "U+E0041"),
    ],
)  # fmt: skip
def test_invisible_characters_are_spelt_out(text, shown):
    assert shown in highlighting.plain(text).segments[0].html


def test_emoji_and_other_scripts_stay_unchanged():
    text = "\U0001f468\u200d\U0001f469 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 naïve 漢字"
    assert highlighting.plain(text).segments[0].html == text


def test_fences_are_code_and_keep_every_letter():
    shown = highlighting.answer("One\n```python\nx = 1 < 2\n```\nTwo\n~~~\nplain & simple\n~~~")
    assert [(segment.code, segment.language) for segment in shown.segments] == [
        (False, ""), (True, "python"), (False, ""), (True, ""),
    ]  # fmt: skip
    assert "&lt;" in shown.segments[1].html
    assert 'class="hl-number"' in shown.segments[1].html
    assert shown.segments[3].html == "plain &amp; simple"


def test_code_within_a_line_is_code_and_nothing_else_becomes_markup():
    assert highlighting.answer("Give `a < b` or `<b>` *so*.").segments[0].html == (
        "Give <code>a &lt; b</code> or <code>&lt;b&gt;</code> *so*."
    )
    for text in ("one ` only", "``two``", "`over\nlines`", "``"):
        assert "<" not in highlighting.answer(text).segments[0].html, text
    assert highlighting.plain("`raw`").segments[0].html == "`raw`"


def test_beyond_the_bound_code_within_lines_stays_as_it_was_written():
    html = highlighting.answer("`a` " * (highlighting.MAX_INLINE + 5)).segments[0].html
    assert html.count("<code>") == highlighting.MAX_INLINE
    assert html.count("`a`") == 5


def test_the_answers_of_one_page_share_its_bounds():
    code = "```python\n" + f"# {'c' * 900}\n" * 30 + "```"  # of few tokens, so that letters are what is bounded
    first, second = highlighting.answers([code, code])
    assert [answer.segments[0].coloured for answer in (first, second)] == [True, False]
    many = highlighting.answers(["```\na\n```\n" * 300] * 50)
    assert sum(len(answer.segments) for answer in many) <= highlighting.SEGMENTS_EACH * 50 + 50


@pytest.mark.parametrize("language", sorted(set(highlighting.LANGUAGES.values())))
def test_no_code_takes_long_to_colour(language):
    highlighting.answer(f"```{language}\nx\n```")  # the lexer is made once
    for seed in ('"', "'", "/*", "<", "{", "[", "\\", "`", "${", "a ", '@"', "<!--", "=begin\n", 'R"('):
        began = time.process_time()
        highlighting.answer(f"```{language}\n" + "\n".join([(seed * 990)[:990]] * 40) + "\n```")
        assert time.process_time() - began < 1.0, seed
