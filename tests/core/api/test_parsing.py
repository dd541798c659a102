"""Bodies: read without coercion, and every refusal names its place."""

import json
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Meta, UnsetType

from autotune.core import ids
from autotune.core.api import parsing
from autotune.core.api.operations import BodyStruct
from autotune.core.api.parsing import PublicId
from autotune.core.errors import FieldError, Invalid

GOOD_ID = "task_01jd0000000000000000000000"


class TaskId(PublicId):
    kind = "task"


class Colour(StrEnum):
    RED = "red"


class Inner(BodyStruct):
    deep_name: str = ""


class Shape(BodyStruct):
    needed: str = "there"
    whole: Annotated[int, Meta(ge=0, le=10)] = 0
    maybe_whole: Annotated[int, Meta(ge=1)] | None = None
    share: Annotated[float, Meta(ge=0, le=1)] = 0.5
    flag: bool = False
    short: Annotated[str, Meta(min_length=1, max_length=3)] = "x"
    word: Annotated[str, Meta(pattern="^[a-z]+$")] = "x"
    many: Annotated[list[int], Meta(max_length=3)] = []
    inners: list[Inner] = []
    inner: Inner | None = None
    variables: dict[str, str] = {}
    free: dict[str, Any] | None = None
    choice: Literal["low", "high"] = "low"
    colour: Colour = Colour.RED
    task_id: TaskId | None = None
    tasks: list[TaskId] = []
    patched: str | UnsetType | None = UNSET


class Strict(BodyStruct):
    needed: str
    also_needed: int


def fault_of(use, *args):
    with pytest.raises(Invalid) as refused:
        use(*args)
    error = refused.value
    assert (error.status, error.code) == (400, "invalid_request")
    (field_error,) = error.errors
    assert field_error.pointer in error.detail or field_error.pointer == ""
    return field_error.pointer, field_error.code


WRONG = [
    ({"unknown": 1}, "/unknown", "unknown_field"),
    ({"maybe_whole": 1}, "/maybe_whole", "unknown_field"),
    ({"MaybeWhole": 1}, "/MaybeWhole", "unknown_field"),
    ({"": 1}, "/", "unknown_field"),
    ({"a/b~c": 1}, "/a~1b~0c", "unknown_field"),
    ({"~1": 1}, "/~01", "unknown_field"),
    ({"x`y": 1}, "/x`y", "unknown_field"),
    ({"a\nb": 1}, "/a\nb", "unknown_field"),
    ({"inner": {"x/y": 1}}, "/inner/x~1y", "unknown_field"),
    ({"inners": [{}, {"other": 1}]}, "/inners/1/other", "unknown_field"),
    ({"inners": [{}, {"deepName": 1}]}, "/inners/1/deepName", "wrong_type"),
    ({"inners": [{}, None]}, "/inners/1", "wrong_type"),
    ({"inners": {"0": {}}}, "/inners", "wrong_type"),
    ({"needed": None}, "/needed", "wrong_type"),
    ({"needed": 1}, "/needed", "wrong_type"),
    ({"needed": ["there"]}, "/needed", "wrong_type"),
    ({"whole": True}, "/whole", "wrong_type"),
    ({"whole": "1"}, "/whole", "wrong_type"),
    ({"whole": 1.5}, "/whole", "wrong_type"),
    ({"whole": -1}, "/whole", "out_of_range"),
    ({"whole": 11}, "/whole", "out_of_range"),
    ({"whole": 2**63}, "/whole", "out_of_range"),
    ({"maybeWhole": 0}, "/maybeWhole", "out_of_range"),
    ({"maybeWhole": False}, "/maybeWhole", "wrong_type"),
    ({"share": True}, "/share", "wrong_type"),
    ({"share": "0.5"}, "/share", "wrong_type"),
    ({"share": 1.0000001}, "/share", "out_of_range"),
    ({"share": -1e-9}, "/share", "out_of_range"),
    ({"flag": 1}, "/flag", "wrong_type"),
    ({"flag": "true"}, "/flag", "wrong_type"),
    ({"flag": None}, "/flag", "wrong_type"),
    ({"short": ""}, "/short", "invalid_length"),
    ({"short": "four"}, "/short", "invalid_length"),
    ({"word": "A"}, "/word", "invalid_format"),
    ({"many": [1, 2, 3, 4]}, "/many", "invalid_length"),
    ({"many": [1, True]}, "/many/1", "wrong_type"),
    ({"many": "12"}, "/many", "wrong_type"),
    ({"variables": {"a": 1}}, "/variables", "wrong_type"),
    ({"free": []}, "/free", "wrong_type"),
    ({"choice": "medium"}, "/choice", "invalid_choice"),
    ({"choice": 1}, "/choice", "wrong_type"),
    ({"colour": "blue"}, "/colour", "invalid_choice"),
    ({"patched": 1}, "/patched", "wrong_type"),
    ({"taskId": "nonsense"}, "/taskId", "malformed_id"),
    ({"taskId": 1.0}, "/taskId", "malformed_id"),
    ({"taskId": []}, "/taskId", "malformed_id"),
    ({"taskId": {"id": GOOD_ID}}, "/taskId", "malformed_id"),
    ({"taskId": GOOD_ID.upper()}, "/taskId", "malformed_id"),
    ({"taskId": GOOD_ID.replace("task_", "comp_")}, "/taskId", "malformed_id"),
    ({"tasks": [GOOD_ID, "x"]}, "/tasks/1", "malformed_id"),
    ([], "", "wrong_type"),
    (None, "", "wrong_type"),
    ("{}", "", "wrong_type"),
    (0, "", "wrong_type"),
]


@pytest.mark.parametrize(("body", "pointer", "code"), WRONG, ids=lambda value: str(value)[:40])
def test_a_wrong_member_is_refused_with_its_pointer(body, pointer, code):
    assert fault_of(parsing.convert, body, Shape) == (pointer, code)


@pytest.mark.parametrize(
    ("body", "pointer"), [({}, "/needed"), ({"needed": "x"}, "/alsoNeeded"), ({"alsoNeeded": 1}, "/needed")]
)
def test_a_missing_member_is_named(body, pointer):
    assert fault_of(parsing.convert, body, Strict) == (pointer, "missing_field")


def test_a_good_body_becomes_its_struct():
    body = {"taskId": GOOD_ID, "share": 1, "inners": [{"deepName": "x"}], "variables": {"": "é"}, "patched": None}
    read = parsing.convert(body, Shape)
    assert str(read.task_id) == GOOD_ID
    assert read.task_id.uuid == ids.decode("task", GOOD_ID)
    assert (read.share, read.inners[0].deep_name, read.variables, read.patched) == (1.0, "x", {"": "é"}, None)
    assert parsing.convert({}, Shape).patched is UNSET


def test_ids_of_one_kind_are_equal_by_their_uuid_and_serve_as_keys():
    task_id, same = TaskId(ids.decode("task", GOOD_ID)), TaskId(ids.decode("task", GOOD_ID))
    other = type("CompletionId", (PublicId,), {"kind": "comp"})(task_id.uuid)
    assert (task_id == same, task_id == other, len({task_id, same, other})) == (True, False, 2)


TEXT = [  # one of each code: tests/core/test_strictjson.py has the cases of the scanner
    (b"", "", "invalid_json"),
    (b'{"needed": "a\\u0000b"}', "/needed", "invalid_text"),
    (b'{"share": 1e999}', "/share", "number_not_finite"),
    (b'{"whole": 1, "whole": 1}', "/whole", "duplicate_key"),
    (b'{"free": {"n": 9007199254740992}}', "/free/n", "integer_out_of_range"),
    (b"[" * 200_000, "", "too_deep"),
]


@pytest.mark.parametrize(("raw", "pointer", "code"), TEXT, ids=lambda value: str(value)[:40])
def test_text_that_is_not_acceptable_json_is_refused_with_its_pointer(raw, pointer, code):
    assert fault_of(parsing.loads, raw) == (pointer, code)


def test_the_greatest_safe_integers_are_read():
    assert parsing.loads(b'{"a": 9007199254740991, "b": -9007199254740991}') == {"a": 2**53 - 1, "b": 1 - 2**53}


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(list(Shape.__struct_encode_fields__)) | st.text(max_size=8)


@given(st.dictionaries(NAMES, ANY, max_size=4))
def test_the_pointer_of_any_refusal_is_in_the_body(body):
    """The place exists, or is a member that is missing from an object that exists."""
    try:
        parsing.convert(body, Shape)
    except Invalid as refused:
        (error,) = refused.errors
        steps = [step.replace("~1", "/").replace("~0", "~") for step in error.pointer.split("/")[1:]]
        value = body
        for step in steps:
            value = value[int(step)] if isinstance(value, list) else value[step]


def test_each_item_is_converted_independently():
    items = [{}, {"whole": True}, None, {"x": 1}, {"inner": {"deepName": 1}}, {"needed": "good"}]
    good, bad = parsing.convert_each(items, Shape, "/completions")
    assert sorted(good) == [0, 5]
    assert [(error.pointer, error.code) for error in bad] == [
        ("/completions/1/whole", "wrong_type"),
        ("/completions/2", "wrong_type"),
        ("/completions/3/x", "unknown_field"),
        ("/completions/4/inner/deepName", "wrong_type"),
    ]


def test_the_detail_is_the_first_of_several_errors_and_at_most_100_are_listed():
    field_errors = [FieldError(f"/items/{n}", "wrong_type", "No.") for n in range(250)]
    error = parsing.invalid(field_errors)
    assert error.detail == "/items/0: No. (and 249 more)"
    assert error.errors == tuple(field_errors[:100])
    assert parsing.invalid(field_errors[:1]).detail == "/items/0: No."


def test_text_is_measured_in_bytes_of_utf_8():
    assert parsing.check_text("é" * 5, "/response", max_bytes=10) is None
    assert parsing.check_text("é" * 5, "/response", max_bytes=9) == FieldError(
        "/response", "too_long", "The text is too long: at most 9 bytes of UTF-8 are allowed."
    )
    assert parsing.check_text("", "/response", max_bytes=0) is None


def nested(depth):
    return {"a": nested(depth - 1)} if depth else 1


@pytest.mark.parametrize(
    ("value", "pointer", "code"),
    [
        ({"n": 2**53}, "/m/n", "integer_out_of_range"),
        ({"a": [{"n": -(2**53)}]}, "/m/a/0/n", "integer_out_of_range"),
        ({"t": "x" * 65_536}, "/m", "too_long"),
        ({"t": "é" * 32_768}, "/m", "too_long"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_metadata_has_its_own_limits(settings, value, pointer, code):
    error = parsing.check_metadata(value, "/m")
    assert (error.pointer, error.code) == (pointer, code)


def test_metadata_may_be_as_deep_and_as_large_as_the_contract_says(settings):
    assert parsing.check_metadata(nested(16), "/m") is None
    assert parsing.check_metadata(nested(17), "/m").code == "too_deep"
    largest = {"t": "x" * (65_536 - len('{"t":""}'))}
    assert len(json.dumps(largest, separators=(",", ":"))) == 65_536
    assert parsing.check_metadata(largest, "/m") is None
    assert parsing.check_metadata(None, "/m") is None
    assert parsing.check_metadata({}, "/m") is None
