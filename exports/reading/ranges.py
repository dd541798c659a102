"""Read an export in consecutive ranges of completions, each with short queries of few rows and bytes.

It needs no long snapshot (which slows every claim), no server-side cursor, and no connection while a client is slow.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar
from uuid import UUID

from django.db import connection

from autotune.core.connections import release
from autotune.core.crypto import encryption
from autotune.core.crypto.encryption import MasterKeyMissing, Undecryptable
from autotune.core.crypto.fields import encrypted
from exports.reading import left_out, rows
from exports.reading.left_out import Forms
from tasks.models import Completion
from tasks.system_prompts import SystemPrompts

RANGE_ROWS = 2_000
TEXT_BYTES = 4 * 1024 * 1024

Item = TypeVar("Item")
Stored = list[tuple[Any, ...]]  # completion id, then the envelope of each column


class RecordHead(NamedTuple):
    """A record without its text: ids as 16 bytes, `scored_at` in milliseconds since 1970.

    size         of the stored text, in bytes
    version      the completion's task version
    form         of its conversation (tasks/states.py); None if not known yet
    external_id  UTF-8; None where it has none
    reused_from  the score that its own score copies (the first copied one of a panel); None if a grader judged it
    """

    completion: bytes
    task: bytes
    model: bytes
    size: int
    value: float
    confidence: float
    scored_at: int
    grader: bytes | None
    grader_version: bytes | None
    dimensions: list[dict[str, Any]] | None
    version: bytes
    form: bytes | None
    external_id: bytes | None
    reused_from: bytes | None


@dataclass(slots=True)
class RecordGroup:
    """Records with their text, in UTF-8.

    texts     the values of each requested column, in the order of `heads`
    left_out  number of heads dropped: their text was erased or cannot be decrypted, or their conversation does not fit
    cursor    the last completion that was read
    reasons   number of heads that cannot be decrypted or do not fit, by reason
    """

    heads: list[RecordHead]
    texts: list[list[Any]]
    left_out: int
    cursor: str
    reasons: Counter[str] = field(default_factory=Counter)


class DecryptedText(dict[bytes, tuple[bytes | None, ...]]):
    """Decrypted text by completion id. `unreadable`: completions left out because a column is damaged."""

    unreadable: frozenset[bytes] = frozenset()

    def has_damaged(self, *completions: bytes) -> bool:
        """Return whether one of these completions was left out because a column is damaged."""
        return not self.unreadable.isdisjoint(completions)


class RangeReader(Protocol):
    """Reads the heads of a range."""

    @property
    def forms(self) -> Forms:
        """Return the forms of conversations that the rows can carry."""

    def heads(self, after: UUID | None, limit: int) -> tuple[list[RecordHead], UUID | None]:
        """Return the heads of the next `limit` completions after `after`, and the last completion (None: no more)."""

    def count(self) -> int:
        """Count the heads whose conversations have one of `forms`."""

    def scores(self) -> Any:
        """Return the scores whose dimensions the records have, as a queryset over the whole selection."""


def groups(
    reader: RangeReader,
    after: str = "",
    *,
    columns: Sequence[str] = ("prompt", "response"),
    system_prompts: SystemPrompts | None = None,
) -> Iterator[RecordGroup]:
    """Yield all records in the order of completion ids, or those after a group's `cursor`.

    columns         encrypted ones of the completion; a record without prompt or response is left out
    system_prompts  a cache that the caller shares
    """
    forms, system_prompts = reader.forms, system_prompts or SystemPrompts()
    for heads, stored in ahead(_read(reader, UUID(after) if after else None, columns)):
        texts = decrypted(stored, columns)
        fitting = _fitting(heads, forms)
        complete_heads = with_readable_version(fitting, [head.version for head in fitting], system_prompts)
        readable_heads = (
            [head for head in complete_heads if head.completion in texts]
            if len(texts) < len(fitting)
            else complete_heads
        )
        values = [list(column) for column in zip(*[texts[head.completion] for head in readable_heads], strict=True)]
        reasons = Counter[str]()
        if len(fitting) < len(heads):
            reasons = left_out.tally(_form(head) for head in heads if not _fits(head, forms))
        if texts.unreadable or len(complete_heads) < len(fitting):
            damaged = sum(head.completion in texts.unreadable for head in complete_heads)
            reasons[left_out.UNREADABLE] += len(fitting) - len(complete_heads) + damaged
        yield RecordGroup(
            readable_heads,
            values or [[] for _ in columns],
            len(heads) - len(readable_heads),
            heads[-1].completion.hex(),
            reasons,
        )


def _read(reader: RangeReader, after: UUID | None, columns: Sequence[str]) -> Iterator[tuple[list[RecordHead], Stored]]:
    """Yield the heads of each group, and the stored text of their completions."""
    forms = reader.forms
    while True:
        range_heads, after = reader.heads(after, RANGE_ROWS)
        for heads in _grouped(range_heads, forms) if range_heads else ():
            fitting = dict.fromkeys([head.completion for head in _fitting(heads, forms)])
            yield heads, stored_of([*fitting], columns) if fitting else []
        if after is None:
            return


def _fitting(heads: list[RecordHead], forms: Forms) -> list[RecordHead]:
    return heads if forms is left_out.ALL else [head for head in heads if _fits(head, forms)]


def with_readable_version(items: list[Item], versions: Sequence[bytes], system_prompts: SystemPrompts) -> list[Item]:
    """Drop items whose task version is unreadable: without its system prompt a conversation is incomplete.

    versions  the task version of each item (16 bytes)
    raises    MasterKeyMissing
    """
    damaged = {version.bytes for version in system_prompts.unreadable({UUID(bytes=pk) for pk in set(versions)})}
    if not damaged:
        return items
    return [item for item, version in zip(items, versions, strict=True) if version not in damaged]


def _fits(head: RecordHead, forms: Forms) -> bool:
    return forms is left_out.ALL or _form(head) in forms


def _form(head: RecordHead) -> str | None:
    return None if head.form is None else head.form.decode()


def ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the items, and read the next one while the caller decrypts and encodes the current one.

    Within a transaction it reads on demand, since another thread would not see what the transaction wrote.
    """
    if connection.in_atomic_block:
        yield from items
        return
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="export") as aside:
        pending = aside.submit(_next, items)
        while (item := pending.result()) is not None:
            pending = aside.submit(_next, items)
            yield item


def _next(items: Iterator[Item]) -> Item | None:
    try:
        return next(items, None)
    finally:
        release()


def _grouped(heads: Sequence[RecordHead], forms: Forms) -> Iterator[list[RecordHead]]:
    """Split heads into groups whose text fits into TEXT_BYTES, or of one completion. Unfit text is not read."""
    start = size = 0
    for at, head in enumerate(heads):
        if at and head.completion == heads[at - 1].completion:
            continue
        text_bytes = head.size if _fits(head, forms) else 0
        if at > start and size + text_bytes > TEXT_BYTES:
            yield list(heads[start:at])
            start, size = at, 0
        size += text_bytes
    yield list(heads[start:])


def texts_of(completions: Sequence[bytes], columns: Sequence[str]) -> DecryptedText:
    """Return the columns of the completions that still have prompt and response."""
    return decrypted(stored_of(completions, columns), columns)


def stored_of(completions: Sequence[bytes], columns: Sequence[str]) -> Stored:
    """Return the encrypted columns of the completions that still have prompt and response."""
    completion_rows = rows.among(Completion.objects.all(), "id", completions)
    return rows.plain(completion_rows.filter(prompt__isnull=False, response__isnull=False).values_list("id", *columns))


def decrypted(stored: Stored, columns: Sequence[str]) -> DecryptedText:
    """Decrypt stored columns to UTF-8 text, by completion. Completions with a damaged column are in `unreadable`.

    raises  MasterKeyMissing: the export must then stop, since it would lack all text under that key
    """
    if not stored:
        return DecryptedText()
    pks, *envelopes = zip(*stored, strict=True)
    try:
        texts = [
            encryption.decrypt_all(encrypted(Completion, name).place, pks, column)
            for name, column in zip(columns, envelopes, strict=True)
        ]
    except MasterKeyMissing:
        raise
    except Undecryptable:
        return _one_by_one(stored, columns)
    return DecryptedText(zip(pks, zip(*texts, strict=True), strict=True))


def _one_by_one(stored: Stored, columns: Sequence[str]) -> DecryptedText:
    """Decrypt row by row, to find the damaged text. This is slower."""
    texts = DecryptedText()
    places = [encrypted(Completion, name).place for name in columns]
    doubtful: list[bytes] = []
    for pk, *envelopes in stored:
        try:
            row = [
                encryption.decrypt_all(place, [pk], [value])[0] for place, value in zip(places, envelopes, strict=True)
            ]
        except MasterKeyMissing:
            raise
        except Undecryptable:
            doubtful.append(pk)
        else:
            texts[pk] = tuple(row)
    if doubtful:
        _read_again(doubtful, columns, texts)
    return texts


def _read_again(completions: Sequence[bytes], columns: Sequence[str], texts: DecryptedText) -> None:
    """Read again: a re-encryption may have dropped their data key in between. Text still unreadable is damaged."""
    fields = [encrypted(Completion, name) for name in columns]
    for pk, *envelopes in stored_of(completions, columns):
        try:
            row = [field.decrypt_bytes(UUID(bytes=pk), value) for field, value in zip(fields, envelopes, strict=True)]
        except MasterKeyMissing:
            raise
        except Undecryptable:
            texts.unreadable |= {pk}
        else:
            texts[pk] = tuple(row)
    release()
