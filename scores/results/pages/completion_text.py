"""Show the text of a completion on its page, bounded and escaped, and offer each part as a whole for download."""

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse

from autotune.access.frame.entry import PageRequest, page
from autotune.core import ids, markdown
from autotune.core.errors import Gone, NotFound, Unreadable
from autotune.core.markdown import RenderedText
from autotune.core.pages.formats import pretty_json
from scores.results import completions
from scores.results.completion_responses import CompletionOut
from scores.results.pages.completions import READS

PARTS: Final = ("prompt", "response", "messages", "metadata")
MAX_MESSAGES: Final = 100  # bubbles on a page
SHOWN_MESSAGES: Final = 60_000  # characters of all of them
SHOWN_PROMPT: Final = 40_000
SHOWN_JSON: Final = 20_000


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message of the chat before the response. `other`: the kinds of parts that are not text, and of calls."""

    role: str
    shown: RenderedText
    other: list[str]


@dataclass(frozen=True, slots=True)
class CompletionText:
    """The text that a page shows. `raw`: the response is one text, without separate code."""

    prompt: RenderedText | None
    bubbles: list[ChatMessage]
    left_out: int
    response: RenderedText | None
    raw: bool
    metadata: str
    metadata_cut: int


def texts(out: CompletionOut, *, raw: bool) -> CompletionText:
    """Return the text of a completion as its reader may see it."""
    bubbles, left_out = _bubbles(out.messages or [])
    metadata = pretty_json(out.metadata) if out.metadata else ""
    response = None
    if out.response is not None:
        response = markdown.plain(out.response) if raw else markdown.answer(out.response)
    return CompletionText(
        prompt=None if out.prompt is None else markdown.plain(out.prompt, limit=SHOWN_PROMPT),
        bubbles=bubbles,
        left_out=left_out,
        response=response,
        raw=raw,
        metadata=metadata[:SHOWN_JSON],
        metadata_cut=max(0, len(metadata) - SHOWN_JSON),
    )


@page(*READS)
def text(request: PageRequest, completion_id: UUID, part: str) -> HttpResponse:
    """Download one part of the text as a whole."""
    if part not in PARTS:
        raise NotFound("A completion has no such text.")
    out = completions.read_completion(request.principal, completion_id)
    if out.erased_at is not None:
        raise Gone("The text was erased.", code="text_erased")
    if out.unreadable and part in out.unreadable:
        raise Unreadable()
    value = getattr(out, part)
    if value is None or value == {}:
        raise NotFound("The completion has no such text.")
    body = value if isinstance(value, str) else pretty_json(value)
    name = f"{ids.encode('comp', completion_id)}-{part}.{'txt' if isinstance(value, str) else 'json.txt'}"
    response = HttpResponse(body.encode("utf-8", "replace"), content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _bubbles(messages: list[dict[str, Any]]) -> tuple[list[ChatMessage], int]:
    """As many of the newest messages as fit on a page, and how many older ones are left out."""
    bubbles: list[ChatMessage] = []
    remaining = SHOWN_MESSAGES
    for message in reversed(messages):
        if len(bubbles) == MAX_MESSAGES or remaining <= 0:
            break
        content, other = _message_text(message)
        shown = markdown.plain(content, limit=min(remaining, SHOWN_PROMPT))
        remaining -= min(len(content), SHOWN_PROMPT) + 200  # the markup of a bubble counts too
        bubbles.append(ChatMessage(str(message.get("role", ""))[:40], shown, other))
    return bubbles[::-1], len(messages) - len(bubbles)


def _message_text(message: dict[str, Any]) -> tuple[str, list[str]]:
    """The text of a message, and the kinds of its other parts."""
    content, other = message.get("content"), []
    if message.get("tool_calls"):
        other.append("tool calls")
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        other += [str(part.get("type", "part"))[:40] for part in parts if not isinstance(part.get("text"), str)][:20]
        content = "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    return content if isinstance(content, str) else "", other
