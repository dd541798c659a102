"""Adapters convert prompts and answers into whole conversations of one form, or refuse them with a code."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from autotune_sdk import ConfigurationError
from autotune_sdk.integrations import _answers, _conversations, openrlhf, swift, trl, verifiers, verl
from autotune_sdk.integrations._answers import Refusal
from hypothesis import given
from hypothesis import strategies as st

from scores.live.protocols import conversations
from scores.live.protocols.conversations import UnmappedConversation

USER = {"role": "user", "content": "Weather?"}
CALL = '{"name": "weather", "arguments": {"city": "Rome"}}'
CALLED = {"type": "function", "function": {"name": "weather", "arguments": '{"city":"Rome"}'}}
CALLING = {"role": "assistant", "content": None, "tool_calls": [CALLED]}
SUNNY = {"role": "tool", "content": "sunny"}
OURS = [USER, CALLING, SUNNY]
SWIFT = [USER, {"role": "tool_call", "content": CALL}, {"role": "tool_response", "content": "sunny"}]
SAID = {"role": "assistant", "content": "It is sunny."}
BIG = 12345678901234567890


def item(*args: Any) -> dict[str, Any]:
    converted = _answers.item(*args)
    assert not isinstance(converted, Refusal), converted
    return converted


def refusal(*args: Any) -> Refusal:
    converted = _answers.item(*args)
    assert isinstance(converted, Refusal), converted
    return converted


# --- C9: roles ------------------------------------------------------------------------------------------------------


def test_c9_the_ms_swift_adapter_accepts_the_roles_of_the_ms_swift_manual() -> None:
    columns = {"messages": [[*SWIFT, SAID], [*SWIFT]], "solution": ["a", "b"]}
    rows = swift.AutotuneORM(args=None).items(["It is sunny.", "x"], columns)
    assert rows == [
        {"messages": OURS, "response": "It is sunny.", "metadata": {"solution": "a"}},
        {"messages": OURS, "response": "x", "metadata": {"solution": "b"}},
    ]


def test_c9_only_the_row_that_cannot_be_mapped_is_refused() -> None:
    chats = [[*SWIFT, SAID], [USER, {"role": "critic", "content": "x"}, SAID]]
    good, bad = swift.AutotuneORM(args=None).items(["a", "b"], {"messages": chats})
    assert not isinstance(good, Refusal)
    assert bad == Refusal("unknown_role", "Message 1 has the role 'critic', which is not known.")


def test_c9_flat_calls_of_verifiers_are_calls() -> None:
    flat = {"role": "assistant", "tool_calls": [{"id": "c", "name": "weather", "arguments": {"city": "Rome"}}]}
    assert item([USER, flat, SUNNY], "x")["messages"][1] == {
        "role": "assistant", "content": None, "tool_calls": [{"id": "c", **CALLED}],
    }  # fmt: skip


def test_c9_messages_of_our_own_exports_are_read_back() -> None:
    """With tools every message has every member: empty text where it has no value, and calls as JSON."""
    exported = [
        {"role": "user", "content": "Weather?", "name": "", "tool_call_id": "", "tool_calls": ""},
        {"role": "assistant", "content": "", "name": "", "tool_call_id": "", "tool_calls": json.dumps([CALLED])},
        {"role": "tool", "content": "sunny", "name": "w", "tool_call_id": "c", "tool_calls": ""},
    ]
    assert item(exported, "x")["messages"] == [
        USER, {**CALLING, "content": ""}, {**SUNNY, "name": "w", "tool_call_id": "c"},
    ]  # fmt: skip
    broken = [USER, {"role": "assistant", "content": "", "tool_calls": "{"}]
    assert refusal(broken, "x") == Refusal("unreadable_tool_call", "Message 1 has tool_calls that are not JSON.")


def test_c9_empty_columns_of_parquet_have_null() -> None:
    rows = [{**USER, "tool_calls": None, "name": None}, {**SUNNY, "tool_call_id": None}]
    assert item(rows, "x")["messages"] == [USER, SUNNY]


NAMES = sorted(
    {*_conversations.SPEAKERS, *_conversations.TOOL_RESULTS, *_conversations.TOOL_CALLS, "critic", "Tool-Call"}
)
CONTENTS = st.sampled_from(["x", "", CALL, f"[{CALL},{CALL}]", "{", None, {"name": "f"}, {"a": 1}, ["x"], 7])
MESSAGES = st.lists(
    st.one_of(
        st.fixed_dictionaries({"role": st.sampled_from([*NAMES, None]), "content": CONTENTS}),
        st.fixed_dictionaries({"from": st.sampled_from(NAMES), "value": CONTENTS}),
        st.fixed_dictionaries({"role": st.just("assistant"), "function_call": CONTENTS, "content": CONTENTS}),
        st.fixed_dictionaries(
            {"role": st.just("gpt"), "content": CONTENTS,
             "tool_calls": st.sampled_from([[CALLED], [{"name": "f", "args": {}}], [{"name": ""}], [7], 7, None])}
        ),
    ),
    max_size=6,
)  # fmt: skip


def mapping(module: Any, messages: list[dict[str, Any]]) -> Any:
    try:
        return module.mapped(messages)
    except module.UnmappedConversation as exc:
        return exc.code, exc.reason


@given(MESSAGES)
def test_c9_the_server_and_the_sdk_map_alike(messages: list[dict[str, Any]]) -> None:
    assert mapping(_conversations, messages) == mapping(conversations, messages)


@given(MESSAGES)
def test_c9_mapped_messages_have_roles_of_the_api_and_every_word(messages: list[dict[str, Any]]) -> None:
    try:
        ours = conversations.mapped(messages)
    except UnmappedConversation:
        return
    assert {message["role"] for message in ours} <= {"system", "developer", "user", "assistant", "tool"}
    assert conversations.mapped(ours) == ours  # mapped again, it stays as it is
    words = [message.get("content", message.get("value")) for message in messages]
    assert sum(word == "x" for word in words) == sum(message.get("content") == "x" for message in ours)


# --- C4: answers without text ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "completion",
    [
        None, [], [CALLING], [CALLING, SUNNY], [SAID, SUNNY, CALLING], [SAID, CALLING, SUNNY, CALLING], [{"role": "assistant", "content": None}],
        [{"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}],
        [{"role": "assistant", "content": [{"type": "thinking", "text": "hm"}]}],
        [{"role": "assistant", "content": "", "tool_calls": [CALLED]}],
        [{"role": "assistant", "content": [{"type": "text", "text": None}]}], [SUNNY], 7, 0.5, b"x",
    ],
)  # fmt: skip
def test_c4_an_answer_without_text_is_never_an_empty_text(completion: Any) -> None:
    refused = refusal("Weather?", completion)
    assert refused.code == "no_text"
    assert refused.item is not None
    assert refused.item["response"] == ""


def test_c4_a_refusal_keeps_the_item_for_scoring_as_empty_text() -> None:
    assert refusal([USER], [CALLING]).item == {"messages": [USER, CALLING], "response": ""}


@pytest.mark.parametrize("completion", ["", [{"role": "assistant", "content": ""}]])
def test_c4_an_empty_text_that_was_sent_as_text_is_one(completion: Any) -> None:
    assert item("Weather?", completion)["response"] == ""


def test_c4_a_tool_result_is_never_scored_as_the_answer() -> None:
    row = item([USER], [{"role": "assistant", "content": "I look.", "tool_calls": [CALLED]}, SUNNY])
    assert row == {"messages": [USER], "response": "I look.", "metadata": {"afterResponse": [CALLING, SUNNY]}}


def test_c4_a_column_of_the_trainer_is_never_replaced() -> None:
    completion = [{"role": "assistant", "content": "I look.", "tool_calls": [CALLED]}]
    assert refusal([USER], completion, {"afterResponse": 1}).code == "reserved_name"


@pytest.mark.parametrize("prompt", [None, 7, b"x", {"role": "user"}])
def test_c3_a_prompt_that_cannot_be_read_is_refused_and_not_turned_into_text(prompt: Any) -> None:
    assert refusal(prompt, "x").code == "unreadable_prompt"


@pytest.mark.parametrize("messages", [["x"], [None], [USER, 7]])
def test_c3_values_that_are_not_messages_are_refused(messages: Any) -> None:
    assert refusal(messages, "x").code == "unreadable_prompt"


def test_c3_parts_that_are_not_text_stay_in_the_prompt() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:x"}}
    prompt = [{"role": "user", "content": [{"type": "input_text", "text": "what?"}, image]}]
    assert item(prompt, "x")["messages"] == [{"role": "user", "content": [{"type": "text", "text": "what?"}, image]}]


class Trace:
    """The part of a verifiers trace that the reward reads."""

    def __init__(self, *messages: dict[str, Any]) -> None:
        self.messages = [TraceMessage(message) for message in messages]
        self.last_reply = next(
            (message["content"] or "" for message in reversed(messages) if message["role"] == "assistant"), ""
        )


class TraceMessage:
    def __init__(self, fields: dict[str, Any]) -> None:
        self.role, self._fields = fields["role"], fields

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return {name: value for name, value in self._fields.items() if value is not None}


def of_trace(*messages: dict[str, Any]) -> Any:
    trace = Trace(*messages)
    return verifiers._of_messages(trace.messages, trace.last_reply, {})


def test_c4_a_trace_that_ends_with_a_call_has_no_text() -> None:
    refused = of_trace(USER, CALLING)
    assert (refused.code, refused.item["messages"]) == ("no_text", OURS[:2])
    assert of_trace(USER, CALLING, SUNNY, SAID) == {"messages": OURS, "response": "It is sunny."}
    assert of_trace(USER).code == "no_text"


def test_c4_the_trl_adapter_refuses_rows_by_name() -> None:
    rows = trl.reward_func("task_x").items([[USER]] * 3, [[SAID], [CALLING], [USER, {"role": "critic"}]], {})
    assert rows[0] == {"messages": [USER], "response": "It is sunny."}
    assert [rows[1].code, rows[2].code] == ["no_text", "unknown_role"]  # type: ignore[union-attr]


# --- C6: veRL -------------------------------------------------------------------------------------------------------


def of_verl(extra_info: Any, **more: Any) -> Any:
    return verl._item("d", "r", "4", extra_info, more.get("names"))


CONVERSATION = [{"role": "system", "content": "Be brief."}, USER, {"role": "assistant", "content": "?"}, USER]


def test_c6_the_grader_sees_the_whole_conversation_of_an_exported_row() -> None:
    row = {"split": "train", "index": 0, "prompt_text": "Weather?", "messages": json.dumps(CONVERSATION)}
    assert of_verl(row)["messages"] == CONVERSATION


@pytest.mark.parametrize(
    ("extra_info", "expected"),
    [
        ({"messages": CONVERSATION, "prompt": "other"}, {"messages": CONVERSATION}),
        ({"prompt": CONVERSATION, "prompt_text": "Weather?"}, {"messages": CONVERSATION}),
        ({"messages": "", "prompt": CONVERSATION}, {"messages": CONVERSATION}),
        ({"messages": None, "prompt": None, "prompt_text": "p"}, {"prompt": "p"}),
        ({"prompt": "p"}, {"prompt": "p"}),
        ({"question": "p"}, {"prompt": "p"}),
        ({"messages": json.dumps("p")}, {"prompt": "p"}),
        ({"messages": json.dumps([{"role": "user", "content": "é\u2028"}])},
         {"messages": [{"role": "user", "content": "é\u2028"}]}),
    ],
)  # fmt: skip
def test_c6_the_conversation_comes_first_then_the_prompt_then_its_text(extra_info: Any, expected: Any) -> None:
    row = of_verl(extra_info)
    assert {name: row[name] for name in expected} == expected


class Array:
    """A column of structs as numpy returns it: not a sequence, with `tolist`."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def tolist(self) -> list[Any]:
        return self.values


def test_c6_arrays_of_parquet_are_read() -> None:
    assert of_verl({"prompt": Array(CONVERSATION)})["messages"] == CONVERSATION
    assert of_verl({"messages": Array(CONVERSATION)})["messages"] == CONVERSATION


@pytest.mark.parametrize("messages", ["[{", "not json", "7", "null", '[{"role": "critic"}]', "[" * 100_000])
def test_c6_a_damaged_conversation_is_refused_even_beside_a_readable_prompt(messages: str) -> None:
    row = of_verl({"messages": messages, "prompt_text": "Weather?"})
    assert isinstance(row, Refusal)


def test_c6_a_data_set_without_prompts_is_a_configuration_error() -> None:
    for extra_info in ({}, None, {"messages": "", "prompt": None}, {"prompt_text": ""}):
        with pytest.raises(ConfigurationError, match="extra_info has no prompt"):
            of_verl(extra_info)


# --- C16: large numbers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "carried"),
    [
        (BIG, str(BIG)), (-BIG, str(-BIG)), (2**53 - 1, 2**53 - 1), (2**53, str(2**53)), (True, True), (0.5, 0.5),
        (math.inf, "inf"), (math.nan, "nan"), ([BIG, {"a": [BIG, math.inf]}], [str(BIG), {"a": [str(BIG), "inf"]}]),
        (Array([BIG, 1]), [str(BIG), 1]), ((1, BIG), [1, str(BIG)]), (None, None),
    ],
)  # fmt: skip
def test_c16_columns_carry_every_digit(value: Any, carried: Any) -> None:
    assert _answers.as_json(value) == carried


def test_c16_more_digits_than_python_prints_are_carried_too() -> None:
    assert _answers.as_json({"n": [10**5_000, -(10**5_000)]}) == {"n": ["1" + "0" * 5_000, "-1" + "0" * 5_000]}


def test_c16_every_adapter_carries_them() -> None:
    columns = {"messages": [[USER, SAID]], "solution": [BIG]}
    assert swift.AutotuneORM(args=None).items(["x"], columns)[0]["metadata"] == {"solution": str(BIG)}  # type: ignore[index]
    rows = trl.reward_func("task_x", metadata=["n"]).items(["p"], ["x"], {"n": [BIG]})
    assert rows[0]["metadata"] == {"n": str(BIG)}  # type: ignore[index]
    assert openrlhf._metadata(BIG, True) == {"label": str(BIG)}
    assert verl._item("d", "r", BIG, {"prompt": "p", "k": BIG}, ["k"])["metadata"] == {  # type: ignore[index]
        "data_source": "d", "ground_truth": str(BIG), "k": str(BIG),
    }  # fmt: skip
    assert item([{**USER, "seed": BIG}], "x")["messages"][0]["seed"] == str(BIG)
