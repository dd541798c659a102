"""Autotune maps trainers' spellings of roles and tool calls before intake: one conversation has one digest."""

import pytest

from scores.live.protocols.conversations import SPEAKERS, TOOL_CALLS, TOOL_RESULTS, UnmappedConversation, mapped
from scores.models import LiveAnswer
from tasks.models import Completion

USER = {"role": "user", "content": "Weather?"}
CALL = '{"name": "weather", "arguments": {"city": "Rome"}}'
CALLED = {"type": "function", "function": {"name": "weather", "arguments": '{"city":"Rome"}'}}
CALLING = {"role": "assistant", "content": None, "tool_calls": [CALLED]}
SUNNY = {"role": "tool", "content": "sunny"}
OURS = [USER, CALLING, SUNNY]

SPELLINGS = {
    "ms-swift": [USER, {"role": "tool_call", "content": CALL}, {"role": "tool_response", "content": "sunny"}],
    "ShareGPT": [
        {"from": "human", "value": "Weather?"}, {"from": "function_call", "value": CALL},
        {"from": "observation", "value": "sunny"},
    ],
    "Llama": [USER, {"role": "tool_call", "content": CALL}, {"role": "ipython", "content": "sunny"}],
    "environment": [USER, {"role": "tool_calls", "content": f"[{CALL}]"}, {"role": "environment", "content": "sunny"}],
    "older OpenAI": [
        USER,
        {"role": "assistant", "content": None, "function_call": {"name": "weather", "arguments": '{"city":"Rome"}'}},
        {"role": "function", "content": "sunny"},
    ],
    "objects": [
        {"role": "Human", "content": "Weather?"},
        {"role": "tool-call", "content": {"name": "weather", "parameters": {"city": "Rome"}}},
        {"role": "Tool Response", "content": "sunny"},
    ],
    "Autotune": OURS,
}  # fmt: skip


@pytest.mark.parametrize("messages", SPELLINGS.values(), ids=SPELLINGS)
def test_c9_each_spelling_is_one_conversation(messages):
    assert mapped(messages) == OURS


def test_c9_every_spelling_reaches_the_grader_as_the_same_work(endpoint_of, call):
    endpoint = endpoint_of("slime")
    for messages in SPELLINGS.values():
        assert call(endpoint, {"prompt": messages, "response": "It is sunny."}).json == 0.25
    assert Completion.objects.get().messages == OURS
    assert LiveAnswer.objects.count() == 1


def test_c9_foundrys_rows_and_gyms_inputs_are_mapped_too(endpoint_of, call, settings):
    settings.FOUNDRY_GRADER = True
    row = {"sample": {"output_text": "x"}, "item": {"messages": SPELLINGS["ShareGPT"]}}
    call(endpoint_of("foundry"), row)
    items = [{"role": "human", "content": "Weather?"}, {"role": "ipython", "content": "sunny"}]
    output = [{"role": "gpt", "content": "x"}]
    call(endpoint_of("verify"), {"responses_create_params": {"input": items}, "response": {"output": output}})
    conversations = [completion.messages for completion in Completion.objects.order_by("pk")]
    assert conversations == [OURS, [USER, SUNNY]]


@pytest.mark.parametrize("name", sorted(TOOL_RESULTS))
def test_c9_every_name_of_a_result_becomes_the_tool_role(name):
    message = {"role": name, "content": "4", "name": "add", "tool_call_id": "c"}
    assert mapped([message]) == [{**message, "role": "tool"}]


@pytest.mark.parametrize(("name", "role"), sorted(SPEAKERS.items()))
def test_c9_every_name_of_a_speaker_becomes_one_of_our_roles(name, role):
    assert mapped([{"role": name.upper(), "content": "x"}]) == [{"role": role, "content": "x"}]


@pytest.mark.parametrize("name", sorted(TOOL_CALLS))
def test_c9_calls_that_follow_each_other_are_one_message(name):
    messages = [
        USER,
        {"role": name, "content": CALL},
        {"role": name, "content": CALL},
        {"role": "tool", "content": "x"},
    ]
    assert [len(message.get("tool_calls", ())) for message in mapped(messages)] == [0, 2, 0]


def test_c9_messages_in_our_form_stay_unchanged():
    messages = [
        {"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "image_url", "image_url": {}}]},
        {"role": "assistant", "content": "x", "tool_calls": [{"id": "c", **CALLED}], "name": "a"}, SUNNY,
    ]  # fmt: skip
    assert mapped(messages) == messages


def test_c9_a_result_that_is_not_text_becomes_its_json():
    assert mapped([{"role": "observation", "content": {"b": 1, "a": [None]}}]) == [
        {"role": "tool", "content": '{"b":1,"a":[null]}'}
    ]


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"role": "critic", "content": "x"}, "unknown_role"),
        ({"role": None, "content": "x"}, "unknown_role"),
        ({"content": "x"}, "unknown_role"),
        ({"from": 1, "value": "x"}, "unknown_role"),
        ({"role": "tool_call", "content": "add(2, 2)"}, "unreadable_tool_call"),
        ({"role": "tool_call", "content": "[" * 100_000}, "unreadable_tool_call"),
        ({"role": "tool_call", "content": None}, "unreadable_tool_call"),
        ({"role": "tool_call", "content": "[]"}, "unreadable_tool_call"),
        ({"role": "tool_call", "content": '{"arguments": {}}'}, "unreadable_tool_call"),
        ({"role": "tool_call", "content": '{"name": "", "arguments": {}}'}, "unreadable_tool_call"),
        ({"role": "assistant", "content": None, "function_call": "f"}, "unreadable_tool_call"),
        ({"role": "assistant", "content": "x", "tool_calls": 5}, "unreadable_tool_call"),
        ({"role": "assistant", "content": "x", "tool_calls": "add"}, "unreadable_tool_call"),
        ({"role": "assistant", "content": "x", "tool_calls": {"name": "add"}}, "unreadable_tool_call"),
        ({"role": "assistant", "content": "x", "tool_calls": [None]}, "unreadable_tool_call"),
    ],
)
def test_c9_a_message_that_cannot_be_mapped_is_refused_with_its_place(message, code):
    with pytest.raises(UnmappedConversation) as caught:
        mapped([USER, message])
    assert caught.value.code == code
    assert caught.value.reason.startswith("Message 1 ")


def test_c9_a_row_that_cannot_be_mapped_is_answered_with_its_code(endpoint_of, call):
    body = {"prompt": [USER, {"role": "critic", "content": "x"}], "response": "y"}
    answer = call(endpoint_of("slime", unscored="error"), body)
    assert (answer.status, answer.json["code"]) == (502, "unknown_role")
    assert "Message 1 has the role 'critic', which is not known." in answer.json["detail"]
    assert call(endpoint_of("slime"), body, query="?rewardKey=score").json["state"] == "unknown_role"
