"""Load what a drain needs for its runs: the text of completions, and the settings of their tasks and task versions."""

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection
from msgspec import structs

from autotune.core import ids
from autotune.core.crypto import encryption
from autotune.core.crypto.fields import encrypted
from graders.verdicts import Failure, GraderItem, GraderOptions
from scores.engine.retries import RetrySettings
from tasks import conversations
from tasks.models import Completion, PanelMember, Task, TaskVersion
from tasks.states import PanelPart

logger = logging.getLogger(__name__)
LOAD_BYTES = 16 * 2**20  # of ciphertext loaded at once: a batch may hold 1,000 completions of 2 MiB each
TEXT_ERASED = Failure("text_erased", "The completion's text was erased before it was scored.", fault="caller")
TEXT_UNREADABLE = Failure("text_unreadable", "The completion's text cannot be decrypted.", fault="platform")
SYSTEM_PROMPT_UNREADABLE = Failure(
    "text_unreadable", "The system prompt of the completion's task cannot be decrypted.", fault="platform"
)
FRESH_S = 5.0  # how long a drain uses a task's settings before it reads them again
MOST_REMEMBERED = 100_000  # versions without a system prompt
_TEXT_COLUMNS = ("prompt", "response", "messages", "metadata")
_LOAD = """
select id, task_id, task_version_id, prompt, response, messages, metadata from (
    select *, sum(size) over (order by id rows unbounded preceding) - size as before from (
        select id, task_id, task_version_id, prompt, response, messages, metadata,
               coalesce(length(prompt), 0) + coalesce(length(response), 0)
               + coalesce(length(messages), 0) + coalesce(length(metadata), 0) as size
        from tasks_completion where {condition}
    ) measured
) fitting where before < %s
"""
_FIELDS = tuple(encrypted(Completion, name) for name in _TEXT_COLUMNS)
_CONTENT = encrypted(TaskVersion, "content")
# A version never changes, so a process checks only once whether it has a system prompt. No text outlives a drain.
_without_system_prompt: set[UUID] = set()


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """A task's settings for calls, retries, reviews and rewards.

    review_below     scores with less confidence need a review
    review_blind     reviewers do not see these scores before they decide
    use_calibration  rewards use calibrated values
    """

    options: GraderOptions
    policy: RetrySettings
    review_below: float | None
    review_blind: bool
    use_calibration: bool


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """How a task version computes rewards: the aggregation, and the weight of each scoring grader by its id."""

    aggregation: str
    weights: dict[UUID, float]


@dataclass(frozen=True, slots=True)
class CompletionMaterial:
    """A completion as the grader sees it, and the version that its reward follows."""

    item: GraderItem
    version_id: UUID


class TaskFactsCache:
    """Tasks and versions by id. Versions never change; tasks are read again after a few seconds."""

    def __init__(self) -> None:
        self._tasks: dict[UUID, tuple[float, TaskFacts]] = {}
        self._versions: dict[UUID, VersionFacts] = {}
        self._system_prompts: dict[UUID, str | Failure | None] = {}

    def task(self, task_id: UUID) -> TaskFacts:
        """The facts of one task."""
        cached = self._tasks.get(task_id)
        if cached is None or cached[0] < time.monotonic():
            task = Task.objects.only(
                "max_attempts",
                "backoff_ms",
                "max_backoff_ms",
                "include_dimensions",
                "include_explanation",
                "review_below_confidence",
                "review_blind",
                "use_calibration",
            ).get(pk=task_id)
            facts = TaskFacts(
                GraderOptions(task.include_dimensions, task.include_explanation),
                RetrySettings(task.max_attempts, task.backoff_ms, task.max_backoff_ms),
                task.review_below_confidence,
                task.review_blind,
                task.use_calibration,
            )
            cached = self._tasks[task_id] = (time.monotonic() + FRESH_S, facts)
        return cached[1]

    def version(self, version_id: UUID) -> VersionFacts:
        """The facts of one task version."""
        if facts := self._versions.get(version_id):
            return facts
        return self.versions([version_id])[version_id]

    def versions(self, version_ids: Iterable[UUID]) -> dict[UUID, VersionFacts]:
        """The facts of many versions, in two queries for those that were not read before."""
        unique_ids = set(version_ids)
        unread = unique_ids - self._versions.keys()
        if unread:
            weights: dict[UUID, dict[UUID, float]] = {version_id: {} for version_id in unread}
            members = PanelMember.objects.filter(task_version_id__in=unread, part=PanelPart.SCORING)
            for version_id, grader_id, weight in members.values_list("task_version_id", "grader_id", "weight"):
                weights[version_id][grader_id] = weight
            versions = TaskVersion.objects.filter(pk__in=unread).values_list("pk", "aggregation")
            for version_id, aggregation in versions:
                self._versions[version_id] = VersionFacts(aggregation, weights[version_id])
        return {version_id: self._versions[version_id] for version_id in unique_ids}

    def system_prompts(self, version_ids: Iterable[UUID]) -> dict[UUID, str | Failure | None]:
        """The system prompts by version, decrypted once; a Failure if one cannot be read, None or no entry without one.

        One query for versions not read before, and none for those that an earlier drain found to have none.

        raises MasterKeyMissing
        """
        candidates = set(version_ids) - _without_system_prompt
        if unread := candidates - self._system_prompts.keys():
            for version_id, content in TaskVersion.objects.filter(pk__in=unread).values_list("pk", "content"):
                system_prompt = self._system_prompts[version_id] = _system_prompt(version_id, content)
                if system_prompt is None:
                    _remember_without(version_id)
        return {version_id: self._system_prompts.get(version_id) for version_id in candidates}


def _system_prompt(version_id: UUID, content: bytes) -> str | Failure | None:
    try:
        system_prompt: str | None = _CONTENT.decrypt(version_id, content).get("systemPrompt")
    except encryption.MasterKeyMissing:
        raise
    except encryption.Undecryptable as exc:
        logger.error("task version %s cannot be read: %s", version_id, exc)
        return SYSTEM_PROMPT_UNREADABLE
    return system_prompt or None


def _remember_without(version_id: UUID) -> None:
    if len(_without_system_prompt) >= MOST_REMEMBERED:
        _without_system_prompt.clear()
    _without_system_prompt.add(version_id)


def load(
    completion_ids: Sequence[UUID], facts: TaskFactsCache, *, max_bytes: int = LOAD_BYTES
) -> dict[UUID, CompletionMaterial | Failure]:
    """Return decrypted completions by id, in id order: at least one, and as many as fit into `max_bytes`.

    A completion whose text was erased or cannot be read has a Failure as its value, and the others are not affected.
    Completions that do not fit are left out; the caller loads them with the next batch.

    raises MasterKeyMissing: nothing can be read, and the runs wait until the operator corrects the setting
    """
    rows = _rows(completion_ids, max_bytes)
    prompts = facts.system_prompts(row[2] for row in rows)
    return {row[0]: _material(row, prompts.get(row[2])) for row in rows}


def _material(row: tuple, system_prompt: str | Failure | None) -> CompletionMaterial | Failure:
    if row[4] is None:
        return TEXT_ERASED
    try:
        item = _item(row)
        if system_prompt is None or conversations.brings_system_prompt(item.messages):
            return CompletionMaterial(item, row[2])
        if isinstance(system_prompt, Failure):
            return system_prompt
        return CompletionMaterial(structs.replace(item, system_prompt=system_prompt), row[2])
    except encryption.MasterKeyMissing:
        raise
    except encryption.Undecryptable as exc:
        logger.error("completion %s cannot be read: %s", row[0], exc)
        return TEXT_UNREADABLE


def _rows(completion_ids: Sequence[UUID], max_bytes: int) -> Sequence[tuple]:
    """Rows of id, task, version and the four texts. The limit applies to lengths, so no text beyond it is read."""
    values: list[Any]
    if connection.vendor == "postgresql":
        condition, values = "id = any(%s)", [list(completion_ids)]
    else:
        condition = f"id in ({', '.join(['%s'] * len(completion_ids))})"
        values = [pk.hex for pk in completion_ids]
    with connection.cursor() as cursor:
        cursor.execute(_LOAD.format(condition=condition), [*values, max_bytes])
        rows = cursor.fetchall()
    if connection.vendor == "postgresql":
        return rows
    return [(*(UUID(value) for value in row[:3]), *row[3:]) for row in rows]


def _item(row: tuple) -> GraderItem:
    pk, task_id = row[0], row[1]
    prompt, response, messages, metadata = (
        field.decrypt(pk, value) for field, value in zip(_FIELDS, row[3:], strict=True)
    )
    return GraderItem(ids.encode("comp", pk), ids.encode("task", task_id), prompt or "", response, messages, metadata)
