"""`kto`: an answer and whether it is wanted, for training that needs no pairs."""

from collections.abc import Iterator, Sequence

from exports import conversations, ranges, readers
from exports.inputs import ExportQuery
from exports.labels import Labels
from exports.layouts.records import METADATA, batch, metadata
from exports.shapes import Batch, Column, Kind, Schema, Values, named
from scores.filters import Selection

THRESHOLD = 0.5


def schema(conversational: bool) -> Schema:
    """Texts, or conversations that hold the new turns alone."""
    kind = Kind.MESSAGES if conversational else Kind.TEXT
    return (
        Column("prompt", kind, repeats=not conversational),
        Column("completion", kind),
        Column("label", Kind.BOOLEAN),
        Column("score", Kind.FLOAT),
        Column("metadata", Kind.STRUCT, members=METADATA),
    )


class Kto:
    """One row for each record. `label` is true from the threshold on."""

    def __init__(self, query: ExportQuery, selection: Selection) -> None:
        self.schema = named(schema(query.conversational), query.naming)
        self.reader = readers.reader(query, selection)
        self.threshold = THRESHOLD if query.threshold is None else query.threshold
        self.conversational = query.conversational
        self.labels = Labels()

    def expected(self) -> int:
        return self.reader.count()

    def batches(self, after: str = "") -> Iterator[Batch]:
        texts = ("prompt", "response", "messages") if self.conversational else ("prompt", "response")
        for group in ranges.groups(self.reader, after, columns=texts):
            scores = [head.value for head in group.heads]
            wanted = [score >= self.threshold for score in scores]
            columns = [*self._texts(group.texts), wanted, scores, metadata(group.heads, self.labels)]
            yield batch(group, columns, scores, self.labels)

    def _texts(self, texts: Sequence[Values]) -> tuple[Values, Values]:
        if not self.conversational:
            prompts, answers = texts
            return prompts, answers
        prompts, answers, messages = texts
        return conversations.prompts(prompts, messages), conversations.answers(answers)
