"""Signed answers that are no results, and those that only look odd (hostile inputs B20 to B25, B41)."""

import json

import pytest

from scores.models import Score, WorkflowRun
from tests.factories import SECRET
from tests.support.misbehaving import COMPLETED, Faces, failed, score_text, signed
from tests.support.rawserver import result


@pytest.fixture
def faces(db, drain):
    return Faces(drain)


# --- B20 to B24, B41: bodies ----------------------------------------------------------------------------------------


def dimension(name="a", value=0.5, weight=0.5):
    return {"name": name, "value": value, "weight": weight}


def score_with(**members):
    return score_text(json.dumps({"value": 0.5, "confidence": 0.5, **members}))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("NaN", "invalid_json"), ("Infinity", "invalid_json"), ("-Infinity", "invalid_json"),
        ("1e999", "number_not_finite"), ('"0.9"', "wrong_type"), ("true", "wrong_type"), ("null", "wrong_type"),
        ("[1]", "wrong_type"), ("{}", "wrong_type"), ("-0.0001", "out_of_range"), ("1.0000001", "out_of_range"),
        ("9" * 5_000, "number_not_finite"), ("2", "out_of_range"), ("01", "invalid_json"), (".5", "invalid_json"),
        ("0x1", "invalid_json"), ("", "invalid_json"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("member", ["value", "confidence"])
def test_values_that_are_not_numbers_from_0_to_1_are_refused(faces, member, text, code):
    other = "confidence" if member == "value" else "value"
    assert faces(signed(score_text(f'{{"{member}":{text},"{other}":0.5}}'))) == failed(code)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (score_text('{"confidence":0.5}'), "missing_member"),
        (score_text('{"value":0.5}'), "missing_member"),
        (score_text('{"value":0.1,"value":0.9,"confidence":0.5}'), "duplicate_key"),
        (score_text("null"), "wrong_type"),
        (score_text("0.5"), "wrong_type"),
        (lambda request: b'{"requestId":"%b"}' % request.id.encode(), "missing_member"),
        (lambda request: result(request, error=""), "grader_error"),
        (lambda request: result(request, error=["why"]), "wrong_type"),
        (lambda request: result(request, error=0), "wrong_type"),
        (lambda request: result(request, error="no reference answer"), "grader_error"),
        (lambda request: result(request) + b"{}", "invalid_json"),
        (lambda request: b"\xef\xbb\xbf" + result(request), "invalid_json"),
        (lambda request: result(request).decode().encode("utf-16"), "invalid_json"),
        (lambda request: b"[" + result(request) + b"]", "wrong_type"),
        (b"", "invalid_json"),
        (b"null", "wrong_type"),
        (b"{}", "missing_member"),
    ],
)
def test_a_signed_body_that_is_no_result_is_refused(faces, body, code):
    assert faces(signed(body)) == failed(code)


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({"dimensions": [dimension(), dimension()]}, "duplicate_dimension"),
        ({"dimensions": [dimension("\u00e9"), dimension("e\u0301")]}, "duplicate_dimension"),
        ({"dimensions": [dimension(str(n)) for n in range(65)]}, "too_long"),
        ({"dimensions": {"a": 0.5}}, "wrong_type"),
        ({"dimensions": [dimension(value=1.5)]}, "out_of_range"),
        ({"dimensions": [dimension(weight=-1)]}, "out_of_range"),
        ({"dimensions": [dimension(name="")]}, "out_of_range"),
        ({"dimensions": [dimension(name="a" * 65)]}, "too_long"),
        ({"reasoning": "x" * 65_537}, "too_long"),
        ({"reasoning": 7}, "wrong_type"),
        ({"reasoning": "a\0b"}, "invalid_text"),
    ],
)
def test_dimensions_and_reasoning_that_break_the_rules_are_refused(faces, members, code):
    assert faces(signed(score_with(**members))) == failed(code)


def test_a_lone_surrogate_is_refused(faces):
    text = '{"value":0.5,"confidence":0.5,"reasoning":"\\ud800"}'
    assert faces(signed(score_text(text))) == failed("invalid_text")


@pytest.mark.parametrize("sum_of_weights", [(0.9,), (0.3,) * 3, (1.0, 1.0, 1.0), (0.333,) * 3])
def test_weights_that_do_not_sum_to_one_are_stored_and_the_value_counts(faces, sum_of_weights):
    dimensions = [dimension(str(place), 1.0, weight) for place, weight in enumerate(sum_of_weights)]
    assert faces(signed(score_with(value=0.25, dimensions=dimensions))) == COMPLETED
    score = Score.objects.get()
    assert (score.value, [entry["weight"] for entry in score.dimensions]) == (0.25, list(sum_of_weights))


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "=cmd|' /C calc'!A0", "\x1b[31mred\x1b[0m", "a\r\nINFO forged", "{{7*7}}", "%s%n", "x" * 65_536]
)  # fmt: skip
def test_reasoning_is_stored_unchanged_as_text(faces, text):
    assert faces(signed(score_with(reasoning=text))) == COMPLETED
    assert Score.objects.get().reasoning == text


def test_a_negative_zero_is_stored_as_zero(faces):
    assert faces(signed(score_text('{"value":-0,"confidence":-0.0}'))) == COMPLETED
    assert repr(Score.objects.values_list("value", "confidence").get()) == "(0.0, 0.0)"


@pytest.mark.parametrize("depth", [33, 100_000])
@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_json_that_is_too_deep_is_refused_and_the_drain_continues(faces, depth, brackets):
    opening = "[" if brackets == "[]" else '{"a":'
    nested = opening * depth + "1" + brackets[1] * depth
    assert faces(signed(score_text(f'{{"value":0.5,"confidence":0.5,"more":{nested}}}'))) == failed("too_deep")


def test_a_secret_in_an_error_is_not_shown(faces):
    assert faces(signed(lambda request: result(request, error=f"key {SECRET} " + "x" * 5_000))) == failed(
        "grader_error"
    )
    message = WorkflowRun.objects.get().error_message
    assert SECRET not in message
    assert len(message) <= 600


# --- B25: batches ---------------------------------------------------------------------------------------------------


def entries(change):
    """A batch behaviour whose list of entries went through `change(list of ids)` -> list."""

    def body(request):
        return json.dumps({"requestId": request.id, "scores": change(request.items)}).encode()

    return signed(body)


def entry(item, value=0.5):
    return {"completionId": item, "score": {"value": value, "confidence": 0.5}}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda items: [], "no_results"),
        (lambda items: [entry(items[0]), entry(items[0]), entry(items[1])], "duplicate_item"),
        (lambda items: [*map(entry, items), entry("comp_00000000000000000000000000")], "unknown_item"),
        (lambda items: [*map(entry, items), entry(items[0].upper())], "unknown_item"),
        (lambda items: [{"score": {"value": 1, "confidence": 1}} for _ in items], "missing_member"),
        (lambda items: [1.0 for _ in items], "wrong_type"),
        (lambda items: [{"completionId": n, "score": {}} for n, _ in enumerate(items)], "wrong_type"),
        (lambda items: {item: entry(item) for item in items}, "wrong_type"),
        (lambda items: None, "wrong_type"),
    ],
    ids=["empty", "twice", "unknown", "other case", "no ids", "positional", "numbered", "an object", "null"],
)
def test_a_list_that_cannot_be_matched_is_refused_as_a_whole(faces, change, code):
    assert faces(entries(change), batch=10, runs=3) == failed(code) * 3


def test_one_answer_is_not_spread_over_several(faces):
    def single(request):
        return json.dumps({"requestId": request.id, "score": {"value": 1, "confidence": 1}}).encode()

    assert faces(signed(single), batch=10, runs=3) == failed("missing_member") * 3


def test_entries_are_matched_by_id_in_any_order(faces):
    values = {}

    def change(items):
        values.update({item: place / 10 for place, item in enumerate(items)})
        return [entry(item, values[item]) for item in reversed(items)]

    assert faces(entries(change), batch=10, runs=5) == COMPLETED * 5
    assert {score.completion.public_id: score.value for score in Score.objects.all()} == values


def test_a_missing_entry_is_requested_again_and_only_an_invalid_one_fails(faces):
    def change(items):
        return [entry(items[0]), entry(items[1], 7), {"completionId": items[2], "error": "no verdict"}]

    assert faces(entries(change), batch=10, runs=4) == [
        ("completed", ""), ("failed", "out_of_range"), ("failed", "grader_error"), ("sleeping", "missing_item"),
    ]  # fmt: skip
    assert Score.objects.count() == 1
