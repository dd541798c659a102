"""The shape of a record, in Python's spelling and in JavaScript's; the same columns on every row."""

from collections.abc import Collection, Sequence
from typing import Any, get_type_hints
from uuid import UUID

import msgspec

from autotune.core import clock, ids
from autotune.core.connections import release
from exports.ranges import Head, Record
from graders.models import GraderVersion

MAX_KNOWN = 10_000


class MetadataOut(msgspec.Struct):
    task_id: str
    model_id: str
    completion_id: str
    grader_id: str | None
    grader_version: str | None
    grader_version_id: str | None
    confidence: float
    scored_at: str


CamelMetadataOut = msgspec.defstruct("CamelMetadataOut", [*get_type_hints(MetadataOut).items()], rename="camel")


class RecordOut(msgspec.Struct):
    prompt: str
    response: str
    score: float
    dimensions: dict[str, float | None] | None
    metadata: MetadataOut


class Shaper:
    """Makes records of rows. Keeps what repeats: the texts of ids, the labels of grader versions.

    names  of the dimensions that every record tells; None where none were asked for
    """

    def __init__(self, naming: str, names: Sequence[str] | None) -> None:
        self.metadata: Any = CamelMetadataOut if naming == "camel" else MetadataOut
        self.names = names
        self.labels: dict[UUID, str] = {}
        self.texts: dict[UUID, str] = {}

    def shape(self, records: Sequence[Record]) -> list[RecordOut]:
        """The records as they go out."""
        self._learn({record.head.grader_version for record in records} - {None})
        return [
            RecordOut(
                record.prompt, record.response, record.head.value, self._dimensions(record.head), self._of(record.head)
            )
            for record in records
        ]

    def _of(self, head: Head) -> MetadataOut:
        version = head.grader_version
        return self.metadata(
            self._text("task", head.task),
            head.model,
            ids.encode("comp", head.completion),
            self._text("grader", head.grader) if head.grader else None,
            self.labels.get(version) if version else None,
            self._text("graderv", version) if version else None,
            head.confidence,
            clock.wire(head.scored_at),
        )

    def _dimensions(self, head: Head) -> dict[str, float | None] | None:
        """Null where none were asked for, and for the reward of a panel, which has none."""
        if self.names is None or head.grader is None:
            return None
        given = {entry["name"]: float(entry["value"]) for entry in head.dimensions or ()}
        return {name: given.get(name) for name in self.names}

    def _text(self, kind: str, value: UUID) -> str:
        if value not in self.texts:
            if len(self.texts) > MAX_KNOWN:
                self.texts.clear()
            self.texts[value] = ids.encode(kind, value)
        return self.texts[value]

    def _learn(self, versions: Collection[Any]) -> None:
        if len(self.labels) > MAX_KNOWN:
            self.labels.clear()
        if unknown := set(versions) - self.labels.keys():
            self.labels.update(GraderVersion.objects.filter(pk__in=unknown).values_list("pk", "label"))
            release()
