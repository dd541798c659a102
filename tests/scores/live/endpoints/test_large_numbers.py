"""Graders get every digit of the large numbers that trainers send, and answers repeat them unchanged."""

import json

import pytest

from autotune.core import strictjson
from autotune.core.errors import Invalid
from scores.live import protocols
from scores.live.protocols import SampleOutcome
from tasks.models import Completion
from tests.scores.live.endpoints.conftest import whole
from tests.scores.live.endpoints.test_protocols import ROLLOUT

BIG = 12345678901234567890
GYM = json.dumps(ROLLOUT)[:-1]


def test_c16_openrlhfs_labels_are_carried_as_text_and_judged(endpoint_of, call):
    body = {**whole("a", "b"), "labels": [BIG, {"deep": [-BIG, 2**53, 2**53 - 1, 1.5]}]}
    assert call(endpoint_of(), body).status == 200
    labels = {completion.response: completion.metadata["label"] for completion in Completion.objects.all()}
    assert labels == {"a": str(BIG), "b": {"deep": [str(-BIG), str(2**53), 2**53 - 1, 1.5]}}


@pytest.mark.parametrize(
    ("protocol", "body", "metadata"),
    [
        ("slime", {"prompt": "p", "response": "r", "label": BIG}, {"label": str(BIG)}),
        ("verify", {**ROLLOUT, "expected_answer": BIG}, {"expected_answer": str(BIG)}),
        ("foundry", {"sample": {"output_text": "r"}, "item": {"prompt": "p", "n": BIG}},
         {"item": {"prompt": "p", "n": str(BIG)}}),
    ],
)  # fmt: skip
def test_c16_other_trainers_numbers_are_carried_as_text_too(endpoint_of, call, settings, protocol, body, metadata):
    settings.FOUNDRY_GRADER = True
    assert call(endpoint_of(protocol), body).status == 200
    assert Completion.objects.get().metadata == metadata


def test_c16_numbers_in_messages_are_carried_too(endpoint_of, call):
    messages = [{"role": "user", "content": "x", "seed": BIG}]
    assert call(endpoint_of("slime"), {"prompt": messages, "response": "r"}).status == 200
    assert Completion.objects.get().messages[0]["seed"] == str(BIG)


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("1e999", "1e999"),
        ("-1E400", "-1E400"),
        ("1e308", 1e308),
        ("1e-999", 0.0),
        ("9" * 5_000, "9" * 5_000),
        ("-" + "9" * 22, "-" + "9" * 22),
        ("9007199254740991", 2**53 - 1),
        ("9007199254740992", "9007199254740992"),
        ("-9007199254740992", "-9007199254740992"),
        ("0.1", 0.1),
    ],
)
def test_c16_a_number_beyond_a_double_is_its_own_text(number, value):
    (sample,) = protocols.read("slime", f'{{"prompt":"p","response":"r","label":{number}}}'.encode())
    assert sample.metadata == {"label": value}


def test_c16_a_million_digits_refuse_only_their_own_sample(endpoint_of, call):
    labels = ",".join(["9" * 1_000_000, "1"])
    body = json.dumps(whole("a", "b"))[:-1].rpartition('"labels"')[0] + f'"labels":[{labels}]}}'
    assert call(endpoint_of(), body.encode()).json["extra_logs"] == {"autotune_unscored": [1.0, 1.0]}
    assert Completion.objects.get().response == "b"  # the other is too large for metadata


def test_c16_a_number_that_is_not_json_is_still_refused():
    for number in ("NaN", "Infinity", "01", "1.", "+1"):
        with pytest.raises(Invalid):
            protocols.read("slime", f'{{"prompt":"p","response":"r","label":{number}}}'.encode())


@pytest.mark.parametrize("number", [str(BIG), "1e999", "9" * 5_000, "1.0", "1E2", "-0.0", "0.10"])
def test_c16_gym_gets_every_digit_back(number):
    raw = f'  {GYM}, "n" : {number} , "reward":5,"_ng_failure_class":"x","note":"\\ud800 é\\u0000"}} '.encode()
    answer = protocols.write("verify", raw, [SampleOutcome(0.5)]).decode()
    assert f'"n" : {number},' in answer
    assert answer.endswith('"note":"\\ud800 é\\u0000","reward":0.5}')
    assert "_ng_failure_class" not in answer
    late = protocols.write("verify", raw, [SampleOutcome(0.0, "pending", "a\n\u2028")]).decode()
    assert json.loads(late, parse_float=str, parse_int=str)["autotune_unscored_reason"] == "a\n\u2028"


def test_c16_a_member_of_a_repeated_body_keeps_its_odd_name():
    raw = (GYM + ', "\\u0072eward": 3, "a\\"b": {"reward": 1}, "": []}').encode()
    answer = json.loads(protocols.write("verify", raw, [SampleOutcome(0.5)]))
    assert answer == {**ROLLOUT, "reward": 0.5, 'a"b': {"reward": 1}, "": []}


def test_c16_the_api_itself_still_refuses_a_large_integer(trainer):
    answer = trainer.refused({"prompt": "p", "response": "r", "metadata": {"n": BIG}})
    assert answer.status_code == 400
    assert [error["code"] for error in answer.json()["errors"]] == ["integer_out_of_range"]


def test_c16_an_error_beside_a_large_number_is_the_one_reported():
    raw = f'{{"a":{BIG},"b":{{"c":1,"c":2}}}}'.encode()
    with pytest.raises(strictjson.JSONRefused) as caught:
        strictjson.loads(raw, large_as_text=True)
    assert (caught.value.code, caught.value.pointer) == ("duplicate_key", "/b/c")
