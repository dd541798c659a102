"""Describe a failed call for the people who run the grader: what Autotune called, and what came back.

The description of one completion never contains another completion's part of the answer: completions of one batch may
belong to different organizations.
"""

import json
import re
from collections.abc import Iterable
from typing import Any, Final

from autotune.core.outbound.calls import OutboundError, OutboundResponse
from graders.gateway.texts import clean, redact
from graders.gateway.types import GraderCall, GraderTarget

MAX_HEADERS: Final = 40  # names
MAX_HEADER_NAME: Final = 64  # characters
_COMPLETION_ID = re.compile(r"comp_[0-9a-z]{26}")
_UNREADABLE: Final = object()


class CallExchange:
    """A call and what came back. It reads nothing until a description is needed: a call that succeeds costs nothing."""

    __slots__ = ("_call", "_parsed", "_result", "_target")

    def __init__(self, call: GraderCall, target: GraderTarget, result: OutboundResponse | OutboundError) -> None:
        self._call, self._target, self._result = call, target, result
        self._parsed: Any = None

    def evidence(self, completion_id: str) -> dict[str, Any]:
        """Describe the call for one of its completions, as JSON; members without a value are absent.

        status, headers, answer  absent if there was no answer; of the headers only the names
        omitted                  true if there was an answer, and none of it is certain to be about this completion
        """
        call, result = self._call, self._result
        description: dict[str, Any] = {
            "url": call.request.url,
            "requestId": call.request_id,
            "durationMs": round(result.elapsed_ms, 1),
            "items": len(call.items),
        }
        if isinstance(result, OutboundResponse):
            secrets = self._secrets()
            description["status"] = result.status
            description["headers"] = [
                name
                for header, _ in result.headers[:MAX_HEADERS]
                if (name := clean(header, secrets, MAX_HEADER_NAME)).strip()
            ]
            answer = self._own_answer(completion_id, result.body)
            if answer is None:
                description["omitted"] = True
            else:
                description["answer"] = excerpt(answer, secrets)
        return description

    def _own_answer(self, completion_id: str, body: bytes) -> str | None:
        """Return the part of the answer that is about this completion; None if that is not certain."""
        call = self._call
        if self._parsed is None:
            self._parsed = _parse(body)
        root = self._parsed
        if isinstance(root, dict) and root.get("requestId", call.request_id) != call.request_id:
            return None  # the answer to another request
        if call.kind == "batch" and isinstance(root, dict) and "scores" in root:
            return own_entry(root["scores"], completion_id)
        if len(call.items) > 1:
            return None
        text = body.decode(errors="replace") if root is _UNREADABLE else _text(root)
        return text if _names_only(text, completion_id) else None

    def _secrets(self) -> list[str]:
        """What must not be stored: the shared secrets, the request's signature, and the token of the callback."""
        call = self._call
        token = [call.callback.url.rpartition("/")[2]] if call.callback else []
        return [*(secret.value for secret in self._target.signing), call.key.value, call.signature, *token]


def own_entry(scores: Any, completion_id: str) -> str | None:
    """Return the entries of a batch answer that name this completion, as JSON; None if there are none.

    An entry that also names another completion is not returned.
    """
    if not isinstance(scores, list):
        return None
    entries = [entry for entry in scores if isinstance(entry, dict) and entry.get("completionId") == completion_id]
    if not entries:
        return None
    text = _text(entries[0] if len(entries) == 1 else entries)
    return text if _names_only(text, completion_id) else None


def callback_evidence(
    body: bytes, request_id: str, completion_id: str, items: int, duration_ms: float, secrets: Iterable[str]
) -> dict[str, Any]:
    """Describe a callback that reported a failure, for one completion of its request; see `CallExchange.evidence`."""
    description: dict[str, Any] = {"requestId": request_id, "durationMs": round(duration_ms, 1), "items": items}
    root = _parse(body)
    if isinstance(root, dict) and "scores" in root:
        answer = own_entry(root["scores"], completion_id)
    else:
        answer = _text(root) if items == 1 and _names_only(_text(root), completion_id) else None
    if answer is None:
        return {**description, "omitted": True}
    return {**description, "answer": excerpt(answer, secrets)}


def excerpt(text: str, secrets: Iterable[str]) -> str:
    """Return the beginning of an answer as one line. The whole text is redacted first, so that no secret is cut in two
    and then missed."""
    return clean(redact(text, secrets))


def _parse(body: bytes) -> Any:
    """Parse an answer leniently: evidence shows answers that the protocol rejects. _UNREADABLE if it is not JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return _UNREADABLE


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _names_only(text: str, completion_id: str) -> bool:
    return set(_COMPLETION_ID.findall(text)) <= {completion_id}
