"""Read an export whose rows are grouped by prompt: task by task, in ranges of prompt digests.

Each range takes short queries of few rows: no long snapshot, and no connection held while a client is slow.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self
from uuid import UUID

from django.db.models import Count

from autotune.access import policy
from autotune.core.connections import release
from exports.reading import left_out, rows
from exports.reading.left_out import Forms
from exports.reading.ranges import TEXT_BYTES
from exports.reading.readers import SIZE, RewardReader
from scores.results.filters import Selection
from tasks.models import Completion, Task

LAYOUTS: Final = ("preferences", "verl")  # layouts that read by prompt
RANGE_ROWS: Final = 2_000  # completions at least; a prompt with more is a range by itself
START: Final = b"\0"  # before all digests, and after the completions that have none


@dataclass(frozen=True, slots=True)
class PromptPosition:
    """The position of a reader.

    task     the task whose prompts are being read; None: before the first
    prompt   the digest of the last prompt that was read completely
    done     rows after that prompt that were returned already
    number   rows returned in all
    """

    task: UUID | None = None
    prompt: bytes = b""
    done: int = 0
    number: int = 0

    @classmethod
    def read(cls, cursor: str) -> Self:
        """Parse a cursor; '' is the beginning."""
        if not cursor:
            return cls()
        encoded, done, number = cursor.split(".")
        decoded = urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
        return cls(UUID(bytes=decoded[:16]), decoded[16:], int(done), int(number))

    def cursor(self) -> str:
        """Encode the place as text of at most 64 characters."""
        encoded = urlsafe_b64encode((self.task.bytes if self.task else b"") + self.prompt).decode().rstrip("=")
        return f"{encoded}.{self.done}.{self.number}"


class UnfitCompletions(NamedTuple):
    """The number of completions of a prompt that are left out for one reason."""

    prompt: bytes
    reason: str
    completions: int


class PromptRange(NamedTuple):
    """Rewarded completions of a task with prompt digests greater than `after` up to `upto` (None: to the end).

    of_task  the rewarded completions of the whole task
    sources  of the selection
    counts   whether to count what is left out; a preview counts that itself
    """

    task: UUID
    after: bytes
    upto: bytes | None
    rewarded: Any
    of_task: Any
    sources: Collection[str]
    counts: bool = True

    def undigested(self) -> Counter[str]:
        """Count completions without a prompt digest, by reason, with the task's first range."""
        return Counter() if self.after or not self.counts else left_out.undigested(self.of_task)

    def unfit(self, forms: Forms) -> list[UnfitCompletions]:
        """Count the completions whose conversations have none of the forms, by prompt in the order of digests."""
        if not self.counts:
            return []
        of_sources = Completion.objects.for_readers(self.sources)
        prompts = of_sources.filter(task_id=self.task, prompt_digest__gt=self.after)
        if self.upto is not None:
            prompts = prompts.filter(prompt_digest__lte=self.upto)
        if not left_out.unfit(prompts, forms).exists():  # answered by the index, without reading rewards
            return []
        completions = left_out.unfit(self.rewarded, forms).order_by("prompt_digest", "form")
        counts = completions.values_list("prompt_digest", "form").annotate(n=Count("pk"))
        return [UnfitCompletions(bytes(digest), left_out.REASONS[form], n) for digest, form, n in counts]


def ranges(reader: RewardReader, place: PromptPosition, length: int = 0) -> Iterator[PromptRange]:
    """Yield all ranges after a place, of `length` completions or RANGE_ROWS, whichever is more."""
    after, sources = place.prompt, reader.selection.sources
    for task in _tasks(reader.selection, place.task):
        while True:
            upto = _end(task, sources, after, max(length, RANGE_ROWS))
            release()
            of_task = reader.rewarded_completions().filter(task_id=task, reward__task_id=task)
            rewarded = of_task.filter(prompt_digest__gt=after)
            if upto is not None:
                rewarded = rewarded.filter(prompt_digest__lte=upto)
            yield PromptRange(task, after, upto, rewarded, of_task, sources, reader.counts)
            if upto is None:
                break
            after = upto
        after = b""


def of_each_task(reader: RewardReader) -> Iterator[Any]:
    """Yield the rewarded completions of each task."""
    for task in _tasks(reader.selection, None):
        yield reader.rewarded_completions().filter(task_id=task, reward__task_id=task)


def distinct(completions: Any) -> int:
    """Count the prompts that the completions of a task answer."""
    count = completions.filter(prompt_digest__gt=b"").aggregate(n=Count("prompt_digest", distinct=True))
    return int(count["n"])


def digest_at(rewarded: Any, number: int) -> bytes | None:
    """Return the prompt of the completion at an offset, in the order of prompts; None if there are fewer."""
    digests = rewarded.filter(prompt_digest__gt=b"").order_by("prompt_digest").values_list("prompt_digest", flat=True)
    return next((bytes(digest) for digest in digests[number : number + 1]), None)


def _tasks(selection: Selection, first: UUID | None) -> Iterator[UUID]:
    """Return the tasks of the selection from `first` on."""
    if selection.task:
        yield selection.task
        return
    tasks = Task.objects.order_by("pk")
    if policy.reach(selection.principal, "exports", "read") != "all":
        tasks = tasks.filter(organization_id=selection.principal.organization.pk)
    if first is not None:
        tasks = tasks.filter(pk__gte=first)
    task_ids = list(tasks.values_list("pk", flat=True))
    release()
    yield from task_ids


def _end(task: UUID, sources: Collection[str], after: bytes, length: int) -> bytes | None:
    """Return the last prompt of the range after `after`; None if it is the last range."""
    completions = Completion.objects.for_readers(sources).filter(task_id=task, prompt_digest__gt=after)
    digests = completions.order_by("prompt_digest")
    last = digests.values_list("prompt_digest", flat=True)[length : length + 1]
    return next((bytes(digest) for digest in last if digest), None)


class TextSize(NamedTuple):
    """The bytes of a completion's stored text, its model and its task version."""

    text_bytes: int = 0
    model: bytes = b""
    version: bytes = b""


def sizes(completions: Sequence[bytes], *, size: Any = SIZE) -> dict[bytes, TextSize]:
    """Return the size of each completion, over the columns that `size` adds up."""
    completions_with_size = rows.among(Completion.objects.all(), "id", completions).annotate(size=size)
    columns = completions_with_size.values_list("id", "size", "model_id", "task_version_id")
    sizes_by_id = {pk: TextSize(*facts) for pk, *facts in rows.plain(columns)}
    release()
    return sizes_by_id


def groups(items: Sequence[Any], text_bytes: Sequence[int]) -> Iterator[tuple[int, Sequence[Any]]]:
    """Split items into groups whose text fits into TEXT_BYTES, or of one item; each with the number of items before."""
    start = total = 0
    for at, size in enumerate(text_bytes):
        if at > start and total + size > TEXT_BYTES:
            yield start, items[start:at]
            start, total = at, 0
        total += size
    if len(items) > start:
        yield start, items[start:]
