"""The layout `verl`: each row is a prompt with answers, in the columns that veRL's data set reads.

A prompt with several answers is one row, since veRL samples its own answers. The rewards of the answers are in
`extra_info`, so that you can filter out prompts that are always or never solved.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec
from django.db.models import Avg, Count, F, Max, Min, Window
from django.db.models.functions import RowNumber

from autotune.core import ids
from autotune.core.connections import release
from exports.reading import left_out, prompts, ranges, readers
from exports.reading import rows as plain_rows
from exports.reading.conversations import Conversations
from exports.reading.labels import LabelCache, public_ids
from exports.reading.prompts import START, PromptPosition, PromptRange
from exports.reading.readers import WHOLE_SIZE
from exports.requests import ExportQuery
from exports.structure import Column, ColumnKind, Columns, ColumnValues, RowBatch
from scores.results.filters import ScoreFilter, Selection

COLUMNS: Columns = (
    Column("data_source", ColumnKind.TEXT, repeats=True),
    Column("prompt", ColumnKind.MESSAGES),
    Column("ability", ColumnKind.TEXT, repeats=True),
    Column(
        "reward_model", ColumnKind.STRUCT,
        members=(Column("style", ColumnKind.TEXT, repeats=True), Column("ground_truth", ColumnKind.TEXT)),
    ),
    Column(
        "extra_info", ColumnKind.STRUCT,
        members=(
            Column("split", ColumnKind.TEXT, repeats=True),
            Column("index", ColumnKind.INTEGER),
            Column("prompt_text", ColumnKind.TEXT),
            Column("sample_id", ColumnKind.TEXT),
            Column("task_id", ColumnKind.TEXT, repeats=True),
            Column("dataset_id", ColumnKind.TEXT, repeats=True),
            Column("answers", ColumnKind.INTEGER),
            Column("reward_mean", ColumnKind.FLOAT),
            Column("reward_min", ColumnKind.FLOAT),
            Column("reward_max", ColumnKind.FLOAT),
            Column("messages", ColumnKind.TEXT),
        ),
    ),
)  # fmt: skip
ABILITY: Final = b"general"  # used if the completion's metadata names none
# Members of the metadata: the first that exists and is not null is the ground truth.
TRUTHS: Final = ("ground_truth", "groundTruth", "answer", "reference", "label")


class PromptHead(NamedTuple):
    """A prompt without its text: its newest answer, and the rewards of all its answers."""

    completion: bytes
    model: bytes
    size: int
    digest: bytes
    answers: int
    mean: float
    least: float
    greatest: float
    form: bytes | None
    version: bytes


class VerlLayout:
    """Yields the prompts of the selection: task by task, and within a task in the order of prompt digests."""

    def __init__(self, query: ExportQuery, selection: Selection) -> None:
        self.columns = COLUMNS
        self.reader = readers.RewardReader(query, selection)
        self.forms = self.reader.forms
        self.conversations = Conversations()
        self.dataset = _dataset(query, selection)
        self.labels = LabelCache()

    def expected(self) -> int:
        total = 0
        for rewarded in prompts.of_each_task(self.reader):
            total += prompts.distinct(left_out.fitting(rewarded, self.forms))
            release()
        return total

    def batches(self, after: str = "") -> Iterator[RowBatch]:
        place = PromptPosition.read(after)
        number = place.number
        for range_ in prompts.ranges(self.reader, place):
            if undigested := range_.undigested():
                cursor = PromptPosition(range_.task, START, number=number).cursor()
                yield RowBatch([[] for _ in COLUMNS], 0, left_out=undigested.total(), reasons=undigested, cursor=cursor)
            heads = _heads(range_.rewarded)
            release()
            sizes = [head.size if self._fits(head) else 0 for head in heads]
            for _, group in prompts.groups(heads, sizes):
                batch = self._batch(range_, group, number)
                number += batch.rows
                batch.cursor = PromptPosition(range_.task, group[-1].digest, number=number).cursor()
                yield batch

    def _fits(self, head: PromptHead) -> bool:
        return _form(head) in self.forms

    def _batch(self, range_: PromptRange, group: Sequence[PromptHead], number: int) -> RowBatch:
        fitting = [head for head in group if self._fits(head)]
        texts = ranges.texts_of([head.completion for head in fitting], ("prompt", "messages", "metadata"))
        release()
        present = [head for head in fitting if head.completion in texts]
        system_prompts = self.conversations.system_prompts
        heads = ranges.with_readable_version(present, [head.version for head in present], system_prompts)
        versions = self.conversations.learn([head.version for head in heads])
        reasons = left_out.tally(_form(head) for head in group if not self._fits(head))
        if damaged := len(texts.unreadable) + len(present) - len(heads):
            reasons[left_out.UNREADABLE] += damaged
        rows = [texts[head.completion] for head in heads]
        completions = [head.completion for head in heads]
        return RowBatch(
            values=self._values(range_.task, heads, rows, number),
            rows=len(heads),
            scores=[head.mean for head in heads],
            tasks={ids.encode("task", range_.task)} if heads else set(),
            models={head.model.decode() for head in heads},
            versions=versions,
            left_out=len(group) - len(heads),
            reasons=reasons,
            first=UUID(bytes=min(completions)) if completions else None,
            last=UUID(bytes=max(completions)) if completions else None,
        )

    def _values(self, task: UUID, heads: Sequence[PromptHead], rows: Sequence[Any], number: int) -> list[ColumnValues]:
        size = len(heads)
        task_id = ids.encode("task", task).encode()
        prompt_texts = [row[0] for row in rows]
        abilities_and_truths = [_ability_and_truth(row[2]) for row in rows]
        conversations = ([head.version for head in heads], prompt_texts, [row[1] for row in rows])
        extra: list[ColumnValues] = [
            [b"train"] * size,
            list(range(number, number + size)),
            prompt_texts,
            public_ids("comp", [head.completion for head in heads]),
            [task_id] * size,
            [self.dataset] * size,
            *([getattr(head, name) for head in heads] for name in ("answers", "mean", "least", "greatest")),
            self.conversations.as_json(*conversations),
        ]
        return [
            [b"autotune/" + task_id] * size,
            self.conversations.as_turns(*conversations),
            [ability for ability, _ in abilities_and_truths],
            [[b"model"] * size, [truth for _, truth in abilities_and_truths]],
            extra,
        ]


def _heads(rewarded: Any) -> list[PromptHead]:
    """Return the newest completion of each prompt, by digest."""
    prompt = F("prompt_digest")

    def over(function: Any) -> Window:
        return Window(function, partition_by=prompt)

    newest = rewarded.annotate(
        nth=Window(RowNumber(), partition_by=prompt, order_by=F("id").desc()),
        size=WHOLE_SIZE,
        answers=over(Count("pk")),
        mean=over(Avg("reward__value")),
        least=over(Min("reward__value")),
        greatest=over(Max("reward__value")),
    )
    newest = newest.filter(nth=1).order_by("prompt_digest")
    columns = ("id", "model_id", "size", "prompt_digest", "answers", "mean", "least", "greatest", "form",
               "task_version_id")  # fmt: skip
    return [PromptHead(*row) for row in plain_rows.plain(newest.values_list(*columns))]


def _form(head: PromptHead) -> str | None:
    return None if head.form is None else head.form.decode()


def _ability_and_truth(metadata: bytes | None) -> tuple[bytes, bytes]:
    """Return (ability, ground truth) from a completion's metadata: text unchanged, anything else as JSON."""
    members = msgspec.json.decode(metadata) if metadata else {}
    ability = members.get("ability")
    truth = next((members[name] for name in TRUTHS if members.get(name) is not None), "")
    return (
        ability.encode() if isinstance(ability, str) and ability else ABILITY,
        truth.encode() if isinstance(truth, str) else msgspec.json.encode(truth),
    )


def _dataset(query: ExportQuery, selection: Selection) -> bytes:
    """Return the data set's name for `extra_info`: equal for equal selections of one organization."""
    filters = {name: getattr(query, name) for name in (*ScoreFilter.__struct_fields__, "min_reward")}
    filters_as_text = {name: str(value) for name, value in filters.items() if value is not None}
    owner = selection.principal.organization.pk
    text = msgspec.json.encode({"organization": str(owner), **filters_as_text}, order="sorted")
    return hashlib.sha256(text).hexdigest()[:16].encode()
