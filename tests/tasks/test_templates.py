"""Prompt templates: variables are found, filled in once, and never evaluated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autotune.core.errors import Invalid
from tasks.templates import render, variables

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,8}", fullmatch=True)


def errors(template, values):
    with pytest.raises(Invalid) as refused:
        render(template, values)
    return [(error.pointer, error.code) for error in refused.value.errors]


def test_variables_are_named_once_in_their_order():
    assert variables("{{b}} {{ a }} {{b}} {{\ta.b-c_1 }}") == ["b", "a", "a.b-c_1"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "{a}",
        "{{}}",
        "{{ }}",
        "{{1a}}",
        "{{a b}}",
        "{{a",
        "a}}",
        "{{7*7}}",
        "{{a|safe}}",
        "{{ a\n}}",
        "{{ä}}",
        "{% x %}",
        "{{'a'}}",
    ],
)
def test_everything_else_is_text(text):
    assert variables(text) == []
    assert render(text, {}) == text


def test_braces_around_a_variable_stay():
    assert render("{{{a}}} {{ {{a}} }}", {"a": "1"}) == "{1} {{ 1 }}"


def test_a_value_is_text_whatever_it_holds():
    assert render("{{a}}{{b}}", {"a": "{{b}}", "b": r"\1 \g<0> {{7*7}} %s {0}"}) == r"{{b}}\1 \g<0> {{7*7}} %s {0}"


def test_missing_and_extra_variables_are_all_named():
    assert errors("{{a}} {{b}}", {"b": "1", "d/e": "2", "c": "3"}) == [
        ("/variables/a", "missing_variable"),
        ("/variables/c", "unknown_variable"),
        ("/variables/d~1e", "unknown_variable"),
    ]


def test_a_mebibyte_of_braces_is_parsed_quickly():
    for text in ("{{" * 2**19, "{{ " * 2**18, "{{" + " " * 2**20, "{{" + "a" * 2**20, "{{a}" * 2**18):
        assert variables(text) == []


@given(
    st.lists(
        st.one_of(NAMES.map(lambda name: (name,)), st.text(st.characters(codec="utf-8", exclude_characters="{}")))
    ),
    st.data(),
)
def test_rendering_is_the_concatenation_of_texts_and_values(parts, data):
    template = "".join(f"{{{{ {part[0]} }}}}" if isinstance(part, tuple) else part for part in parts)
    names = {part[0] for part in parts if isinstance(part, tuple)}
    values = {name: data.draw(st.text()) for name in names}
    assert set(variables(template)) == names
    expected = "".join(values[part[0]] if isinstance(part, tuple) else part for part in parts)
    assert render(template, values) == expected


@given(st.text(st.sampled_from("{} ab.")), st.text())
def test_any_template_renders_with_its_own_variables(template, value):
    rendered = render(template, dict.fromkeys(variables(template), value))
    assert rendered == template or variables(template)
