"""No protocol judges an answer without text as empty text, unless the endpoint's policy says so; each is counted."""

import json

import pytest

from scores.live import counting
from tasks.models import Completion
from tests.scores.live.endpoints.conftest import whole
from tests.scores.live.endpoints.test_protocols import GRADED, ROLLOUT, samples

CALL = {"type": "function_call", "name": "book", "arguments": '{"to":"Rome"}', "call_id": "c1"}
CALLED = {"id": "c1", "type": "function", "function": {"name": "book", "arguments": '{"to":"Rome"}'}}
CALLING = {"role": "assistant", "content": None, "tool_calls": [CALLED]}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "booked"}
RETURNED = {"role": "tool", "tool_call_id": "c1", "content": "booked"}
REASONING = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]}
USER = {"role": "user", "content": "2+2?"}


def reply(*parts, **members):
    return {"type": "message", "role": "assistant", "content": list(parts), **members}


def text(words):
    return {"type": "output_text", "text": words, "annotations": []}


def rollout(*output):
    return {**ROLLOUT, "response": {"output": list(output)}}


def read(*output):
    (sample,) = samples("verify", rollout(*output))
    return sample


NO_TEXT = {
    "a call of a tool": [CALL],
    "nothing": [],
    "reasoning": [REASONING],
    "a refusal": [reply({"type": "refusal", "refusal": "no"})],
    "a part of an unknown kind": [reply({"type": "output_hologram", "text": "boo", "data": 1})],
    "content null": [{"type": "message", "role": "assistant", "content": None}],
    "no content": [{"role": "assistant"}],
    "content of an unknown kind": [{"role": "assistant", "content": 7}],
    "no parts": [reply()],
    "an empty text beside a call": [reply(text("")), CALL],
    "an empty text beside a refusal": [reply(text(""), {"type": "refusal", "refusal": "no"})],
    "a text part without its text": [reply({"type": "output_text", "text": None})],
    "a result of a tool": [CALL, RESULT],
    "a last turn of only calls": [reply(text("I look")), CALL, RESULT, CALL],
    "calls in chat form": [{"role": "assistant", "content": "I look"}, RESULT, CALLING],
    "a message of the user": [{"role": "user", "content": "good b"}],
}  # fmt: skip


# --- reading --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": "good b"},
        {"type": "message", "content": "good b"},
        {"role": "assistant", "content": [{"text": "good b"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "good "}, "b"]},
        {"type": "message", "role": "model", "content": [text("good b")]},
    ],
)
def test_c3_a_message_in_the_input_form_is_read(message):
    sample = read(message)
    assert (sample.response, sample.has_text, sample.refused) == ("good b", True, "")


@pytest.mark.parametrize("output", NO_TEXT.values(), ids=NO_TEXT)
def test_c4_an_answer_that_holds_no_text_is_marked(output):
    sample = read(*output)
    assert (sample.response, sample.has_text) == ("", False)


def test_c4_the_text_before_a_last_message_without_text_is_not_judged_in_its_place():
    sample = read(reply(text("wait")), reply({"type": "refusal", "refusal": "no"}))
    assert not sample.has_text
    assert sample.messages[1:] == [
        {"role": "assistant", "content": "wait"},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
    ]


def test_c4_an_empty_text_that_was_sent_as_text_is_one():
    for empty in (reply(text("")), {"role": "assistant", "content": ""}):
        assert (read(empty).response, read(empty).has_text) == ("", True)


def test_c4_the_tools_of_a_rollout_are_in_the_conversation_before_its_last_text():
    sample = read(REASONING, reply(text("I look")), CALL, RESULT, reply(text("It is booked.")))
    assert sample.response == "It is booked."
    assert sample.messages == [USER, {"role": "assistant", "content": "I look"}, CALLING, RETURNED]
    assert sample.metadata == {"expected_answer": "4"}


def test_c4_calls_after_the_text_reach_graders_in_the_metadata():
    sample = read(reply(text("I book it.")), CALL, RESULT)
    assert sample.response == "I book it."
    assert sample.metadata == {"expected_answer": "4", "afterResponse": [CALLING, RETURNED]}
    assert read(reply(text("I book it.")), CALLING).metadata["afterResponse"] == [CALLING]
    chat = read({"role": "assistant", "content": "I book it.", "tool_calls": [CALLED]})
    assert chat.metadata["afterResponse"] == [CALLING]


def test_c4_every_form_of_a_call_beside_the_text_reaches_graders_in_chat_form():
    flat = {"id": "c1", "type": "tool_call", "name": "book", "args": {"to": "Rome"}}
    old = {"name": "book", "arguments": '{"to":"Rome"}'}
    for members in ({"tool_calls": [CALLED]}, {"tool_calls": [flat]}, {"function_call": old}):
        sample = read(reply(text("I book it."), **members))
        (message,) = sample.metadata["afterResponse"]
        assert message["tool_calls"][0]["function"] == CALLED["function"]


def test_c4_calls_that_go_out_together_are_one_message():
    other = {**CALL, "call_id": "c2"}
    sample = read(CALL, other, RESULT, {**RESULT, "call_id": "c2"}, reply(text("done")))
    assert [message["role"] for message in sample.messages] == ["user", "assistant", "tool", "tool"]
    assert [call["id"] for call in sample.messages[1]["tool_calls"]] == ["c1", "c2"]


def test_c4_items_without_a_chat_form_are_kept_whole():
    search = {"type": "web_search_call", "id": "w", "status": "completed", "action": {"query": "x"}}
    answer = {"type": "computer_call_output", "call_id": "k", "output": {"type": "image"}}
    custom = {"type": "custom_tool_call", "call_id": "k", "name": "sql", "input": "select 1"}
    sample = read(search, answer, custom, reply(text("done")))
    assert sample.messages[1:] == [
        {"role": "assistant", "content": [search]},
        {"role": "tool", "content": [answer]},
        {"role": "assistant", "content": None,
         "tool_calls": [{"id": "k", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}]},
    ]  # fmt: skip


def test_c3_a_prompt_with_parts_that_are_not_text_keeps_them():
    image = {"type": "input_image", "image_url": "data:x"}
    params = {"input": [{"role": "user", "content": [{"type": "input_text", "text": "what?"}, image]}]}
    (sample,) = samples("verify", {**ROLLOUT, "responses_create_params": params})
    assert sample.messages == [{"role": "user", "content": [{"type": "text", "text": "what?"}, image]}]


@pytest.mark.parametrize(
    ("output", "code"),
    [
        (["text"], "unknown_item"),
        ([{"content": "good b"}], "unknown_item"),
        ([{"type": 7, "content": "good b"}], "unknown_item"),
        ([{"type": "function_call", "arguments": "{}"}, reply(text("b"))], "unreadable_tool_call"),
        ([{"role": "critic", "content": "x"}, reply(text("b"))], "unknown_role"),
        ([reply(text("b"), tool_calls=5)], "unreadable_tool_call"),
        ([reply(text("b"), tool_calls="ab")], "unreadable_tool_call"),
        ([reply(text("b"), tool_calls=CALLED)], "unreadable_tool_call"),
        ([reply(text("b"), tool_calls=[CALLED, "book"])], "unreadable_tool_call"),
        ([reply(text("b"), function_call="f")], "unreadable_tool_call"),
    ],
)
def test_c4_items_that_cannot_be_mapped_are_refused_by_name(output, code):
    sample = read(*output)
    assert sample.refused == code
    assert sample.reason.startswith("Item 0 ")


def test_c4_a_trainers_own_field_is_never_replaced():
    (sample,) = samples("verify", {**rollout(reply(text("b")), CALL), "afterResponse": "mine"})
    assert (sample.refused, sample.metadata["afterResponse"]) == ("reserved_name", "mine")


@pytest.mark.parametrize(
    ("sample", "response", "has_text"),
    [
        ({"output_text": "", "choices": [{"message": {"content": None, "tool_calls": [CALLED]}}]}, "", False),
        ({"output_text": "", "choices": [{"message": {"content": "", "tool_calls": [CALLED]}}]}, "", False),
        ({"output_text": "", "output_tools": [CALLED]}, "", False),
        ({"choices": [{"message": {"content": None, "refusal": "no"}}]}, "", False),
        ({"choices": [{"message": {"content": [{"type": "refusal", "refusal": "no"}]}}]}, "", False),
        ({"choices": [{}]}, "", False),
        ({"output_text": None}, "", False),
        ({"output_text": ""}, "", True),
        ({"choices": [{"message": {"content": ""}}]}, "", True),
        ({"output_text": "4", "output_tools": [CALLED]}, "4", True),
        ({"choices": [{"message": {"content": [{"type": "text", "text": "4"}]}}]}, "4", True),
    ],
)
def test_c4_foundry_distinguishes_an_empty_text_from_none(sample, response, has_text):
    (parsed,) = samples("foundry", {**GRADED, "sample": sample})
    assert (parsed.response, parsed.has_text) == (response, has_text)
    has_calls = bool(sample.get("output_tools") or "tool_calls" in json.dumps(sample))
    assert (parsed.metadata.get("afterResponse") == [CALLING]) is has_calls


# --- answering ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("output", NO_TEXT.values(), ids=NO_TEXT)
def test_c4_verify_answers_zero_with_a_failure_class_and_judges_nothing(endpoint_of, call, output):
    endpoint = endpoint_of("verify", neutral_value=None, unscored="hold")
    answer = call(endpoint, rollout(*output)).json
    assert (answer["reward"], answer["_ng_failure_class"]) == (0.0, "judge_failed")
    assert answer["autotune_unscored"] == "no_text"
    assert answer["autotune_unscored_reason"] == "The answer of the model holds no text."
    assert not Completion.objects.exists()
    endpoint.refresh_from_db()
    assert (endpoint.answered, endpoint.unscored_count, endpoint.without_text_count) == (1, 1, 1)


def test_c3_a_message_in_the_input_form_is_judged(endpoint_of, call):
    answer = call(endpoint_of("verify"), rollout({"role": "assistant", "content": "good b"})).json
    assert answer["autotune_unscored"] == "pending"
    assert Completion.objects.get().response == "good b"


def test_c4_an_endpoint_may_have_them_judged_as_an_empty_text(endpoint_of, call):
    call(endpoint_of("verify", without_text="empty"), rollout(CALL))
    completion = Completion.objects.get()
    assert (completion.response, completion.messages) == ("", [USER, CALLING])


@pytest.mark.parametrize(("policy", "judged"), [("unscored", 1), ("empty", 1), ("strict", 0)])
@pytest.mark.parametrize(
    ("protocol", "body"),
    [
        ("verify", rollout(reply(text("")))),
        ("openrlhf", whole("")),
        ("slime", {"prompt": "p", "response": ""}),
        ("foundry", {"sample": {"output_text": ""}, "item": {"prompt": "p"}}),
    ],
)
def test_c4_an_empty_text_is_an_answer_unless_the_endpoint_is_strict(
    endpoint_of, call, settings, policy, judged, protocol, body
):
    settings.FOUNDRY_GRADER = True
    assert call(endpoint_of(protocol, without_text=policy), body).status == 200
    assert Completion.objects.count() == judged


@pytest.mark.parametrize(
    ("unscored", "neutral", "status", "code"),
    [("hold", None, 503, "no_text"), ("error", None, 502, "no_text"), ("neutral", 0.5, 200, None)],
)
def test_c4_the_others_answer_by_their_policy(endpoint_of, call, settings, unscored, neutral, status, code):
    settings.FOUNDRY_GRADER = True
    endpoint = endpoint_of("foundry", unscored=unscored, neutral_value=neutral)
    answer = call(endpoint, {"sample": {"choices": [{"message": {"content": None}}]}, "item": {"prompt": "p"}})
    assert (answer.status, answer.json.get("code")) == (status, code)
    if code:
        assert answer.json["detail"] == (
            "no_text: the answer of the model could not be scored. The answer of the model holds no text."
        )


def test_c4_a_blank_answer_does_not_affect_the_others(endpoint_of, call, caplog, monkeypatch):
    monkeypatch.setattr(counting, "_missing", {})
    endpoint = endpoint_of(without_text="strict")
    answer = call(endpoint, whole("a", " \n", "b"))
    assert answer.json["extra_logs"] == {"autotune_unscored": [1.0, 1.0, 1.0]}
    assert sorted(completion.response for completion in Completion.objects.all()) == ["a", "b"]
    assert "no_text 1, pending 2" in caplog.text
    endpoint.refresh_from_db()
    assert endpoint.without_text_count == 1


def test_c4_a_refused_row_reports_its_reason(endpoint_of, call):
    answer = call(endpoint_of("verify"), rollout({"role": "critic", "content": "x"}, reply(text("b")))).json
    assert answer["autotune_unscored"] == "unknown_role"
    assert answer["autotune_unscored_reason"] == "Item 0 has the role 'critic', which is not known."
    null = {**rollout(reply(text("b"))), "responses_create_params": {"input": [{"role": "user", "content": None}]}}
    answer = call(endpoint_of("verify"), null).json
    assert answer["autotune_unscored"] == "wrong_type"
    assert answer["autotune_unscored_reason"].startswith("/messages/0/content: ")
