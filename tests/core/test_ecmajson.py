"""Text for graders reads and writes again in ECMAScript without a change."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autotune.core import ecmajson

VECTORS = json.loads((Path(__file__).resolve().parents[2] / "docs/protocol/vectors.json").read_text())


@pytest.mark.parametrize("case", VECTORS["platform_text"], ids=lambda case: case["id"])
def test_vector(case):
    assert ecmajson.dumps(json.loads(case["given"])).decode() == case["written"]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (-1.5, "-1.5"),
        (0.1, "0.1"),
        (1e-6, "0.000001"),
        (1.5e-6, "0.0000015"),
        (1e-7, "1e-7"),
        (1.25e-7, "1.25e-7"),
        (123456.789, "123456.789"),
        (1e16, "10000000000000000"),
        (1.2345e20, "123450000000000000000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (2**53, "9007199254740992"),
        (2**53 + 1, "9007199254740992"),
        (10**21, "1e+21"),
        (5e-324, "5e-324"),
    ],
)
def test_numbers_are_printed_as_ecmascript_does(number, text):
    assert ecmajson.number(number) == text
    assert ecmajson.dumps([number]).decode() == f"[{text}]"


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 10**400])
def test_a_number_that_is_not_finite_is_an_error(number):
    with pytest.raises(ValueError, match="not finite"):
        ecmajson.dumps({"a": number})


@pytest.mark.parametrize("value", [{1: 2}, {"a": {1, 2}}, b"x", {"a": object()}])
def test_a_value_without_json_form_is_an_error(value):
    with pytest.raises(TypeError):
        ecmajson.dumps(value)


def test_only_the_escapes_of_ecmascript_are_made():
    text = "".join(map(chr, range(0x80))) + "\x80\u2028\u2029é😀/"
    written = ecmajson.string(text).decode()
    expected = json.dumps(text, ensure_ascii=False)
    assert written == expected
    assert "\\u001f" in written
    assert "\x7f\x80\u2028\u2029" in written


def test_a_lone_surrogate_is_written_as_an_escape():
    assert ecmajson.string("a\ud800b") == rb'"a\ud800b"'
    assert ecmajson.dumps({"a": ["\udfff"]}) == rb'{"a":["\udfff"]}'


def test_both_paths_write_the_same():
    plain = {"a": "é\n", "b": [1, True, None, {"c": []}], "": {}}
    mixed = {**plain, "z": 0.5}
    assert ecmajson.dumps(mixed) == ecmajson.dumps(plain)[:-1] + b',"z":0.5}'


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=6) | st.from_regex(r"\A[0-9]{1,11}\Z"), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(values)
def test_written_values_are_read_back_equal_and_stable(value):
    written = ecmajson.dumps(value)
    back = json.loads(written, parse_int=float)  # as ECMAScript reads it
    assert back == value
    assert ecmajson.dumps(back) == written
