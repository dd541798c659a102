"""The layout `preferences`: each row is two answers to one prompt, the better one first, for training on pairs."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple
from uuid import UUID

from autotune.core.connections import release
from exports.pairs import selection as pairs
from exports.pairs.selection import Pair, PairChoice
from exports.reading import conversations, left_out, prompts, ranges, readers
from exports.reading.conversations import Conversations
from exports.reading.labels import LabelCache, public_ids
from exports.reading.prompts import START, PromptPosition, PromptRange, TextSize, UnfitCompletions
from exports.reading.ranges import Stored
from exports.requests import ExportQuery
from exports.structure import Column, ColumnKind, Columns, ColumnValues, RowBatch, in_camel_case
from scores.results.filters import Selection

METADATA_COLUMNS: Columns = (
    Column("task_id", ColumnKind.TEXT, repeats=True),
    Column("chosen_completion_id", ColumnKind.TEXT, repeats=True),
    Column("chosen_model_id", ColumnKind.TEXT, repeats=True),
    Column("rejected_completion_id", ColumnKind.TEXT, repeats=True),
    Column("rejected_model_id", ColumnKind.TEXT, repeats=True),
)


# Pairs made at once. Long ranges cost less, since rewards and text are not stored in the order of prompts.
RANGE_PAIRS: Final = 75_000


class PairGroup(NamedTuple):
    """Pairs with the stored text of their completions.

    sizes    of their completions
    reasons  counts of the completions left out between the previous batch and this one
    """

    task: UUID
    pairs: Sequence[Pair]
    sizes: dict[bytes, TextSize]
    stored: Stored
    reasons: Counter[str]
    cursor: str


class RangePairs(NamedTuple):
    """Return the pairs of a range, except the first `done` (returned earlier), and what the range leaves out."""

    range_: PromptRange
    pairs: Sequence[Pair]
    done: int
    unfit: Sequence[UnfitCompletions]
    undigested: Counter[str]


class ReadablePair(NamedTuple):
    """A pair with its decrypted text. `tools`: the tools offered to both answers."""

    pair: Pair
    prompt: bytes
    messages: bytes | None
    chosen: bytes
    rejected: bytes
    tools: bytes


def columns(query: ExportQuery) -> Columns:
    """Columns of text or of conversations: `chosen` and `rejected` hold only the new turns, the prompt is explicit."""
    kind = conversations.kind_of(query)
    return (
        *(Column(name, kind, repeats=not query.conversational) for name in ("prompt", "chosen", "rejected")),
        Column("chosen_score", ColumnKind.FLOAT),
        Column("rejected_score", ColumnKind.FLOAT),
        *conversations.tools_column(query),
        Column("metadata", ColumnKind.STRUCT, members=METADATA_COLUMNS),
    )


class PreferencesLayout:
    """Yields the pairs of the selection: task by task, and within a task in the order of prompt digests."""

    def __init__(self, query: ExportQuery, selection: Selection) -> None:
        self.query = query
        self.columns = columns(query) if query.naming == "snake" else in_camel_case(columns(query))
        self.texts = ("prompt", "response", *(("messages",) if query.conversational else ()))
        self.texts += ("metadata",) if query.tools else ()
        self.conversations = Conversations()
        self.reader = readers.RewardReader(query, selection)
        self.choice = PairChoice(
            query.strategy or pairs.BEST_WORST, query.min_score_delta or 0.0, query.cap_per_prompt, query.seed or 0
        )
        self.labels = LabelCache()

    def expected(self) -> int:
        total = 0
        for rewarded in prompts.of_each_task(self.reader):
            total += pairs.count(left_out.fitting(rewarded, self.reader.forms), self.choice)
            release()
        return total

    def batches(self, after: str = "") -> Iterator[RowBatch]:
        for group in ranges.ahead(self._read(PromptPosition.read(after))):
            yield self._batch(group)

    def _read(self, place: PromptPosition) -> Iterator[PairGroup]:
        for range_pairs in ranges.ahead(self._range_pairs(place)):
            yield from self._groups_of(range_pairs)

    def _range_pairs(self, place: PromptPosition) -> Iterator[RangePairs]:
        """Yield the pairs of each range. The first range may start in the middle of a prompt's pairs."""
        forms = self.reader.forms
        for range_ in prompts.ranges(self.reader, place, 2 * RANGE_PAIRS // self.choice.max_pairs):
            done = place.done if (range_.task, range_.after) == (place.task, place.prompt) else 0
            range_pairs = pairs.of(left_out.fitting(range_.rewarded, forms), self.choice)[done:]
            unfit, undigested = range_.unfit(forms), range_.undigested()
            release()
            yield RangePairs(range_, range_pairs, done, unfit, undigested)

    def _groups_of(self, range_pairs: RangePairs) -> Iterator[PairGroup]:
        range_, pairs_, done, unfit, undigested = range_pairs
        if undigested:
            yield PairGroup(range_.task, [], {}, [], undigested, PromptPosition(range_.task, START).cursor())
        sizes = prompts.sizes(_completions(pairs_), size=readers.WHOLE_SIZE)
        nothing = TextSize()
        sizes_bytes = [
            sizes.get(pair.chosen, nothing).text_bytes + sizes.get(pair.rejected, nothing).text_bytes for pair in pairs_
        ]
        unfit_start = 0  # counts what is left out
        for before, group in prompts.groups(pairs_, sizes_bytes):
            end = before + len(group)
            place = _behind(range_, pairs_, end, done, unfit)
            unfit_end = len(unfit) if end == len(pairs_) else bisect_right(unfit, place.prompt, key=_prompt)
            stored = ranges.stored_of(_completions(group), self.texts)
            release()
            yield PairGroup(range_.task, group, sizes, stored, _reasons(unfit[unfit_start:unfit_end]), place.cursor())
            unfit_start = unfit_end
        if unfit and not pairs_:
            yield PairGroup(range_.task, [], {}, [], _reasons(unfit), _behind(range_, pairs_, 0, done, unfit).cursor())

    def _batch(self, group: PairGroup) -> RowBatch:
        reasons = Counter(group.reasons)
        rows = self._readable(group, reasons)
        completions = _completions([row.pair for row in rows])
        versions = self.conversations.learn([group.sizes[row.pair.chosen].version for row in rows])
        return RowBatch(
            values=[*self._texts(rows, group.sizes), *self._facts(group.task, rows, group.sizes)],
            rows=len(rows),
            scores=[score for row in rows for score in (row.pair.chosen_score, row.pair.rejected_score)],
            tasks={text.decode() for text in self.labels.ids("task", [group.task.bytes]) if text} if rows else set(),
            models={group.sizes[pk].model.decode() for pk in completions},
            versions=versions,
            left_out=len(group.pairs) - len(rows) + group.reasons.total(),
            reasons=reasons,
            first=UUID(bytes=min(completions)) if completions else None,
            last=UUID(bytes=max(completions)) if completions else None,
            cursor=group.cursor,
        )

    def _readable(self, group: PairGroup, reasons: Counter[str]) -> list[ReadablePair]:
        """Return the pairs that become rows. Adds to `reasons` the pairs that do not, except erased ones."""
        texts_by_completion = ranges.decrypted(group.stored, self.texts)
        by_name = {pk: dict(zip(self.texts, texts, strict=True)) for pk, texts in texts_by_completion.items()}
        rows = []
        for pair in group.pairs:
            if pair.chosen not in by_name or pair.rejected not in by_name:
                if texts_by_completion.has_damaged(pair.chosen, pair.rejected):
                    reasons[left_out.UNREADABLE] += 1
                continue  # or erased after the pairs were made
            better, worse = by_name[pair.chosen], by_name[pair.rejected]
            tools = conversations.tools_of([better.get("metadata"), worse.get("metadata")])
            if tools[0] != tools[1]:
                reasons[left_out.TOOLS_DIFFER] += 1
                continue
            messages = better.get("messages")
            rows.append(ReadablePair(pair, better["prompt"], messages, better["response"], worse["response"], tools[0]))
        versions = [group.sizes[row.pair.chosen].version for row in rows]
        complete_rows = ranges.with_readable_version(rows, versions, self.conversations.system_prompts)
        if len(complete_rows) < len(rows):
            reasons[left_out.UNREADABLE] += len(rows) - len(complete_rows)
        return complete_rows

    def _texts(self, rows: Sequence[ReadablePair], sizes: dict[bytes, TextSize]) -> list[ColumnValues]:
        prompt_texts, chosen, rejected = (
            [row.prompt for row in rows],
            [row.chosen for row in rows],
            [row.rejected for row in rows],
        )
        if not self.query.conversational:
            return [prompt_texts, chosen, rejected]
        versions, tools = [sizes[row.pair.chosen].version for row in rows], self.query.tools
        before = self.conversations.as_turns(versions, prompt_texts, [row.messages for row in rows], tools=tools)
        return [before, *(conversations.answers(texts, tools=tools) for texts in (chosen, rejected))]

    def _facts(self, task: UUID, rows: Sequence[ReadablePair], sizes: dict[bytes, TextSize]) -> list[ColumnValues]:
        row_pairs = [row.pair for row in rows]
        members: list[ColumnValues] = [self.labels.ids("task", [task.bytes]) * len(row_pairs)]
        for completions in ([pair.chosen for pair in row_pairs], [pair.rejected for pair in row_pairs]):
            members += [public_ids("comp", completions), [sizes[pk].model for pk in completions]]
        tools: list[ColumnValues] = [[row.tools for row in rows]] if self.query.tools else []
        return [[pair.chosen_score for pair in row_pairs], [pair.rejected_score for pair in row_pairs], *tools, members]


def _completions(some_pairs: Sequence[Pair]) -> list[bytes]:
    """Return the completions of pairs, each once."""
    return list(dict.fromkeys(pk for pair in some_pairs for pk in (pair.chosen, pair.rejected)))


def _prompt(unfit: UnfitCompletions) -> bytes:
    return unfit.prompt


def _reasons(unfit: Sequence[UnfitCompletions]) -> Counter[str]:
    reasons: Counter[str] = Counter()
    for entry in unfit:
        reasons[entry.reason] += entry.completions
    return reasons


def _behind(
    range_: PromptRange, range_pairs: Sequence[Pair], end: int, done: int, unfit: Sequence[UnfitCompletions]
) -> PromptPosition:
    """Return the place where reading continues after the first `end` pairs of a range."""
    if end == len(range_pairs):
        last = max([*(pair.prompt for pair in range_pairs[-1:]), *(entry.prompt for entry in unfit[-1:])])
        return PromptPosition(range_.task, range_.upto or last)
    first = end
    while first and range_pairs[first - 1].prompt == range_pairs[end].prompt:
        first -= 1
    if first:
        return PromptPosition(range_.task, range_pairs[first - 1].prompt, end - first)
    return PromptPosition(range_.task, range_.after or START, done + end)
