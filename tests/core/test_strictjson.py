"""JSON from outside is read strictly, and a refusal names the place."""

import json

import pytest

from autotune.core.strictjson import JSONRefused, check_free, loads


def refused(raw, **options):
    with pytest.raises(JSONRefused) as caught:
        loads(raw, **options)
    return caught.value.code, caught.value.pointer


def nested(levels):
    return b"[" * levels + b"]" * levels


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b'{"a":[1,-2,0.5,1e3,true,false,null,"x"]}', {"a": [1, -2, 0.5, 1000.0, True, False, None, "x"]}),
        (' {"é":"日本 😀"} '.encode(), {"é": "日本 😀"}),
        (rb'"\ud83d\ude00"', "😀"),
        (rb'"\\u0000"', "\\u0000"),
        (b'""', ""),
        (b"123456789012345678901", 123456789012345678901),
        (b"-123456789012345678901", -123456789012345678901),
    ],
)
def test_good_text_is_read(raw, value):
    assert loads(raw) == value


@pytest.mark.parametrize(
    ("raw", "code", "pointer"),
    [
        (b"", "invalid_json", ""),
        (b"{", "invalid_json", ""),
        (b"{}{}", "invalid_json", ""),
        (b"{'a':1}", "invalid_json", ""),
        (b"[1,]", "invalid_json", ""),
        (b"\xef\xbb\xbf{}", "invalid_json", ""),
        ("{}".encode("utf-16"), "invalid_json", ""),
        (b'"\xed\xa0\x80"', "invalid_json", ""),
        (b'"\x00"', "invalid_json", ""),
        (b'{"a":{"b":[1,NaN]}}', "invalid_json", "/a/b/1"),
        (b"-Infinity", "invalid_json", ""),
        (b'{"a":[1e999]}', "number_not_finite", "/a/0"),
        (b'{"a":-1e999}', "number_not_finite", "/a"),
        (b'{"a":1234567890123456789012}', "number_not_finite", "/a"),
        (b"[" + b"9" * 5000 + b"]", "number_not_finite", "/0"),
        (b'{"a":1,"a":1}', "duplicate_key", "/a"),
        (b'{"x":[{"a/b~":1,"c":2,"a/b~":1}]}', "duplicate_key", "/x/0/a~1b~0"),
        (rb'{"a":1,"\u0061":2}', "duplicate_key", "/a"),
        (rb'{"m":["ok","a\u0000b"]}', "invalid_text", "/m/1"),
        (rb'{"m":{"k\ud800":1}}', "invalid_text", "/m/k�"),
        (rb'{"m":[{"n":"\ud800"}]}', "invalid_text", "/m/0/n"),
        (rb'{"m":{"a\u0000b":1}}', "invalid_text", "/m/a�b"),
        (rb'["\ude00\ud83d"]', "invalid_text", "/0"),
        (b"[" * 100_000, "too_deep", ""),
        (b'{"a":' * 200_000, "too_deep", ""),
    ],
)
def test_bad_text_is_refused_with_its_place(raw, code, pointer):
    assert refused(raw) == (code, pointer)


def test_the_first_of_several_faults_is_named():
    assert refused(b'{"a":[NaN],"b":[1e999]}') == ("invalid_json", "/a/0")


def test_depth_counts_levels_exactly():
    assert loads(nested(32)) is not None
    assert refused(nested(33))[0] == "too_deep"
    assert loads(nested(3), max_depth=3) == [[[]]]
    assert refused(b'{"a":[[[]]]}', max_depth=3) == ("too_deep", "/a/0/0")


def test_brackets_in_strings_and_side_by_side_are_not_depth():
    wide = {"a": "[" * 100, "b": [{} for _ in range(100)]}
    assert loads(json.dumps(wide).encode()) == wide


def test_depth_can_be_left_to_the_caller_but_never_crashes():
    assert loads(nested(200), max_depth=None) is not None
    assert refused(nested(50_000), max_depth=None)[0] == "too_deep"


def test_integers_are_limited_to_the_safe_range_on_request():
    edge = b"[9007199254740991,-9007199254740991]"
    assert loads(edge, safe_integers=True) == [2**53 - 1, 1 - 2**53]
    assert refused(b'{"m":{"n":9007199254740992}}', safe_integers=True) == ("integer_out_of_range", "/m/n")
    assert refused(b"[-9007199254740992]", safe_integers=True) == ("integer_out_of_range", "/0")
    assert loads(b"9007199254740993") == 9007199254740993


def test_a_pointer_that_would_be_too_long_is_left_out():
    deep = b'{"' + b"k" * 1000 + b'":[NaN]}'
    assert refused(deep) == ("invalid_json", "")


def test_a_free_value_is_checked_for_depth_and_integers():
    check_free({"a": [1, "x", None, 0.5, True]}, "/metadata")
    check_free({"a": {"b": []}}, "/m", max_depth=3)
    for value, options, expected in [
        ({"a": {"b": [[]]}}, {"max_depth": 3}, ("too_deep", "/m/a/b/0")),
        ({"a": [1, 2**53]}, {}, ("integer_out_of_range", "/m/a/1")),
        ({"x": [1], "y": -(2**53)}, {}, ("integer_out_of_range", "/m/y")),
    ]:
        with pytest.raises(JSONRefused) as caught:
            check_free(value, "/m", **options)
        assert (caught.value.code, caught.value.pointer) == expected
    check_free({"a": 2**60}, "/m", safe_integers=False)


@pytest.mark.parametrize(
    "text", [b"\xef\xbb\xbf{}", b"\xef\xbb\xbf", b'\xef\xbb\xbf{"a":1,"a":2}', b"\xef\xbb\xbfnull"]
)
def test_c22_a_byte_order_mark_is_named(text):
    with pytest.raises(JSONRefused, match="begins with a byte-order mark") as caught:
        loads(text)
    assert (caught.value.code, caught.value.pointer) == ("invalid_json", "")


def test_c22_a_byte_order_mark_within_a_string_is_text():
    assert loads(b'{"a":"\xef\xbb\xbf"}') == {"a": "\ufeff"}
