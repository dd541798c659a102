"""Hostile texts: none of them becomes markup, hides content, or makes a page grow without limit."""

import pytest
from django.urls import reverse

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
