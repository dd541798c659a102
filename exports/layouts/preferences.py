"""`preferences`: two answers to one prompt, the better one first, for training on pairs."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple
from uuid import UUID

from autotune.core.connections import release
from exports import conversations, pairs, prompts, ranges, readers
from exports.inputs import ExportQuery
from exports.labels import Labels, public_ids
from exports.pairs import Choice, Pair
from exports.prompts import Place, Range
from exports.ranges import Stored
from exports.shapes import Batch, Column, Kind, Schema, Values, named
from scores.filters import Selection
from scores.privacy import Sight

METADATA: Schema = (
    Column("task_id", Kind.TEXT, repeats=True),
    Column("chosen_completion_id", Kind.TEXT, repeats=True),
    Column("chosen_model_id", Kind.TEXT, repeats=True),
    Column("rejected_completion_id", Kind.TEXT, repeats=True),
    Column("rejected_model_id", Kind.TEXT, repeats=True),
)


COLUMNS: Final = ("prompt", "messages", "response")
# Made at once. A long range costs less, since rewards and texts lie in no order of prompts.
RANGE_PAIRS: Final = 75_000


class Read(NamedTuple):
    """Pairs as they were read, with the texts of their completions as stored."""

    task: UUID
    pairs: Sequence[Pair]
    models: dict[bytes, bytes]
    stored: Stored
    cursor: str


class Made(NamedTuple):
    """The pairs of a range but the first `done`, which were given before."""

    found: Range
    pairs: Sequence[Pair]
    done: int


class Known(NamedTuple):
    """A pair whose texts are at hand."""

    pair: Pair
    prompt: bytes
    messages: bytes | None
    chosen: bytes
    rejected: bytes


def schema(conversational: bool) -> Schema:
    """Texts, or conversations: `chosen` and `rejected` hold the new turns alone, the prompt is explicit."""
    kind = Kind.MESSAGES if conversational else Kind.TEXT
    return (
        *(Column(name, kind, repeats=not conversational) for name in ("prompt", "chosen", "rejected")),
        Column("chosen_score", Kind.FLOAT),
        Column("rejected_score", Kind.FLOAT),
        Column("metadata", Kind.STRUCT, members=METADATA),
    )


class Preferences:
    """The pairs of the selection: task by task, and within one in the order of prompt digests."""

    def __init__(self, query: ExportQuery, selection: Selection) -> None:
        self.schema = named(schema(query.conversational), query.naming)
        self.conversational = query.conversational
        self.reader = readers.RewardReader(query, selection, Sight.of(selection.principal))
        self.choice = Choice(
            query.strategy or pairs.BEST_WORST, query.min_score_delta or 0.0, query.cap_per_prompt, query.seed or 0
        )
        self.labels = Labels()

    def expected(self) -> int:
        found = 0
        for rewarded in prompts.of_each_task(self.reader):
            found += pairs.count(rewarded, self.choice)
            release()
        return found

    def batches(self, after: str = "") -> Iterator[Batch]:
        for read in ranges.ahead(self._read(Place.read(after))):
            yield self._batch(read)

    def _read(self, place: Place) -> Iterator[Read]:
        for made in ranges.ahead(self._made(place)):
            yield from self._of_range(made)

    def _made(self, place: Place) -> Iterator[Made]:
        """The pairs of each range. The first may have given some already, which are of its first prompt."""
        for found in prompts.ranges(self.reader, place, 2 * RANGE_PAIRS // self.choice.most):
            done = place.done if (found.task, found.after) == (place.task, place.prompt) else 0
            made = pairs.of(found.rewarded, self.choice)[done:]
            release()
            yield Made(found, made, done)

    def _of_range(self, range_: Made) -> Iterator[Read]:
        found, made, done = range_
        if not made:
            return
        wanted = list({pk for pair in made for pk in (pair.chosen, pair.rejected)})
        known = prompts.sizes(wanted, size=readers.WHOLE_SIZE)
        octets = [known.get(pair.chosen, (0, b""))[0] + known.get(pair.rejected, (0, b""))[0] for pair in made]
        models = {pk: model for pk, (_, model) in known.items()}
        for before, group in prompts.groups(made, octets):
            wanted = list(dict.fromkeys(pk for pair in group for pk in (pair.chosen, pair.rejected)))
            stored = ranges.stored_of(wanted, COLUMNS)
            release()
            place = _behind(found, made, before + len(group), done)
            yield Read(found.task, group, models, stored, place.cursor())

    def _batch(self, read: Read) -> Batch:
        texts, models = ranges.decrypted(read.stored, COLUMNS), read.models
        rows = [
            Known(pair, *texts[pair.chosen], texts[pair.rejected][2])  # type: ignore[arg-type,call-arg]
            for pair in read.pairs
            if pair.chosen in texts and pair.rejected in texts
        ]
        told = [pk for row in rows for pk in (row.pair.chosen, row.pair.rejected)]
        return Batch(
            columns=[*self._texts(rows), *self._facts(read.task, [row.pair for row in rows], models)],
            rows=len(rows),
            scores=[score for row in rows for score in (row.pair.chosen_score, row.pair.rejected_score)],
            tasks={text.decode() for text in self.labels.ids("task", [read.task.bytes]) if text} if rows else set(),
            models={models[pk].decode() for pk in told},
            left_out=len(read.pairs) - len(rows),
            first=UUID(bytes=min(told)) if told else None,
            last=UUID(bytes=max(told)) if told else None,
            cursor=read.cursor,
        )

    def _texts(self, rows: Sequence[Known]) -> list[Values]:
        asked, chosen, rejected = (
            [row.prompt for row in rows],
            [row.chosen for row in rows],
            [row.rejected for row in rows],
        )
        if not self.conversational:
            return [asked, chosen, rejected]
        told = conversations.prompts(asked, [row.messages for row in rows])
        return [told, conversations.answers(chosen), conversations.answers(rejected)]

    def _facts(self, task: UUID, made: Sequence[Pair], models: dict[bytes, bytes]) -> list[Values]:
        members: list[Values] = [self.labels.ids("task", [task.bytes]) * len(made)]
        for completions in ([pair.chosen for pair in made], [pair.rejected for pair in made]):
            members += [public_ids("comp", completions), [models[pk] for pk in completions]]
        return [[pair.chosen_score for pair in made], [pair.rejected_score for pair in made], members]


def _behind(found: Range, made: Sequence[Pair], end: int, done: int) -> Place:
    """Where reading goes on when `end` of the pairs that were made of a range are out."""
    if end == len(made):
        return Place(found.task, found.upto or made[-1].prompt)
    first = end
    while first and made[first - 1].prompt == made[end].prompt:
        first -= 1
    if first:
        return Place(found.task, made[first - 1].prompt, end - first)
    return Place(found.task, found.after, done + end)
