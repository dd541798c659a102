"""The core of live rewards: items in, the completions that stand for them out, and what is known of those by now.

Whoever answers a trainer submits, waits for what is unfinished at the hub (scores/waiting.py) with no transaction and
no connection held, and reads the answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal
from uuid import UUID

from django.db import IntegrityError, transaction

from autotune.access.principal import Principal
from autotune.core import ids
from autotune.core.errors import Conflict, FieldError, NotFound
from autotune.core.parsing import invalid
from scores import intake, storing
from scores.drafts import Draft, check_blank, draft
from scores.inputs import NewCompletion, TaskId
from scores.live import reuse
from scores.live.inputs import Item
from scores.live.reuse import Standing
from scores.models import Reward
from tasks.models import Task

DEFAULT_MODEL: Final = "live"  # of completions whose sender names no model
PRIORITY: Final = "high"  # somebody waits for them
_ATTEMPTS: Final = 3
_POINTER: Final = "/taskId"


@dataclass(frozen=True, slots=True)
class Submitted:
    """The completion of each item, in order: equal items have the same one. `unfinished` have no reward yet."""

    completions: list[UUID]
    unfinished: set[UUID]


@dataclass(frozen=True, slots=True)
class Answered:
    """What is known of an item. `value` and `confidence` are None unless it is completed; `code` says why it failed."""

    completion_id: UUID
    value: float | None
    confidence: float | None
    status: Literal["completed", "pending", "failed"]
    code: str | None


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request as it is looked up. `first`: of each digest the first item that has it."""

    principal: Principal
    task: Task
    version_id: UUID
    first: dict[bytes, Draft]
    fresh: bool


class _Overtaken(Exception):
    """Rivals took digests and what they took has gone again already."""


def submit(
    principal: Principal,
    task_id: UUID,
    items: Sequence[Item | FieldError],
    *,
    model_id: str | None = None,
    fresh: bool = False,
    pointer: str = "/items",
) -> Submitted:
    """Find or store a completion for each item, in a transaction of its own.

    items    one that could not even be read stands as its error
    fresh    score also what was scored before; equal items and rivals of this moment still share one completion
    pointer  where the items stand in the caller's body
    raises   NotFound for a task that the principal may not see, Invalid with a pointer for each bad item; for items
             that need scoring Conflict `task_archived` or `grader_inactive`, Forbidden for a test key where graders of
             another organization judge
    """
    task = Task.objects.visible_to(principal).defer("metadata").filter(pk=task_id).first()
    if task is None or task.version_id is None:
        raise NotFound.at(_POINTER, "task")
    model_id = DEFAULT_MODEL if model_id is None else model_id
    if blank := check_blank(model_id, "/modelId"):
        raise invalid([blank])
    drafts = _drafts(task, items, model_id, pointer)
    digests = reuse.digests(drafts, task.organization_id)
    first = dict(reversed(list(zip(digests, drafts, strict=True))))
    found = _found(_Asked(principal, task, task.version_id, first, fresh))
    completions = [found[digest].completion_id for digest in digests]
    return Submitted(completions, {one.completion_id for one in found.values() if not one.final})


def answers(completions: Sequence[UUID]) -> list[Answered]:
    """What is known of each completion, in order."""
    wanted = set(completions)
    columns = ("pk", "value", "confidence", "error_code")
    rewards = {row[0]: row for row in Reward.objects.filter(pk__in=wanted).values_list(*columns)}
    return [_answered(pk, rewards.get(pk)) for pk in completions]


def _answered(pk: UUID, reward: tuple | None) -> Answered:
    if reward is None:
        return Answered(pk, None, None, "pending", None)
    _, value, confidence, code = reward
    if value is None:
        return Answered(pk, None, None, "failed", code)
    return Answered(pk, value, confidence, "completed", None)


def _drafts(task: Task, items: Sequence[Item | FieldError], model_id: str, pointer: str) -> list[Draft]:
    """raises Invalid with a pointer for each bad item"""
    named = TaskId(task.pk)
    drafts: list[Draft] = []
    errors: list[FieldError] = []
    for index, item in enumerate(items):
        if isinstance(item, FieldError):
            errors.append(item)
            continue
        whole = NewCompletion(
            task_id=named,
            model_id=model_id,
            response=item.response,
            prompt=item.prompt,
            messages=item.messages,
            metadata=item.metadata,
        )
        found, wrong = draft(whole, index=index, pointer=f"{pointer}/{index}", priority=PRIORITY, template=None)
        errors += wrong
        if found is not None:
            drafts.append(found)
    if errors:
        raise invalid(errors)
    return drafts


def _found(asked: _Asked) -> dict[bytes, Standing]:
    """For each digest what stands for it, made where nothing does."""
    there = reuse.standing(asked.version_id, asked.first)
    if not asked.fresh and all(digest in there and there[digest].stands for digest in asked.first):
        return there
    for _ in range(_ATTEMPTS):
        try:
            with transaction.atomic():
                return _made(asked, there)
        except (_Overtaken, IntegrityError):  # what was taken was erased at this moment, or the task is being deleted
            there = reuse.standing(asked.version_id, asked.first)
    raise Conflict("Another request changed the same objects. Try again.", code="conflict")


def _made(asked: _Asked, there: dict[bytes, Standing]) -> dict[bytes, Standing]:
    """The same inside a transaction: take what nothing stands for, store what was taken, join what rivals took."""
    found = {} if asked.fresh else {digest: one for digest, one in there.items() if one.stands}
    new = {digest: ids.new() for digest in asked.first if digest not in found}
    if not new:
        return found
    seen = [there[digest].completion_id for digest in new if digest in there]
    taken = reuse.take(asked.task, asked.version_id, new, seen=seen)
    _store(asked, [replace(asked.first[digest], pk=new[digest], pointer="") for digest in new if digest in taken])
    found |= {digest: Standing(new[digest], final=False, stands=True) for digest in taken}
    if lost := new.keys() - taken:
        joined = reuse.standing(asked.version_id, lost)
        if joined.keys() != lost:
            raise _Overtaken
        found |= joined
    return found


def _store(asked: _Asked, drafts: Sequence[Draft]) -> None:
    """raises Conflict or Forbidden if the task takes no new work"""
    if not drafts:
        return
    panel = storing.panel_of(asked.task, asked.version_id)
    _, refused = storing.store(asked.principal, drafts, {asked.task.pk: panel})
    if refused:
        raise intake.refusal(refused[:1], alone=True)
