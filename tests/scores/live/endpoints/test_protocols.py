"""What trainers send and read, by the documented bodies. No database is needed."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autotune.core.errors import Invalid
from scores.live import protocols
from scores.live.protocols import SampleOutcome, openrlhf

SCORED, LATE = SampleOutcome(0.8), SampleOutcome(0.25, "pending")
ROLLOUT = {
    "responses_create_params": {"input": [{"role": "user", "content": "2+2?"}]},
    "response": {
        "id": "r1", "created_at": 1.0, "model": "m", "object": "response", "parallel_tool_calls": False,
        "tool_choice": "auto", "tools": [],
        "output": [{"id": "m1", "type": "message", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": "4", "annotations": []}]}],
    },
    "expected_answer": "4",
}  # fmt: skip
GRADED = {
    "sample": {"choices": [{"index": 0, "message": {"role": "assistant", "content": "4"}, "finish_reason": "stop"}],
               "output_text": "4", "output_json": {}, "output_tools": []},
    "item": {"reference": "4"}, "trace_id": "trace_1",
}  # fmt: skip


def samples(protocol, body):
    return protocols.read(protocol, json.dumps(body).encode())


def answer(protocol, body, *outcomes, **more):
    return json.loads(protocols.write(protocol, json.dumps(body).encode(), list(outcomes), **more))


def refused(protocol, body):
    with pytest.raises(Invalid) as caught:
        protocols.read(protocol, body if isinstance(body, bytes) else json.dumps(body).encode())
    return [(error.pointer, error.code) for error in caught.value.errors]


# --- OpenRLHF -------------------------------------------------------------------------------------------------------


def test_openrlhf_sends_whole_texts_and_reads_three_lists():
    body = {"query": ["<s>User: 2+2? Assistant: 4</s>"], "prompts": ["<s>User: 2+2? Assistant:"], "labels": ["4"]}
    (sample,) = samples("openrlhf", body)
    assert (sample.prompt, sample.response, sample.metadata) == (
        "<s>User: 2+2? Assistant:", " 4</s>", {"label": "4"},
    )  # fmt: skip
    assert answer("openrlhf", body, SCORED) == {
        "rewards": [0.8], "scores": [0.8], "extra_logs": {"autotune_unscored": [0.0]},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("query", "prompt", "response", "is_prefixed"),
    [
        ("Q: A", "Q:", " A", True),
        ("Q:", "Q:", "", True),
        ("A", "", "A", True),
        ("<s>Q: A", "Q:", " A", True),
        ("Q: A", "<s>Q:", " A", True),
        ("<|begin_of_text|>Q: A", "Q:", " A", True),
        ("<s>Q: A", "<s>Q:", " A", True),
        ("Q : A", "Q:", "Q : A", False),
        ("Q", "Q:", "Q", False),
        ("<a b>Q: A", "Q:", "<a b>Q: A", False),
        ("<s>A", "<s>", "A", True),
        ("A", "<s>", "A", False),
    ],
)
def test_the_response_is_what_follows_the_prompt(query, prompt, response, is_prefixed):
    assert openrlhf.response_of(query, prompt) == (response, is_prefixed)


@given(st.text(), st.text())
def test_a_text_that_begins_with_its_prompt_is_always_split_there(prompt, response):
    assert openrlhf.response_of(prompt + response, prompt) == (response, True)


@given(st.text(), st.text())
def test_no_byte_of_the_response_is_lost(query, prompt):
    response, is_prefixed = openrlhf.response_of(query, prompt)
    assert query.endswith(response)
    assert is_prefixed or response == query


def test_a_text_without_its_prompt_is_kept_whole_and_marked():
    (sample,) = samples("openrlhf", {"query": ["other"], "prompts": ["Q:"], "labels": [None]})
    assert (sample.response, sample.metadata) == ("other", {"wholeQuery": True})


@pytest.mark.parametrize("count", [0, 1, 3, 500])
def test_lists_of_any_length_are_answered_in_order(count):
    body = {"query": [f"p{n} a{n}" for n in range(count)], "prompts": [f"p{n} " for n in range(count)]}
    parsed = samples("openrlhf", body)
    assert [sample.response for sample in parsed] == [f"a{n}" for n in range(count)]
    outcomes = [SampleOutcome(n / 1000, None if n % 2 else "timeout") for n in range(count)]
    reply = answer("openrlhf", body, *outcomes)
    assert reply["rewards"] == reply["scores"] == [n / 1000 for n in range(count)]
    assert reply["extra_logs"] == {"autotune_unscored": [float(n % 2 == 0) for n in range(count)]}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ([], [("", "wrong_type")]),
        ({"prompts": ["a"]}, [("/query", "missing_field")]),
        ({"query": ["a"]}, [("/prompts", "missing_field")]),
        ({"query": "a", "prompts": "a"}, [("/query", "wrong_type")]),
        ({"query": [None], "prompts": ["a"]}, [("/query/0", "wrong_type")]),
        ({"query": ["a"], "prompts": ["a", "b"]}, [("/prompts", "invalid_length")]),
        ({"query": ["a"], "prompts": ["a"], "labels": []}, [("/labels", "invalid_length")]),
        ({"query": ["a"], "prompts": ["a"], "labels": "x"}, [("/labels", "wrong_type")]),
    ],
)
def test_an_invalid_request_of_openrlhf_is_refused(body, expected):
    assert refused("openrlhf", body) == expected


# --- slime ----------------------------------------------------------------------------------------------------------


def test_slime_reads_the_reward_itself():
    body = {"prompt": "2+2?", "response": "4", "label": "4"}
    (sample,) = samples("slime", body)
    assert (sample.prompt, sample.response, sample.metadata) == ("2+2?", "4", {"label": "4"})
    assert answer("slime", body, SCORED) == 0.8


def test_slime_reads_a_member_where_it_has_a_reward_key():
    assert answer("slime", {}, SCORED, reward_key="score") == {"score": 0.8, "state": "scored"}
    assert answer("slime", {}, LATE, reward_key="score") == {"score": 0.25, "state": "pending"}


def test_slime_may_send_messages():
    messages = [{"role": "user", "content": "2+2?"}]
    (sample,) = samples("slime", {"prompt": messages, "response": "4", "label": None})
    assert (sample.prompt, sample.messages, sample.metadata) == (None, messages, None)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"prompt": "a"}, [("/response", "missing_field")]),
        ({"response": "a"}, [("/prompt", "missing_field")]),
        ({"prompt": "a", "response": 4}, [("/response", "wrong_type")]),
        ({"prompt": ["a"], "response": "4"}, [("/prompt/0", "wrong_type")]),
        ({"prompt": 1, "response": "4"}, [("/prompt", "wrong_type")]),
    ],
)
def test_an_invalid_request_of_slime_is_refused(body, expected):
    assert refused("slime", body) == expected


# --- NeMo Gym -------------------------------------------------------------------------------------------------------


def test_verify_repeats_the_body_and_adds_the_reward():
    (sample,) = samples("verify", ROLLOUT)
    assert (sample.messages, sample.response) == ([{"role": "user", "content": "2+2?"}], "4")
    assert sample.metadata == {"expected_answer": "4"}
    assert answer("verify", ROLLOUT, SCORED) == {**ROLLOUT, "reward": 0.8}


def test_verify_reports_what_could_not_be_judged():
    reply = answer("verify", ROLLOUT, SampleOutcome(0.0, "timeout"))
    assert (reply["reward"], reply["_ng_failure_class"]) == (0.0, "judge_failed")
    assert reply["autotune_unscored"] == "timeout"


def test_a_rollout_that_is_verified_again_loses_its_failure():
    again = {**ROLLOUT, "reward": 0.0, "_ng_failure_class": "judge_failed", "autotune_unscored": "timeout"}
    assert samples("verify", again)[0].metadata == {"expected_answer": "4"}
    assert answer("verify", again, SCORED) == {**ROLLOUT, "reward": 0.8}


def test_verify_takes_a_bare_string_and_instructions():
    bare = {**ROLLOUT, "responses_create_params": {"input": "2+2?"}}
    assert samples("verify", bare)[0].prompt == "2+2?"
    rollout = {**ROLLOUT, "responses_create_params": {"input": "2+2?", "instructions": "Be brief."}}
    assert samples("verify", rollout)[0].messages == [
        {"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+2?"},
    ]  # fmt: skip


def test_verify_reads_the_last_message_between_tools_and_reasoning():
    first = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "first"}]}
    parts = [
        {"type": "output_text", "text": "a"},
        {"type": "refusal", "refusal": "no"},
        {"type": "output_text", "text": "b"},
    ]
    last = {"type": "message", "role": "assistant", "content": parts}
    call = {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "1"}
    body = {**ROLLOUT, "response": {"output": [{"type": "reasoning", "summary": []}, first, call, last, call]}}
    (sample,) = samples("verify", body)
    assert sample.response == "ab"
    called = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    calling = {"role": "assistant", "content": None, "tool_calls": [called]}
    assert sample.messages[1:] == [{"role": "assistant", "content": "first"}, calling]
    assert sample.metadata["afterResponse"] == [calling]


def test_verify_keeps_the_calls_of_tools_in_the_prompt():
    turns = [
        {"role": "user", "content": [{"type": "input_text", "text": "2+2?"}]},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "name": "add", "arguments": "[2,2]", "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": "4"},
    ]
    (sample,) = samples("verify", {**ROLLOUT, "responses_create_params": {"input": turns}})
    assert [(message["role"], message["content"]) for message in sample.messages] == [
        ("user", "2+2?"), ("assistant", None), ("tool", "4"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"response": None}, [("/response", "wrong_type")]),
        ({"response": {}}, [("/response/output", "wrong_type")]),
        ({"responses_create_params": []}, [("/responses_create_params", "wrong_type")]),
        ({"responses_create_params": {}}, [("/responses_create_params/input", "wrong_type")]),
        ({"responses_create_params": {"input": ["a"]}}, [("/responses_create_params/input/0", "wrong_type")]),
    ],
)
def test_an_invalid_rollout_is_refused(change, expected):
    assert refused("verify", {**ROLLOUT, **change}) == expected


# --- Foundry --------------------------------------------------------------------------------------------------------


def test_foundry_reads_a_score():
    (sample,) = samples("foundry", GRADED)
    assert (sample.prompt, sample.response) == ('{"reference":"4"}', "4")
    assert sample.metadata == {"item": {"reference": "4"}, "trace_id": "trace_1"}
    assert answer("foundry", GRADED, SCORED) == {"score": 0.8}


def test_foundry_may_send_only_structured_output():
    (sample,) = samples("foundry", {"sample": {"output_json": {"b": 1, "a": "é"}}, "item": {"prompt": "2+2?"}})
    assert (sample.prompt, sample.response) == ("2+2?", '{"a":"é","b":1}')


def test_foundry_prompts_are_the_rows_messages_or_text():
    row = {"messages": [{"role": "user", "content": "2+2?"}], "question": "other"}
    (sample,) = samples("foundry", {"sample": {"choices": [{"message": {"content": "4"}}]}, "item": row})
    assert (sample.messages, sample.response) == (row["messages"], "4")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, [("/sample", "missing_field")]),
        ({"sample": "4"}, [("/sample", "wrong_type")]),
        ({"sample": {}}, [("/sample", "missing_field")]),
        ({"sample": {"output_text": "4"}, "item": []}, [("/item", "wrong_type")]),
    ],
)
def test_an_invalid_request_of_foundry_is_refused(body, expected):
    assert refused("foundry", body) == expected


# --- all ------------------------------------------------------------------------------------------------------------

SLIME = {"prompt": "p", "response": "r"}


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"\x80\x04\x95", b'{"prompt":"p","response":"r","label":NaN}', b'{"prompt":"p","prompt":"q"}', b"\xff"],
)
def test_invalid_json_is_refused(raw):
    assert [code for _, code in refused("slime", raw)] in (["invalid_json"], ["duplicate_key"])


@pytest.mark.parametrize("text", ["a\x00", "\ud800", "\udfff!"])
@pytest.mark.parametrize("member", ["prompt", "response", "label"])
def test_text_that_cannot_be_stored_refuses_only_its_sample(member, text):
    (sample,) = samples("slime", {**SLIME, member: text})
    assert sample.refused == "invalid_text"
    body = {"query": ["p\ud83d", "p2"], "prompts": ["p", "p"], "labels": [None, None]}
    assert [parsed.refused for parsed in samples("openrlhf", body)] == ["invalid_text", ""]


def test_a_response_that_repeats_such_text_is_still_json():
    raw = protocols.write("verify", json.dumps({**ROLLOUT, "note": "\ud800\x00é"}).encode(), [LATE])
    assert json.loads(raw.decode())["note"] == "\ud800\x00é"


@pytest.mark.parametrize("spoilt", ["", "\x00"])
def test_deep_nesting_is_refused(spoilt):
    deep = "[" * 20_000 + "]" * 20_000
    raw = f'{{"prompt":"p{json.dumps(spoilt)[1:-1]}","response":"r","label":{deep}}}'.encode()
    assert [code for _, code in refused("slime", raw)] == ["too_deep"]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_an_answer_is_finite(value):
    with pytest.raises(ValueError, match="not JSON compliant"):
        protocols.write("slime", b"{}", [SampleOutcome(value)])
