"""The core of live rewards: items in, the completions that stand for them out, and what is known of those by now.

Whoever answers a trainer submits, ends the copies whose sources are final (after the commit), waits for what is
unfinished at the hub (scores/waiting.py) with no transaction and no connection held, and reads the answers.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal
from uuid import UUID

from django.db import IntegrityError, connection, transaction

from autotune.access.principal import Principal
from autotune.core import ids
from autotune.core.errors import Conflict, FieldError, NotFound
from autotune.core.parsing import invalid
from scores import copies, intake, storing, waiting_reasons
from scores.drafts import Draft, check_blank, draft
from scores.inputs import NewCompletion, TaskId
from scores.live import reuse
from scores.live.inputs import Item
from scores.live.reuse import Known, Place, Standing
from scores.models import Reward
from scores.waiting_reasons import Wait
from tasks.models import Task

DEFAULT_MODEL: Final = "live"  # of completions whose sender names no model
PRIORITY: Final = "high"  # somebody waits for them
_ATTEMPTS: Final = 3
_POINTER: Final = "/taskId"


@dataclass(frozen=True, slots=True)
class Submitted:
    """The completion of each item, in order: equal items have the same one, unless they are fresh.

    unfinished  have no reward yet
    sources     of those that wait for a copy: the completion that is judged
    """

    completions: list[UUID]
    unfinished: set[UUID]
    sources: dict[UUID, UUID] = field(default_factory=dict)

    def end_copies(self) -> None:
        """Copy what is final already, in a transaction of its own: once what was submitted is committed."""
        if self.sources:
            for ended in copies.end(self.sources):
                del self.sources[ended.completion_id]
                if ended.is_final:
                    self.unfinished.discard(ended.completion_id)


@dataclass(frozen=True, slots=True)
class Answered:
    """What is known of an item. `value` and `confidence` are None unless it is completed; `code` says why it failed.

    wait  of a pending one, where it was asked for
    """

    completion_id: UUID
    value: float | None
    confidence: float | None
    status: Literal["completed", "pending", "failed"]
    code: str | None
    wait: Wait | None = None


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request as it is looked up. `first`: of each digest the first item that has it."""

    principal: Principal
    task: Task
    version_id: UUID
    model_id: str
    first: dict[bytes, Draft]


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
    fresh    judge each item, also what was scored before, and equal ones one by one
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
    request = _Asked(principal, task, task.version_id, model_id, first)
    if fresh:
        return _stored_fresh(request, drafts, digests)
    found = _found(request)
    completions = [found[digest].completion_id for digest in digests]
    open_ones = [one for one in found.values() if not one.final]
    sources = {one.completion_id: one.source for one in open_ones if one.source}
    return Submitted(completions, {one.completion_id for one in open_ones}, sources)


def answers(completions: Sequence[UUID]) -> list[Answered]:
    """What is known of each completion, in order."""
    wanted = set(completions)
    columns = ("pk", "value", "confidence", "error_code")
    rewards = {row[0]: row for row in Reward.objects.filter(pk__in=wanted).values_list(*columns)}
    return [_answered(pk, rewards.get(pk)) for pk in completions]


def with_reasons(answered: Sequence[Answered]) -> list[Answered]:
    """The same, the pending ones with what they wait for; two queries if there are any."""
    pending = {one.completion_id for one in answered if one.status == "pending"}
    waits = waiting_reasons.of_completions(pending) if pending else {}
    return [replace(one, wait=waits.get(one.completion_id)) if one.completion_id in waits else one for one in answered]


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


def _stored_fresh(asked: _Asked, drafts: Sequence[Draft], digests: Sequence[bytes]) -> Submitted:
    """A completion for each item, which is judged whatever is there; of equal ones the last stands from then on."""
    completions = [ids.new() for _ in drafts]
    places = {digest: Place(pk, ids.new()) for digest, pk in zip(digests, completions, strict=True)}
    with transaction.atomic():
        reuse.take(asked.task, asked.version_id, asked.model_id, places, always=True)
        _store(asked, [replace(one, pk=pk, pointer="") for one, pk in zip(drafts, completions, strict=True)])
    return Submitted(completions, set(completions))


def _found(asked: _Asked) -> dict[bytes, Standing]:
    """For each digest what stands for it, made where nothing does."""
    there = _look(asked, asked.first)
    found = _standing(there)
    if len(found) == len(asked.first):
        return found
    for _ in range(_ATTEMPTS):
        try:
            with transaction.atomic():
                return _made(asked, there)
        except (_Overtaken, IntegrityError):
            # what was taken was erased at this moment, another model's equal item is judged by now, or the task is
            # being deleted
            there = _look(asked, asked.first)
    raise Conflict("Another request changed the same objects. Try again.", code="conflict")


def _look(asked: _Asked, digests: Collection[bytes]) -> dict[bytes, Known]:
    return reuse.look(asked.version_id, asked.model_id, digests)


def _standing(there: dict[bytes, Known]) -> dict[bytes, Standing]:
    return {digest: known.own for digest, known in there.items() if known.own is not None and known.own.stands}


def _made(asked: _Asked, there: dict[bytes, Known]) -> dict[bytes, Standing]:
    """The same inside a transaction: take what nothing stands for, store what was taken, join what rivals took."""
    if connection.vendor != "postgresql":  # now nobody else writes, so this look is the last one
        there = _look(asked, asked.first)
    found = _standing(there)
    new = {digest: ids.new() for digest in asked.first if digest not in found}
    if not new:
        return found
    known = {digest: there.get(digest, reuse.NOTHING) for digest in new}
    seen = [one.own.completion_id for one in known.values() if one.own is not None]
    places = {digest: Place(new[digest], None if one.source else one.replaces) for digest, one in known.items()}
    taken = reuse.take(asked.task, asked.version_id, asked.model_id, places, seen=seen)
    drafts = [
        replace(asked.first[digest], pk=new[digest], pointer="", source=known[digest].source)
        for digest in new
        if digest in taken
    ]
    _store(asked, drafts)
    found |= {digest: Standing(new[digest], False, True, known[digest].source) for digest in taken}
    if lost := new.keys() - taken:
        joined = {digest: one.own for digest, one in _look(asked, lost).items() if one.own is not None}
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
