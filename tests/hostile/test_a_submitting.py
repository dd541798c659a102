"""Rows A of the list: what is sent in place of a completion, by itself and as one item of a batch."""

import json

import pytest

from tasks.models import Completion
from tests.factories import TaskFactory, public
from tests.scores.submitting import item, problems, rows

pytestmark = pytest.mark.django_db
DEEP = b'{"a":' * 17 + b"1" + b"}" * 17

FRAGMENTS = {  # members as bytes, the code of the refusal, and its pointer
    "A02": [
        (b'"metadata": {"x": NaN}', "/metadata/x", "invalid_json"),
        (b'"metadata": {"x": [-Infinity]}', "/metadata/x/0", "invalid_json"),
        (b'"metadata": {"x": 1e999}', "/metadata/x", "number_not_finite"),
        (b'"metadata": {"x": %b}' % (b"9" * 5_000), "/metadata/x", "number_not_finite"),
        (b'"metadata": {"x": 9007199254740992}', "/metadata/x", "integer_out_of_range"),
    ],
    "A03": [
        (b'"metadata": {"x": 1, "x": 2}', "/metadata/x", "duplicate_key"),
        (b'"metadata": {"y": [{"x": 1, "x": 1}]}', "/metadata/y/0/x", "duplicate_key"),
        (b'"modelId": "a", "modelId": "b"', "/modelId", "duplicate_key"),
    ],
    "A05": [
        (b'"prompt": "a\\u0000b"', "/prompt", "invalid_text"),
        (b'"response": "\\u0000"', "/response", "invalid_text"),
        (b'"metadata": {"a\\u0000": 1}', "/metadata/a\ufffd", "invalid_text"),
        (b'"metadata": {"a": ["\\u0000"]}', "/metadata/a/0", "invalid_text"),
    ],
    "A06": [
        (b'"response": "\\ud800"', "/response", "invalid_text"),
        (b'"prompt": "\\udc00\\ud800"', "/prompt", "invalid_text"),
        (b'"externalId": "x\\uDFFF"', "/externalId", "invalid_text"),
    ],
    "A07": [(b'"metadata": ' + DEEP, "/metadata" + "/a" * 16, "too_deep")],
    "A19": [
        (b'"%b": "x"' % name.encode(), f"/{name}", "unknown_field")
        for name in ("organization", "owner", "id", "score", "status", "createdAt", "isAdmin", "source", "reward")
    ],
    "A23": [
        (b'"%b": "https://evil.example.org/"' % name.encode(), f"/{name}", "unknown_field")
        for name in ("callbackUrl", "webhookUrl", "webhook")
    ],
    "A24": [
        (b'"priority": %b' % value, "/priority", code)
        for value, code in ((b"-1", "wrong_type"), (b"0", "wrong_type"), (b"1e9", "wrong_type"), (b'"now"', "invalid_choice"))
    ] + [
        (b'"deadlineMs": 0', "/deadlineMs", "unknown_field"),
        (b'"retry": {"maxAttempts": 1e9}', "/retry", "unknown_field"),
        (b'"notBefore": "soon"', "/notBefore", "invalid_date"),
        (b'"notBefore": "9999-12-31"', "/notBefore", "out_of_range"),
        (b'"notBefore": 1', "/notBefore", "wrong_type"),
    ],
}  # fmt: skip
CASES = [
    pytest.param(*case, id=f"{row}-{case[0][:40].decode(errors='replace')}")
    for row, cases in FRAGMENTS.items()
    for case in cases
]
NAMED = {"prompt", "response", "modelId"}


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


def body_of(task, members):
    """A valid submission except for some members, as bytes."""
    ours = item(task)
    for name in NAMED:
        if f'"{name}"'.encode() in members:
            del ours[name]
    return json.dumps(ours).encode()[:-1] + b", " + members + b"}"


@pytest.mark.parametrize(("members", "pointer", "code"), CASES)
def test_an_invalid_completion_is_refused_with_its_pointer_and_affects_no_other(api, task, members, pointer, code):
    bad, good = body_of(task, members), json.dumps(item(task)).encode()
    assert problems(api.post("/completions", raw=bad)) == [(pointer, code)]
    batch = b'{"completions": [%b, %b]}' % (good, bad)
    assert problems(api.post("/completions/batch", raw=batch)) == [(f"/completions/1{pointer}", code)]
    assert rows() == (0, 0)

    answer = api.post("/completions/batch?partial=true", raw=batch)
    assert answer.status_code == 207, answer.content
    (error,), (taken,) = answer.json()["errors"], answer.json()["completions"]
    assert (error["index"], error["pointer"], error["code"]) == (1, f"/completions/1{pointer}", code)
    assert taken["index"] == 0
    assert rows() == (1, 1)


def test_a12_every_kind_of_fault_in_one_batch_is_reported_by_its_item(api, task):
    good = json.dumps(item(task)).encode()
    bad = [body_of(task, members) for members, *_ in (FRAGMENTS[row][0] for row in ("A02", "A03", "A05", "A06", "A19"))]
    batch = b'{"completions": [%b, %b, null, 1, %b]}' % (good, b", ".join(bad), good)
    codes = {pointer.split("/")[2]: code for pointer, code in problems(api.post("/completions/batch", raw=batch))}
    expected = {
        "1": "invalid_json",
        "2": "duplicate_key",
        "3": "invalid_text",
        "4": "invalid_text",
        "5": "unknown_field",
    }
    assert codes == expected | {"6": "wrong_type", "7": "wrong_type"}
    answer = api.post("/completions/batch?partial=true", raw=batch).json()
    assert [stored["index"] for stored in answer["completions"]] == [0, 8]
    assert [str(error["index"]) for error in answer["errors"]] == list(codes)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"completions": [], "priority": "\\u0000"}', b'{"completions": [{"a\\u0000": 1}], "priority": NaN}',
        b'{"completions": [{"a": NaN}], "completions": []}', b'{"completions": {"0": NaN}}', b'[{"completions": [NaN]}]',
        b'{"completions": [{"a": NaN}', b'{"completions": ' + b"[" * 100_000, b'{"completions": [' + b'{"a":' * 100_000,
    ],
    ids=lambda raw: raw[:40].decode(),
)  # fmt: skip
def test_a12_a_fault_outside_the_items_refuses_the_batch_even_if_partial(api, raw):
    assert len(problems(api.post("/completions/batch?partial=true", raw=raw))) == 1


@pytest.mark.parametrize("member", ["prompt", "response"])
def test_a09_a_text_one_byte_over_a_mebibyte_is_refused_by_its_name(api, task, member):
    for text in ("x" * (2**20 + 1), "é" * (2**19) + "x", "😀" * 2**18 + "x"):
        assert problems(api.post("/completions", item(task, **{member: text}))) == [(f"/{member}", "too_long")]
    assert rows() == (0, 0)


def test_a20_an_invalid_id_is_refused(api, task):
    right = public("task", task)
    for value in ([right], {"id": right}, True, 1.0, 10**15, -1, None):
        assert problems(api.post("/completions", item(task, taskId=value))) == [("/taskId", "malformed_id")], value
    for text in (
        "1 OR 1=1",
        f"{{{task.pk}}}",
        str(task.pk),
        right.upper(),
        right + "0",
        f" {right}",
        "",
        right + "\n",
        "../x",
    ):
        assert problems(api.post("/completions", item(task, taskId=text))) == [("/taskId", "malformed_id")], text
    assert rows() == (0, 0)


def test_a22_unusual_text_is_returned_byte_for_byte(api, task):
    odd = [
        "\u202eevil\u2066",
        "e" + "\u0301" * 1_000,
        "مرحبا بالعالم",
        "👩‍👩‍👧‍👦🏳️‍🌈",
        "𝒳\U0010ffff",
        "\ufeffx",
        "a\r\n\t\x1b[31m\x7f",
    ]
    for text in odd:
        answer = api.post(
            "/completions", item(task, prompt=text, response=text, modelId=f"m{text}"[:200], metadata={text: text})
        )
        assert answer.status_code == 202, answer.content
        shown = api.get(f"/completions/{answer.json()['completion']['id']}").json()["completion"]
        assert (shown["prompt"], shown["response"], shown["metadata"]) == (text, text, {text: text})
    assert Completion.objects.count() == len(odd)
