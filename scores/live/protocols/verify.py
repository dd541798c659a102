"""NeMo Gym's `/verify`: a rollout in the shapes of OpenAI's Responses, answered with the same body and its reward.

What could not be judged is answered with a reward too, and a failure class: Gym keeps such rows out of its aggregates.
"""

from typing import Any, Final

from autotune.core.errors import Invalid
from scores.live.protocols.samples import Outcome, Sample, joined_text, the_member, the_messages, the_object

FAILURE_CLASS: Final = "_ng_failure_class"
FAILED: Final = "judge_failed"
REASON: Final = "autotune_unscored"
ASKED, ANSWERED = "responses_create_params", "response"
OURS: Final = frozenset({ASKED, ANSWERED, "reward", FAILURE_CLASS, REASON})


def read(body: Any) -> list[Sample]:
    """raises  Invalid with a pointer"""
    members = the_object(body)
    asked, answered = the_member(members, ASKED), the_member(members, ANSWERED)
    fields = {name: value for name, value in members.items() if name not in OURS}
    sample = Sample(_last_text(answered), metadata=fields or None)
    given, instructions = asked.get("input"), asked.get("instructions")
    if isinstance(given, str) and not isinstance(instructions, str):
        sample.prompt = given
        return [sample]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    sample.messages = _messages(the_messages(items, f"/{ASKED}/input"))
    if isinstance(instructions, str):
        sample.messages.insert(0, {"role": "system", "content": instructions})
    return [sample]


def write(body: Any, outcomes: list[Outcome]) -> dict[str, Any]:
    (outcome,) = outcomes
    kept = {name: value for name, value in body.items() if name not in (FAILURE_CLASS, REASON)}
    answer = {**kept, "reward": outcome.value}
    if not outcome.is_scored:
        answer |= {FAILURE_CLASS: FAILED, REASON: outcome.code}
    return answer


def _messages(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Chat messages of input items. Calls of tools and their outputs stand between them; reasoning is left out."""
    found = []
    for item in items:
        if isinstance(item.get("role"), str):
            found.append({"role": item["role"], "content": joined_text(item.get("content"))})
        elif item.get("type") == "function_call":
            call = {"name": item.get("name"), "arguments": item.get("arguments")}
            found.append({"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": call}]})
        elif item.get("type") == "function_call_output":
            found.append({"role": "tool", "content": _output(item.get("output"))})
    return found


def _output(value: Any) -> str:
    return value if isinstance(value, str) else joined_text(value)


def _last_text(answered: dict[str, Any]) -> str:
    """The text of the last message of the assistant; '' where it only called tools."""
    output = answered.get("output")
    if not isinstance(output, list):
        raise Invalid.field(f"/{ANSWERED}/output", "wrong_type", "must be a list.")
    for item in reversed(output):
        if isinstance(item, dict) and item.get("type") == "message" and item.get("role", "assistant") == "assistant":
            return joined_text(item.get("content"), between="")  # as OpenAI's own `output_text` joins them
    return ""
