"""For any conversation, each adapter and reward endpoint passes all of it on, or refuses the row with a code."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from autotune_sdk.integrations import swift, trl, verifiers, verl
from autotune_sdk.integrations._answers import Refusal
from hypothesis import given
from hypothesis import strategies as st

from scores.live import protocols
from scores.live.protocols.samples import AFTER

# What happened in a conversation, in order: ("system" | "developer" | "user" | "assistant", text or parts),
# ("call", name, arguments), ("result", text). Then the answer of the model: events before its text, its text, events after.
Event = tuple[Any, ...]

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=8)
IMAGE = {"type": "image_url", "image_url": {"url": "data:x"}}
PARTS = st.builds(lambda words: [{"type": "text", "text": words}, IMAGE], WORDS)
ARGUMENTS = st.dictionaries(WORDS, st.one_of(WORDS, st.integers(-9, 9), st.none()), max_size=2)
CALLS = st.tuples(st.just("call"), WORDS, ARGUMENTS)
RESULTS = st.tuples(st.just("result"), WORDS)
SPOKEN = st.tuples(st.sampled_from(["user", "assistant", "developer", "system"]), WORDS)
BEFORE = st.tuples(
    st.lists(st.tuples(st.just("system"), WORDS), max_size=1),
    st.lists(st.one_of(SPOKEN, CALLS, RESULTS, st.tuples(st.just("user"), PARTS)), max_size=5),
    st.tuples(st.just("user"), WORDS),
).map(lambda parts: [*parts[0], *parts[1], parts[2]])
DONE_FIRST = st.lists(st.one_of(CALLS, RESULTS), max_size=3)
TEXTS = st.one_of(st.none(), st.just(""), WORDS)
AFTERWARDS = st.lists(st.one_of(CALLS, RESULTS), max_size=2)
NAMED = {"no_text", "unknown_role", "unreadable_tool_call", "unknown_item", "unreadable_prompt", "reserved_name"}


# --- as trainers write it -------------------------------------------------------------------------------------------


def chat(events: list[Event]) -> list[dict[str, Any]]:
    return [_spoken(event, "role", "content") for event in events]


def spelled(events: list[Event]) -> list[dict[str, Any]]:
    """Messages with the roles of ms-swift."""
    names = {"call": "tool_call", "result": "tool_response"}
    return [
        {"role": names[event[0]], "content": _call_text(event) if event[0] == "call" else event[1]}
        if event[0] in names
        else _spoken(event, "role", "content")
        for event in events
    ]


def sharegpt(events: list[Event]) -> list[dict[str, Any]]:
    names = {"user": "human", "assistant": "gpt", "call": "function_call", "result": "observation"}
    return [
        {"from": names.get(event[0], event[0]), "value": _call_text(event) if event[0] == "call" else event[1]}
        for event in events
    ]


def items(events: list[Event]) -> list[dict[str, Any]]:
    """Items of OpenAI's Responses."""
    converted: list[dict[str, Any]] = []
    for event in events:
        if event[0] == "call":
            converted.append(
                {"type": "function_call", "name": event[1], "arguments": json.dumps(event[2]), "call_id": "c"}
            )
        elif event[0] == "result":
            converted.append({"type": "function_call_output", "call_id": "c", "output": event[1]})
        else:
            converted.append(_spoken(event, "role", "content"))
    return converted


def _spoken(event: Event, role: str, content: str) -> dict[str, Any]:
    if event[0] == "call":
        function = {"name": event[1], "arguments": json.dumps(event[2])}
        return {role: "assistant", content: None, "tool_calls": [{"type": "function", "function": function}]}
    return {role: "tool" if event[0] == "result" else event[0], content: event[1]}


def _call_text(event: Event) -> str:
    return json.dumps({"name": event[1], "arguments": event[2]})


# --- as graders get it ----------------------------------------------------------------------------------------------


def rebuilt(messages: list[dict[str, Any]]) -> list[Event]:
    """The events of messages of the API."""
    events: list[Event] = []
    for message in messages:
        if message["role"] == "tool":
            events.append(("result", message["content"]))
            continue
        if message["content"] is not None:
            events.append((message["role"], message["content"]))
        for call in message.get("tool_calls", ()):
            events.append(("call", call["function"]["name"], json.loads(call["function"]["arguments"])))
    return events


def assert_whole(row: Any, before: list[Event], first: list[Event], text: str | None, after: list[Event]) -> None:
    """row: an item of the SDK, a Refusal, or a sample of a reward endpoint."""
    item, code = _item_and_code(row)
    messages = item.get("messages") or [{"role": "user", "content": item["prompt"]}]
    if code:
        assert code in NAMED
        assert text is None or (text == "" and after) or _goes_on(after), f"{text!r} could be read; it is {code}"
        spoken = [("assistant", text)] if text else []
        handed_on = rebuilt(messages) + rebuilt((item.get("metadata") or {}).get(AFTER, []))
        assert [event for event in handed_on if event != ("assistant", "")] == before + first + spoken + after
        assert item["response"] == ""
        return
    assert (rebuilt(messages), item["response"]) == (before + first, text)
    assert rebuilt((item.get("metadata") or {}).get(AFTER, [])) == after


def _item_and_code(row: Any) -> tuple[dict[str, Any], str]:
    """The item to score (also if only scored as empty text), and the code of its refusal or ''."""
    if isinstance(row, Refusal):
        return dict(row.item or {}), row.code
    if isinstance(row, dict):
        return row, ""
    names = ("prompt", "messages", "metadata", "response")
    return {name: getattr(row, name) for name in names}, row.refused or ("" if row.has_text else "no_text")


def _goes_on(after: list[Event]) -> bool:
    """Whether the model's last turn begins after its text: it calls a tool again, after a result."""
    kinds = [event[0] for event in after]
    return "result" in kinds and "call" in kinds[kinds.index("result") :]


def read(protocol: str, body: Any) -> Any:
    (sample,) = protocols.read(protocol, json.dumps(body).encode())
    return sample


def verify(before: list[Event], first: list[Event], text: str | None, after: list[Event]) -> Any:
    spoken = [] if text is None else [{"role": "assistant", "content": text}]
    output = [*items(first), *spoken, *items(after)]
    return read("verify", {"responses_create_params": {"input": items(before)}, "response": {"output": output}})


@given(BEFORE, DONE_FIRST, TEXTS, AFTERWARDS)
def test_gyms_verify(before: Any, first: Any, text: Any, after: Any) -> None:
    assert_whole(verify(before, first, text, after), before, first, text, after)


@given(BEFORE, DONE_FIRST, TEXTS, AFTERWARDS)
@pytest.mark.parametrize("write", [chat, spelled, sharegpt])
def test_trl(write: Callable[[list[Event]], Any], before: Any, first: Any, text: Any, after: Any) -> None:
    spoken = [] if text is None else [{"role": "assistant", "content": text}]
    completion = [*chat(first), *spoken, *chat(after)]
    (row,) = trl.reward_func("task_x").items([write(before)], [completion], {})
    assert_whole(row, before, first, text, after)


class Message:
    """A message of verifiers: its members are attributes."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.role, self._fields = fields["role"], fields

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return {name: value for name, value in self._fields.items() if value is not None}


@given(BEFORE, DONE_FIRST, TEXTS, AFTERWARDS)
def test_verifiers(before: Any, first: Any, text: Any, after: Any) -> None:
    """Without a text, the last words of the assistant are not the answer: they stay in the conversation."""
    spoken = [] if text is None else [{"role": "assistant", "content": text}]
    messages = [Message(fields) for fields in chat([*before, *first])] + [
        Message(fields) for fields in [*spoken, *chat(after)]
    ]
    row = verifiers._of_messages(messages, text or "", {})
    if text is None:
        earlier = [*before, *first, *after]
        assert isinstance(row, Refusal) or row["response"] in [event[1] for event in earlier if event[0] == "assistant"]
        return
    assert_whole(row, before, first, text, after)


@given(BEFORE, WORDS)
@pytest.mark.parametrize("write", [chat, spelled])
def test_ms_swift(write: Callable[[list[Event]], Any], before: Any, text: str) -> None:
    columns = {"messages": [[*write(before), {"role": "assistant", "content": text}]]}
    (row,) = swift.AutotuneORM(args=None).items([text], columns)
    assert_whole(row, before, [], text, [])


@given(BEFORE, WORDS)
@pytest.mark.parametrize("write", [chat, spelled, sharegpt])
def test_verl(write: Callable[[list[Event]], Any], before: Any, text: str) -> None:
    for extra_info in ({"messages": json.dumps(write(before))}, {"prompt": write(before), "prompt_text": "other"}):
        assert_whole(verl._item("d", text, "4", extra_info, []), before, [], text, [])


@given(BEFORE, TEXTS, st.lists(CALLS, max_size=2))
@pytest.mark.parametrize("write", [chat, spelled, sharegpt])
def test_foundry(write: Callable[[list[Event]], Any], before: Any, text: Any, after: Any) -> None:
    message = {"content": text, "tool_calls": [turn["tool_calls"][0] for turn in chat(after)]}
    sample = read("foundry", {"sample": {"choices": [{"message": message}]}, "item": {"messages": write(before)}})
    sample.metadata.pop("item")
    assert_whole(sample, before, [], text, after)


@given(BEFORE, WORDS)
@pytest.mark.parametrize("write", [chat, spelled, sharegpt])
def test_slime(write: Callable[[list[Event]], Any], before: Any, text: str) -> None:
    assert_whole(read("slime", {"prompt": write(before), "response": text}), before, [], text, [])


@given(st.lists(st.tuples(WORDS, st.text(max_size=8)), min_size=1, max_size=4))
def test_openrlhf(pairs: list[tuple[str, str]]) -> None:
    plain = [(prompt, text.encode("utf-8", "replace").decode().replace("\x00", "")) for prompt, text in pairs]
    body = {"query": [prompt + text for prompt, text in plain], "prompts": [prompt for prompt, _ in plain]}
    for sample, (prompt, text) in zip(protocols.read("openrlhf", json.dumps(body).encode()), plain, strict=True):
        assert sample.prompt + sample.response == prompt + text
