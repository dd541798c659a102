"""How an export reads: ranges of completions one after another, each in short queries and small in rows and octets.

No long snapshot (an old one slows every claim), no server-side cursor, and no connection held while a client is slow.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from autotune.core.connections import release
from tasks.models import Completion

RANGE_ROWS = 500
TEXT_BYTES = 4 * 1024 * 1024

_PROMPT = Completion._meta.get_field("prompt")
_RESPONSE = Completion._meta.get_field("response")


@dataclass(frozen=True, slots=True)
class Head:
    """A record without its text. `size` is that of the text as stored, in octets."""

    completion: UUID
    task: UUID
    model: str
    size: int
    value: float
    confidence: float
    scored_at: datetime
    grader: UUID | None
    grader_version: UUID | None
    dimensions: list[dict[str, Any]] | None


@dataclass(frozen=True, slots=True)
class Record:
    """One row of an export."""

    head: Head
    prompt: str
    response: str


class Reader(Protocol):
    """Reads the heads of a range."""

    def heads(self, after: UUID | None, limit: int) -> tuple[list[Head], UUID | None]:
        """The heads of the next `limit` completions behind `after`, and the last of them (None: there are no more)."""

    def scores(self) -> Any:
        """The scores whose dimensions the records tell, as a queryset over the whole selection."""


def heads(reader: Reader, limit: int) -> Iterator[list[Head]]:
    """All heads in the order of completion ids."""
    after: UUID | None = None
    while True:
        found, after = reader.heads(after, limit)
        release()
        if found:
            yield found
        if after is None:
            return


def records(reader: Reader) -> Iterator[tuple[list[Record], int]]:
    """All records with their texts, in groups, and how many of each group's were left out: their text was erased."""
    for found in heads(reader, RANGE_ROWS):
        for group in _grouped(found):
            texts = _texts({head.completion for head in group})
            release()
            kept = [Record(head, *texts[head.completion]) for head in group if head.completion in texts]
            yield kept, len(group) - len(kept)


def _grouped(found: Sequence[Head]) -> Iterator[list[Head]]:
    """The heads in groups whose texts fit into TEXT_BYTES, or of one completion."""
    group: list[Head] = []
    size = 0
    for head in found:
        if group and head.completion != group[-1].completion:
            if size + head.size > TEXT_BYTES:
                yield group
                group, size = [], 0
            size += head.size
        elif not group:
            size = head.size
        group.append(head)
    if group:
        yield group


def _texts(completions: set[UUID]) -> dict[UUID, tuple[str, str]]:
    """(prompt, response) of those completions that have both."""
    found = Completion.objects.filter(pk__in=completions).values_list("id", "prompt", "response")
    return {
        pk: (_PROMPT.decrypt(pk, prompt), _RESPONSE.decrypt(pk, response))
        for pk, prompt, response in found
        if prompt is not None and response is not None
    }
