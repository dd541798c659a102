"""The layout `kto`: each row is an answer and whether it is good, for training that needs no pairs."""

from collections.abc import Iterator
from typing import Final

from exports.layouts.records import METADATA_COLUMNS, batch, metadata
from exports.reading import conversations, ranges, readers
from exports.reading.conversations import Conversations
from exports.reading.labels import LabelCache
from exports.reading.ranges import RecordGroup
from exports.requests import ExportQuery
from exports.structure import Column, ColumnKind, Columns, ColumnValues, RowBatch, in_camel_case
from scores.results.filters import Selection

THRESHOLD = 0.5
CONVERSATION_FIELDS: Final = ("messages", "metadata")  # hold the conversation, and the tools offered in it


def columns(query: ExportQuery) -> Columns:
    """Columns of plain text, or of conversations, where the answer holds only the new turns."""
    kind = conversations.kind_of(query)
    return (
        Column("prompt", kind, repeats=not query.conversational),
        Column("completion", kind),
        Column("label", ColumnKind.BOOLEAN),
        Column("score", ColumnKind.FLOAT),
        *conversations.tools_column(query),
        Column("metadata", ColumnKind.STRUCT, members=METADATA_COLUMNS),
    )


class KtoLayout:
    """Yields one row for each record. `label` is true for a reward at or above the threshold."""

    def __init__(self, query: ExportQuery, selection: Selection) -> None:
        self.query = query
        self.columns = columns(query) if query.naming == "snake" else in_camel_case(columns(query))
        self.reader = readers.reader(query, selection)
        self.threshold = THRESHOLD if query.threshold is None else query.threshold
        self.conversations = Conversations()
        self.labels = LabelCache()

    def expected(self) -> int:
        return self.reader.count()

    def batches(self, after: str = "") -> Iterator[RowBatch]:
        tools = self.query.tools
        needed: tuple[str, ...] = ("prompt", "response")
        if self.query.conversational:
            needed += CONVERSATION_FIELDS[: 1 + tools]
        for group in ranges.groups(
            self.reader, after, columns=needed, system_prompts=self.conversations.system_prompts
        ):
            versions = self.conversations.learn([head.version for head in group.heads])
            scores = [head.value for head in group.heads]
            labels = [score >= self.threshold for score in scores]
            values = [
                *self._texts(group),
                labels,
                scores,
                *([conversations.tools_of(group.texts[3])] if tools else []),
                metadata(group.heads, self.labels),
            ]
            yield batch(group, values, scores, self.labels, versions)

    def _texts(self, group: RecordGroup) -> tuple[ColumnValues, ColumnValues]:
        prompts, answers, *more = group.texts
        if not self.query.conversational:
            return prompts, answers
        tools, versions = self.query.tools, [head.version for head in group.heads]
        return (
            self.conversations.as_turns(versions, prompts, more[0], tools=tools),
            conversations.answers(answers, tools=tools),
        )
