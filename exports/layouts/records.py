"""The layout `records`: each row is a completion and its score, for reward modelling."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from uuid import UUID

from exports.reading import conversations, dimensions, ranges, readers
from exports.reading.conversations import Conversations
from exports.reading.labels import LabelCache, public_ids
from exports.reading.ranges import RecordGroup, RecordHead
from exports.requests import ExportQuery
from exports.structure import Column, ColumnKind, Columns, ColumnValues, RowBatch, in_camel_case
from scores.results.filters import Selection

METADATA_COLUMNS: Columns = (
    Column("task_id", ColumnKind.TEXT, repeats=True),
    Column("model_id", ColumnKind.TEXT, repeats=True),
    Column("completion_id", ColumnKind.TEXT),
    Column("grader_id", ColumnKind.TEXT, nullable=True, repeats=True),
    Column("grader_version", ColumnKind.TEXT, nullable=True, repeats=True),
    Column("grader_version_id", ColumnKind.TEXT, nullable=True, repeats=True),
    Column("confidence", ColumnKind.FLOAT),
    Column("scored_at", ColumnKind.MOMENT),
    Column("external_id", ColumnKind.TEXT),  # these two are empty, never null: a column of nulls would get another type
    Column("reused_from", ColumnKind.TEXT, repeats=True),
)
EMPTY: Final = b"{}"  # the metadata or variables of a completion without any


def columns(query: ExportQuery) -> Columns:
    """The columns of a record. Its conversation is JSON text, or a list of messages."""
    included = {"metadata": "completion_metadata", "variables": "variables"}
    return (
        Column("prompt", ColumnKind.TEXT, repeats=True),
        Column("messages", conversations.kind_of(query), repeats=not query.conversational),
        Column("response", ColumnKind.TEXT),
        Column("score", ColumnKind.FLOAT),
        Column("dimensions", ColumnKind.DIMENSIONS, nullable=True),
        *conversations.tools_column(query),
        *[Column(included[name], ColumnKind.TEXT, repeats=True) for name in query.included],
        Column("metadata", ColumnKind.STRUCT, members=METADATA_COLUMNS),
    )


class RecordsLayout:
    """Yields one row for each record of the reader that `per` selects.

    names   of the dimensions, if an earlier part has fixed them; None: those that the selection has now
    raises  Invalid if there are too many dimensions
    """

    def __init__(self, query: ExportQuery, selection: Selection, names: Sequence[str] | None = None) -> None:
        self.query = query
        self.reader = readers.reader(query, selection)
        self.conversations = Conversations()
        self.names = names
        if self.names is None and query.includes_dimensions:
            self.names = dimensions.names(self.reader)
        self.flat = query.dimension_columns
        # `datasets` cannot load a file with a map: Parquet has the column only if the query asks for it.
        self.bare = self.flat or (query.format == "parquet" and not query.dimensions)
        own_columns = tuple(column for column in columns(query) if not (self.bare and column.name == "dimensions"))
        *before, last = own_columns if query.naming == "snake" else in_camel_case(own_columns)
        flat = [Column(f"dimension_{name}", ColumnKind.FLOAT, nullable=True) for name in self.names or () if self.flat]
        self.columns = (*before, *flat, last)
        self.labels = LabelCache()

    def expected(self) -> int:
        return self.reader.count()

    def batches(self, after: str = "") -> Iterator[RowBatch]:
        tools, included = self.query.tools, self.query.included
        needed = ["prompt", "messages", "response", *included, *(["metadata"] if tools else [])]
        names = [*dict.fromkeys(needed)]
        system_prompts = self.conversations.system_prompts
        for group in ranges.groups(self.reader, after, columns=names, system_prompts=system_prompts):
            texts = dict(zip(names, group.texts, strict=True))
            versions = self.conversations.learn([head.version for head in group.heads])
            scores = [head.value for head in group.heads]
            values: list[ColumnValues] = [
                texts["prompt"],
                self._messages(group, texts),
                texts["response"],
                scores,
                *self._dimension_columns(group),
                *([conversations.tools_of(texts["metadata"])] if tools else []),
                *([text or EMPTY for text in texts[name]] for name in included),
                metadata(group.heads, self.labels),
            ]
            yield batch(group, values, scores, self.labels, versions)

    def _messages(self, group: RecordGroup, texts: Mapping[str, ColumnValues]) -> ColumnValues:
        versions = [head.version for head in group.heads]
        if self.query.conversational:
            return self.conversations.as_turns(versions, texts["prompt"], texts["messages"], tools=self.query.tools)
        return self.conversations.as_json(versions, texts["prompt"], texts["messages"])

    def _dimension_columns(self, group: RecordGroup) -> list[ColumnValues]:
        """Return the column `dimensions`, or one column for each dimension, or none."""
        if self.bare and not self.flat:
            return []
        rows = [self._dimensions(head) for head in group.heads]
        if not self.flat:
            return [rows]
        return [[row and row[name] for row in rows] for name in self.names or ()]

    def _dimensions(self, head: RecordHead) -> dict[str, float | None] | None:
        """Return each row's dimensions, those of a panel combined (readers.merged); None if the query excludes them."""
        if self.names is None:
            return None
        values = {entry["name"]: float(entry["value"]) for entry in head.dimensions or ()}
        return {name: values.get(name) for name in self.names}


def batch(
    group: RecordGroup, values: Sequence[ColumnValues], scores: Sequence[float], labels: LabelCache, versions: set[str]
) -> RowBatch:
    """Build the batch of a group of records, with one row for each.

    versions  public ids of the task versions that have a system prompt
    """
    heads = group.heads
    return RowBatch(
        values=list(values),
        rows=len(heads),
        scores=scores,
        tasks={text.decode() for text in labels.ids("task", [*{head.task for head in heads}]) if text},
        models={model.decode() for model in {head.model for head in heads}},
        versions=versions,
        left_out=group.left_out,
        reasons=group.reasons,
        first=UUID(bytes=heads[0].completion) if heads else None,
        last=UUID(bytes=heads[-1].completion) if heads else None,
        cursor=group.cursor,
    )


def metadata(heads: Sequence[RecordHead], labels: LabelCache) -> list[ColumnValues]:
    """Return the values of the members of METADATA_COLUMNS."""
    versions = [head.grader_version for head in heads]
    return [
        labels.ids("task", [head.task for head in heads]),
        [head.model for head in heads],
        public_ids("comp", [head.completion for head in heads]),
        labels.ids("grader", [head.grader for head in heads]),
        labels.versions(versions),
        labels.ids("graderv", versions),
        [head.confidence for head in heads],
        [head.scored_at for head in heads],
        [head.external_id or b"" for head in heads],
        [text or b"" for text in labels.ids("score", [head.reused_from for head in heads])],
    ]
