"""Sentences of several authors stay separate in one text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autotune.core.pages.sentences import joined


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (("why", "Ask again."), "why. Ask again."),
        (("It is wrong.", "Ask again"), "It is wrong. Ask again."),
        (("Is it?", "It is!"), "Is it? It is!"),
        (("  padded  ", "", None, "End."), "padded. End."),
        (('He said "no."', "End."), 'He said "no." End.'),
        (("a list:", "x"), "a list: x."),
        (("Ja。", "Nein"), "Ja。 Nein."),
        (("cut…", "End."), "cut… End."),
        ((), ""),
        ((None, " "), ""),
    ],
)
def test_c21_sentences_are_separated_by_a_full_stop_and_a_space(parts, text):
    assert joined(*parts) == text


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1)))
def test_c21_no_word_is_lost_or_joined_to_the_next(parts):
    text = joined(*parts)
    assert [part for part in parts if part not in text] == []
    assert len(re.findall(r"\S+", text)) == len(parts)
