"""Check the items of a submission by all rules that need no database. Each error points to the member that is wrong."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
from django.conf import settings

from autotune.core import clock, strictjson
from autotune.core.api.parsing import check_metadata, check_text
from autotune.core.errors import FieldError, Invalid
from autotune.core.strictjson import JSONRefused
from scores.intake.requests import NewCompletion
from tasks import templates
from tasks.digests import canonical_json
from tasks.states import Priority

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
MAX_MESSAGES = 1_000
MAX_AHEAD = timedelta(days=30)  # of `notBefore`
PRIORITIES: Mapping[str | None, Priority] = {
    "low": Priority.LOW,
    None: Priority.NORMAL,
    "normal": Priority.NORMAL,
    "high": Priority.HIGH,
}


@dataclass(slots=True)
class CompletionDraft:
    """A completion that passed all checks except those that need the database. `index` is its position in the request.

    not_before  when its runs may begin; None: at once
    pk          the id that it will have; None: a new id
    variables   the values that filled the prompt template; None if the request contains the prompt itself
    copy_of     the completion of equal content whose scores this one copies; None: graders judge this one
    held_out    never to be trained on
    """

    index: int
    pointer: str
    task_id: UUID
    model_id: str
    prompt: str
    response: str
    messages: list[dict[str, Any]] | None
    external_id: str | None
    metadata: dict[str, Any] | None
    priority: Priority
    not_before: datetime | None = None
    pk: UUID | None = None
    variables: dict[str, str] | None = None
    copy_of: UUID | None = None
    held_out: bool = False

    def canonical(self) -> tuple[bytes, ...]:
        """The content that makes two completions equal: model, prompt or messages, response, metadata, held out."""
        return (
            self.model_id.encode(),
            self.prompt.encode(),
            canonical_json(self.messages),
            self.response.encode(),
            canonical_json(self.metadata or None),
            *([b"held_out"] if self.held_out else []),
        )


def draft(
    item: NewCompletion, *, index: int, pointer: str, priority: str | None, template: str | None
) -> tuple[CompletionDraft | None, list[FieldError]]:
    """Turn an item into a CompletionDraft, or return all its errors.

    pointer   of the item: '' for a single completion, `/completions/3` in a batch
    priority  of the batch
    template  the task's prompt template, needed for `variables`; None if the task is unknown
    """
    try:
        prompt = _prompt(item, pointer, template)
        not_before = _not_before(item.not_before, f"{pointer}/notBefore")
    except Invalid as exc:
        return None, list(exc.errors)
    checks = [
        check_text(prompt, f"{pointer}/{_source(item)}", max_bytes=settings.MAX_TEXT_BYTES),
        check_text(item.response, f"{pointer}/response", max_bytes=settings.MAX_TEXT_BYTES),
        check_metadata(item.metadata, f"{pointer}/metadata"),
        check_blank(item.model_id, f"{pointer}/modelId"),
    ]
    errors = [error for error in checks if error]
    if errors:
        return None, errors
    return (
        CompletionDraft(
            index,
            pointer,
            item.task_id.uuid,
            item.model_id,
            prompt,
            item.response,
            item.messages,
            item.external_id,
            item.metadata or None,
            PRIORITIES[item.priority or priority],
            not_before,
            variables=item.variables,
            held_out=item.held_out,
        ),
        [],
    )


def repeated(drafts: Sequence[CompletionDraft]) -> dict[int, FieldError]:
    """Return an error, by index, for each item that repeats the external id of an earlier item of the same task."""
    seen: dict[tuple[UUID, str], int] = {}
    errors: dict[int, FieldError] = {}
    for draft in drafts:
        if draft.external_id is None:
            continue
        first = seen.setdefault((draft.task_id, draft.external_id), draft.index)
        if first != draft.index:
            errors[draft.index] = FieldError(
                f"{draft.pointer}/externalId", "duplicate_external_id", f"Item {first} of this batch has the same id."
            )
    return errors


def check_blank(value: str, pointer: str) -> FieldError | None:
    return None if value.strip() else FieldError(pointer, "invalid_format", "Must not be blank.")


def _not_before(text: str | None, pointer: str) -> datetime | None:
    """The time before which no grader is called; None if it is in the past.

    raises Invalid with a pointer
    """
    if text is None:
        return None
    try:
        moment = clock.parse_filter(text, end=False).astimezone(UTC)
    except (ValueError, OverflowError):
        raise Invalid.field(pointer, "invalid_date", "give a date or a date-time of ISO 8601.") from None
    now = clock.shared_now()
    if moment > now + MAX_AHEAD:
        raise Invalid.field(pointer, "out_of_range", f"must be at most {MAX_AHEAD.days} days in the future.")
    return moment if moment > now else None


def _source(item: NewCompletion) -> str:
    """The member that supplies the prompt."""
    return "variables" if item.variables is not None else "prompt"


def _prompt(item: NewCompletion, pointer: str, template: str | None) -> str:
    """The prompt: as sent, the last user message, or the template with its variables.

    raises Invalid with a pointer
    """
    sources = [name for name in ("prompt", "messages", "variables") if getattr(item, name) is not None]
    if len(sources) != 1:
        raise Invalid.field(pointer, "one_of", "give exactly one of prompt, messages and variables.")
    if item.prompt is not None:
        return item.prompt
    if item.messages is not None:
        return _last_user_text(item.messages, f"{pointer}/messages")
    assert item.variables is not None
    if template is None:
        return ""
    try:
        return templates.render(template, item.variables)
    except Invalid as exc:
        raise Invalid(
            exc.detail, errors=[FieldError(pointer + error.pointer, error.code, error.detail) for error in exc.errors]
        ) from exc


def _last_user_text(messages: list[dict[str, Any]], pointer: str) -> str:
    if not 1 <= len(messages) <= MAX_MESSAGES:
        raise Invalid.field(pointer, "invalid_length", f"give 1 to {MAX_MESSAGES} messages.")
    try:
        strictjson.check_free(messages, pointer, max_depth=settings.MAX_METADATA_DEPTH)
    except JSONRefused as exc:
        raise Invalid.field(exc.pointer, exc.code, exc.message) from exc
    if len(msgspec.json.encode(messages)) > settings.MAX_TEXT_BYTES:
        raise Invalid.field(pointer, "too_long", f"Longer than {settings.MAX_TEXT_BYTES} bytes of JSON.")
    last = None
    for at, message in enumerate(messages):
        text = _text_of(message, f"{pointer}/{at}")
        if message["role"] == "user":
            last = text
    if last is None:
        raise Invalid.field(pointer, "no_user_message", "at least one message must have the role user.")
    return last


def _text_of(message: dict[str, Any], pointer: str) -> str:
    """The text of one chat message: `content` is a string, null beside tool calls, or a list of parts."""
    role = message.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise Invalid.field(f"{pointer}/role", "invalid_choice", f"must be one of {', '.join(sorted(ROLES))}.")
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_part_texts(content, f"{pointer}/content"))
    if content is None and role != "user":
        return ""
    raise Invalid.field(f"{pointer}/content", "wrong_type", "must be a string, or a list of parts.")


def _part_texts(parts: list[Any], pointer: str) -> Iterator[str]:
    """The texts of content parts; parts of other kinds (images, sounds) have none."""
    for at, part in enumerate(parts):
        if not isinstance(part, dict):
            raise Invalid.field(f"{pointer}/{at}", "wrong_type", "must be an object.")
        text = part.get("text")
        if isinstance(text, str):
            yield text
        elif part.get("type") == "text":
            raise Invalid.field(f"{pointer}/{at}/text", "wrong_type", "must be a string.")
