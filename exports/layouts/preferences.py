"""`preferences`: two answers to one prompt, the better one first, for training on pairs."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple
from uuid import UUID

from autotune.core.connections import release
from exports import conversations, left_out, pairs, prompts, ranges, readers
from exports.conversations import Conversations
from exports.inputs import ExportQuery
from exports.labels import Labels, public_ids
from exports.pairs import Choice, Pair
from exports.prompts import START, Place, Range, Size, Unfit
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


# Made at once. A long range costs less, since rewards and texts lie in no order of prompts.
RANGE_PAIRS: Final = 75_000


class Read(NamedTuple):
    """Pairs as they were read, with the texts of their completions as stored.

    sizes    of their completions
    reasons  how many completions are left out between the batch before and this one
    """

    task: UUID
    pairs: Sequence[Pair]
    sizes: dict[bytes, Size]
    stored: Stored
    reasons: Counter[str]
    cursor: str


class Made(NamedTuple):
    """The pairs of a range but the first `done`, which were given before; and what is left out there."""

    found: Range
    pairs: Sequence[Pair]
    done: int
    unfit: Sequence[Unfit]
    undigested: Counter[str]


class Known(NamedTuple):
    """A pair whose texts are at hand. `tools`: that both answers were offered."""

    pair: Pair
    prompt: bytes
    messages: bytes | None
    chosen: bytes
    rejected: bytes
    tools: bytes


def schema(query: ExportQuery) -> Schema:
    """Texts, or conversations: `chosen` and `rejected` hold the new turns alone, the prompt is explicit."""
    kind = conversations.kind_of(query)
    return (
        *(Column(name, kind, repeats=not query.conversational) for name in ("prompt", "chosen", "rejected")),
        Column("chosen_score", Kind.FLOAT),
        Column("rejected_score", Kind.FLOAT),
        *conversations.tools_column(query),
        Column("metadata", Kind.STRUCT, members=METADATA),
    )


class Preferences:
    """The pairs of the selection: task by task, and within one in the order of prompt digests."""

    def __init__(self, query: ExportQuery, selection: Selection) -> None:
        self.query = query
        self.schema = named(schema(query), query.naming)
        self.texts = ("prompt", "response", *(("messages",) if query.conversational else ()))
        self.texts += ("metadata",) if query.tools else ()
        self.conversations = Conversations()
        self.reader = readers.RewardReader(query, selection, Sight.of(selection.principal))
        self.choice = Choice(
            query.strategy or pairs.BEST_WORST, query.min_score_delta or 0.0, query.cap_per_prompt, query.seed or 0
        )
        self.labels = Labels()

    def expected(self) -> int:
        total = 0
        for rewarded in prompts.of_each_task(self.reader):
            total += pairs.count(left_out.fitting(rewarded, self.reader.forms), self.choice)
            release()
        return total

    def batches(self, after: str = "") -> Iterator[Batch]:
        for read in ranges.ahead(self._read(Place.read(after))):
            yield self._batch(read)

    def _read(self, place: Place) -> Iterator[Read]:
        for made in ranges.ahead(self._made(place)):
            yield from self._of_range(made)

    def _made(self, place: Place) -> Iterator[Made]:
        """The pairs of each range. The first may have given some already, which are of its first prompt."""
        forms = self.reader.forms
        for found in prompts.ranges(self.reader, place, 2 * RANGE_PAIRS // self.choice.most):
            done = place.done if (found.task, found.after) == (place.task, place.prompt) else 0
            made = pairs.of(left_out.fitting(found.rewarded, forms), self.choice)[done:]
            unfit, undigested = found.unfit(forms), found.undigested()
            release()
            yield Made(found, made, done, unfit, undigested)

    def _of_range(self, range_: Made) -> Iterator[Read]:
        found, made, done, unfit, undigested = range_
        if undigested:
            yield Read(found.task, [], {}, [], undigested, Place(found.task, START).cursor())
        sizes = prompts.sizes(_completions(made), size=readers.WHOLE_SIZE)
        nothing = Size()
        octets = [sizes.get(pair.chosen, nothing).octets + sizes.get(pair.rejected, nothing).octets for pair in made]
        passed = 0  # of what is left out
        for before, group in prompts.groups(made, octets):
            end = before + len(group)
            place = _behind(found, made, end, done, unfit)
            upto = len(unfit) if end == len(made) else bisect_right(unfit, place.prompt, key=_prompt)
            stored = ranges.stored_of(_completions(group), self.texts)
            release()
            yield Read(found.task, group, sizes, stored, _reasons(unfit[passed:upto]), place.cursor())
            passed = upto
        if unfit and not made:
            yield Read(found.task, [], {}, [], _reasons(unfit), _behind(found, made, 0, done, unfit).cursor())

    def _batch(self, read: Read) -> Batch:
        reasons = Counter(read.reasons)
        rows = self._known(read, reasons)
        told = _completions([row.pair for row in rows])
        versions = self.conversations.learn([read.sizes[row.pair.chosen].version for row in rows])
        return Batch(
            columns=[*self._texts(rows, read.sizes), *self._facts(read.task, rows, read.sizes)],
            rows=len(rows),
            scores=[score for row in rows for score in (row.pair.chosen_score, row.pair.rejected_score)],
            tasks={text.decode() for text in self.labels.ids("task", [read.task.bytes]) if text} if rows else set(),
            models={read.sizes[pk].model.decode() for pk in told},
            versions=versions,
            left_out=len(read.pairs) - len(rows) + read.reasons.total(),
            reasons=reasons,
            first=UUID(bytes=min(told)) if told else None,
            last=UUID(bytes=max(told)) if told else None,
            cursor=read.cursor,
        )

    def _known(self, read: Read, reasons: Counter[str]) -> list[Known]:
        """The pairs that are rows; `reasons` counts those whose answers were offered different tools."""
        by_name = {
            pk: dict(zip(self.texts, texts, strict=True))
            for pk, texts in ranges.decrypted(read.stored, self.texts).items()
        }
        rows = []
        for pair in read.pairs:
            if pair.chosen not in by_name or pair.rejected not in by_name:
                continue  # erased since the pairs were made
            better, worse = by_name[pair.chosen], by_name[pair.rejected]
            tools = conversations.tools_of([better.get("metadata"), worse.get("metadata")])
            if tools[0] != tools[1]:
                reasons[left_out.TOOLS_DIFFER] += 1
                continue
            messages = better.get("messages")
            rows.append(Known(pair, better["prompt"], messages, better["response"], worse["response"], tools[0]))
        return rows

    def _texts(self, rows: Sequence[Known], sizes: dict[bytes, Size]) -> list[Values]:
        asked, chosen, rejected = (
            [row.prompt for row in rows],
            [row.chosen for row in rows],
            [row.rejected for row in rows],
        )
        if not self.query.conversational:
            return [asked, chosen, rejected]
        versions, tools = [sizes[row.pair.chosen].version for row in rows], self.query.tools
        before = self.conversations.as_turns(versions, asked, [row.messages for row in rows], tools=tools)
        return [before, *(conversations.answers(texts, tools=tools) for texts in (chosen, rejected))]

    def _facts(self, task: UUID, rows: Sequence[Known], sizes: dict[bytes, Size]) -> list[Values]:
        made = [row.pair for row in rows]
        members: list[Values] = [self.labels.ids("task", [task.bytes]) * len(made)]
        for completions in ([pair.chosen for pair in made], [pair.rejected for pair in made]):
            members += [public_ids("comp", completions), [sizes[pk].model for pk in completions]]
        tools: list[Values] = [[row.tools for row in rows]] if self.query.tools else []
        return [[pair.chosen_score for pair in made], [pair.rejected_score for pair in made], *tools, members]


def _completions(made: Sequence[Pair]) -> list[bytes]:
    """The completions of pairs, each once."""
    return list(dict.fromkeys(pk for pair in made for pk in (pair.chosen, pair.rejected)))


def _prompt(unfit: Unfit) -> bytes:
    return unfit.prompt


def _reasons(unfit: Sequence[Unfit]) -> Counter[str]:
    reasons: Counter[str] = Counter()
    for one in unfit:
        reasons[one.reason] += one.completions
    return reasons


def _behind(found: Range, made: Sequence[Pair], end: int, done: int, unfit: Sequence[Unfit]) -> Place:
    """Where reading goes on when `end` of the pairs that were made of a range are out."""
    if end == len(made):
        last = max([*(pair.prompt for pair in made[-1:]), *(one.prompt for one in unfit[-1:])])
        return Place(found.task, found.upto or last)
    first = end
    while first and made[first - 1].prompt == made[end].prompt:
        first -= 1
    if first:
        return Place(found.task, made[first - 1].prompt, end - first)
    return Place(found.task, found.after or START, done + end)
