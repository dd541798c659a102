"""NeMo Gym's `/verify`: a rollout in the shapes of OpenAI's Responses, answered with the same body and its reward.

A rollout that could not be judged gets a reward too, and a failure class: Gym keeps such rows out of its aggregates.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from autotune.core.errors import Invalid
from scores.live.protocols import responses
from scores.live.protocols.conversations import UnmappedConversation
from scores.live.protocols.samples import SampleOutcome, TrainerSample, the_member, the_messages, the_object

FAILURE_CLASS: Final = "_ng_failure_class"
FAILED: Final = "judge_failed"
CODE, REASON = "autotune_unscored", "autotune_unscored_reason"
ASKED, ANSWERED, REWARD = "responses_create_params", "response", "reward"
OURS: Final = frozenset({ASKED, ANSWERED, REWARD, FAILURE_CLASS, CODE, REASON})
_SPACE: Final = " \t\n\r"
_scan = json.JSONDecoder(parse_int=len, parse_float=len).scan_once  # type: ignore[attr-defined] # values are not used


def read(body: Any) -> list[TrainerSample]:
    """Return the sample of a request; raises Invalid with a pointer."""
    members = the_object(body)
    params, response = the_member(members, ASKED), the_member(members, ANSWERED)
    output = response.get("output")
    if not isinstance(output, list):
        raise Invalid.field(f"/{ANSWERED}/output", "wrong_type", "must be a list.")
    fields = {name: value for name, value in members.items() if name not in OURS}
    sample = TrainerSample("", metadata=fields or None)
    prompt, instructions = _prompt(params)
    try:
        reply = responses.reply(output)
        sample.response, sample.has_text = reply.text or "", reply.text is not None
        sample.add_after(reply.after)
        if isinstance(prompt, str) and not instructions and not reply.before:
            sample.prompt = prompt
        else:
            items = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
            sample.messages = [*instructions, *responses.conversation(items), *reply.before]
    except UnmappedConversation as exc:
        sample.refused, sample.reason = exc.code, exc.reason
    return [sample]


def write(raw: bytes, outcomes: list[SampleOutcome]) -> bytes:
    """Return the received body, byte for byte, with the reward in place of its own if it had one."""
    (outcome,) = outcomes
    added_members: dict[str, Any] = {REWARD: outcome.value}
    if not outcome.is_scored:
        added_members |= {FAILURE_CLASS: FAILED, CODE: outcome.code}
        added_members |= {REASON: outcome.reason} if outcome.reason else {}
    added = [f"{json.dumps(name)}:{json.dumps(value, allow_nan=False)}" for name, value in added_members.items()]
    received_members = [
        text for name, text in _members(str(raw, "utf-8")) if name not in (REWARD, FAILURE_CLASS, CODE, REASON)
    ]
    return f"{{{','.join([*received_members, *added])}}}".encode()


def _prompt(params: dict[str, Any]) -> tuple[str | list[dict[str, Any]], list[dict[str, Any]]]:
    """The input, and the instructions as a system message.

    raises  Invalid with a pointer
    """
    prompt, instructions = params.get("input"), params.get("instructions")
    if instructions is not None and not isinstance(instructions, str):
        raise Invalid.field(f"/{ASKED}/instructions", "wrong_type", "must be a string, or null.")
    system_messages = [] if instructions is None else [{"role": "system", "content": instructions}]
    return prompt if isinstance(prompt, str) else the_messages(prompt, f"/{ASKED}/input"), system_messages


def _members(text: str) -> Iterator[tuple[str, str]]:
    """Yield each member of the object in a valid JSON text: its name, and the unchanged text of the member.

    It does not convert numbers: the answer must repeat every digit, and some numbers fit no double.
    """
    position = text.index("{") + 1
    while True:
        position = _skip(text, position, "," + _SPACE)
        if text[position] == "}":
            return
        name, colon = json.decoder.scanstring(text, position + 1)  # type: ignore[attr-defined]
        _, end = _scan(text, _skip(text, colon, ":" + _SPACE))
        yield name, text[position:end]
        position = end


def _skip(text: str, index: int, characters: str) -> int:
    """The index of the first character from `index` on that is not one of `characters`."""
    while text[index] in characters:
        index += 1
    return index
