"""The core of live rewards: find or store the completion of each item, and read its reward.

A caller that answers a trainer submits the items, ends the copies whose sources are final (after the commit), waits
at the hub (scores/results/waiting.py) for what is unfinished while it holds no transaction and no connection, and
reads the answers.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal
from uuid import UUID

from django.db import IntegrityError, connection, transaction

from autotune.access.principal import Principal
from autotune.core import ids
from autotune.core.api.parsing import invalid
from autotune.core.errors import Conflict, FieldError, NotFound
from scores.engine import copies
from scores.intake import storing, submission
from scores.intake.drafts import CompletionDraft, check_blank, draft
from scores.intake.requests import NewCompletion, TaskId
from scores.live import reuse
from scores.live.requests import RewardItem
from scores.live.reuse import LiveAnswerEntry, LiveCompletion, ReuseOptions
from scores.models import Reward
from scores.results import waiting_reasons
from scores.results.waiting_reasons import WaitExplanation
from tasks.models import Task
from tasks.states import TaskKind

DEFAULT_MODEL: Final = "live"  # of completions whose sender names no model
PRIORITY: Final = "high"  # somebody waits for them
_ATTEMPTS: Final = 3
_POINTER: Final = "/taskId"


@dataclass(frozen=True, slots=True)
class LiveSubmission:
    """The completion of each item, in order: equal items share one, unless they are fresh.

    unfinished  completions without a reward so far
    sources     waiting completion -> the completion that a grader judges, for each that waits for a copy
    """

    completions: list[UUID]
    unfinished: set[UUID]
    sources: dict[UUID, UUID] = field(default_factory=dict)

    def end_copies(self) -> None:
        """End the copies whose sources are final, in a separate transaction. Call it after the submission commits."""
        if self.sources:
            for ended in copies.end(self.sources):
                del self.sources[ended.completion_id]
                if ended.is_final:
                    self.unfinished.discard(ended.completion_id)


@dataclass(frozen=True, slots=True)
class LiveAnswerResult:
    """The answer for one item. `value` and `confidence` are None unless it is completed; `code` says why it failed.

    wait  why a pending item waits; None unless the caller requested the reasons
    """

    completion_id: UUID
    value: float | None
    confidence: float | None
    status: Literal["completed", "pending", "failed"]
    code: str | None
    wait: WaitExplanation | None = None


@dataclass(frozen=True, slots=True)
class _Request:
    """A request to look up. `first` holds the first item of each digest."""

    principal: Principal
    task: Task
    version_id: UUID
    model_id: str
    first: dict[bytes, CompletionDraft]


class _Overtaken(Exception):
    """Concurrent requests took some digests, and their completions no longer exist."""


def submit(
    principal: Principal,
    task_id: UUID,
    items: Sequence[RewardItem | FieldError],
    *,
    model_id: str | None = None,
    fresh: bool = False,
    pointer: str = "/items",
) -> LiveSubmission:
    """Find or store a completion for each item, in a transaction of its own.

    items    an item that could not be read is represented by its error
    fresh    judge each item separately, also if it equals another or was scored before
    pointer  JSON pointer to the items in the caller's body
    raises   NotFound for a task that the principal may not see, Invalid with a pointer for each bad item; for items
             that need scoring Conflict `task_archived` or `grader_inactive`, Forbidden for a test key where graders of
             another organization judge
    """
    task = Task.objects.visible_to(principal).defer("metadata").filter(pk=task_id).first()
    if task is None or task.version_id is None:
        raise NotFound.field(_POINTER, "task")
    model_id = DEFAULT_MODEL if model_id is None else model_id
    if blank := check_blank(model_id, "/modelId"):
        raise invalid([blank])
    drafts = _drafts(task, items, model_id, pointer)
    digests = reuse.digests(drafts, task.organization_id)
    first = dict(reversed(list(zip(digests, drafts, strict=True))))
    request = _Request(principal, task, task.version_id, model_id, first)
    if fresh:
        return _submit_fresh(request, drafts, digests)
    by_digest = _find_or_store(request)
    completions = [by_digest[digest].completion_id for digest in digests]
    unfinished = [completion for completion in by_digest.values() if not completion.final]
    sources = {completion.completion_id: completion.source for completion in unfinished if completion.source}
    return LiveSubmission(completions, {completion.completion_id for completion in unfinished}, sources)


def answers(completions: Sequence[UUID]) -> list[LiveAnswerResult]:
    """Return the reward, failure or pending state of each completion, in order."""
    columns = ("pk", "value", "confidence", "error_code")
    rewards = {row[0]: row for row in Reward.objects.filter(pk__in=set(completions)).values_list(*columns)}
    return [_answered(pk, rewards.get(pk)) for pk in completions]


def with_reasons(answered: Sequence[LiveAnswerResult]) -> list[LiveAnswerResult]:
    """Add to each pending answer why it waits; two queries if any are pending."""
    pending = {answer.completion_id for answer in answered if answer.status == "pending"}
    waits = waiting_reasons.of_completions(pending) if pending else {}
    return [
        replace(answer, wait=waits.get(answer.completion_id)) if answer.completion_id in waits else answer
        for answer in answered
    ]


def _answered(pk: UUID, reward: tuple | None) -> LiveAnswerResult:
    if reward is None:
        return LiveAnswerResult(pk, None, None, "pending", None)
    _, value, confidence, code = reward
    if value is None:
        return LiveAnswerResult(pk, None, None, "failed", code)
    return LiveAnswerResult(pk, value, confidence, "completed", None)


def _drafts(task: Task, items: Sequence[RewardItem | FieldError], model_id: str, pointer: str) -> list[CompletionDraft]:
    """raises Invalid with a pointer for each bad item"""
    task_id = TaskId(task.pk)
    drafts: list[CompletionDraft] = []
    errors: list[FieldError] = []
    for index, item in enumerate(items):
        if isinstance(item, FieldError):
            errors.append(item)
            continue
        completion = NewCompletion(
            task_id=task_id,
            model_id=model_id,
            response=item.response,
            prompt=item.prompt,
            messages=item.messages,
            metadata=item.metadata,
        )
        new_draft, draft_errors = draft(
            completion, index=index, pointer=f"{pointer}/{index}", priority=PRIORITY, template=None
        )
        errors += draft_errors
        if new_draft is not None:
            drafts.append(new_draft)
    if errors:
        raise invalid(errors)
    return drafts


def _submit_fresh(request: _Request, drafts: Sequence[CompletionDraft], digests: Sequence[bytes]) -> LiveSubmission:
    """Store a completion for each item and have it judged. Later requests share the last one of equal items."""
    completions = [ids.new() for _ in drafts]
    places = {digest: LiveAnswerEntry(pk, ids.new()) for digest, pk in zip(digests, completions, strict=True)}
    with transaction.atomic():
        reuse.take(request.task, request.version_id, request.model_id, places, always=True)
        _store(request, [replace(item, pk=pk, pointer="") for item, pk in zip(drafts, completions, strict=True)])
    return LiveSubmission(completions, set(completions))


def _find_or_store(request: _Request) -> dict[bytes, LiveCompletion]:
    """The completion of each digest: a reusable one, or a new one if there is none."""
    options = _look_up(request, request.first)
    reusable = _reusable(options)
    if len(reusable) == len(request.first):
        return reusable
    for _ in range(_ATTEMPTS):
        try:
            with transaction.atomic():
                return _store_missing(request, options)
        except (_Overtaken, IntegrityError):
            # a reusable completion was erased at this moment, another model's equal item is judged by now, or the task
            # is being deleted
            options = _look_up(request, request.first)
    raise Conflict("Another request changed the same objects. Try again.", code="conflict")


def _look_up(request: _Request, digests: Collection[bytes]) -> dict[bytes, ReuseOptions]:
    return reuse.look_up(request.version_id, request.model_id, digests)


def _reusable(options: dict[bytes, ReuseOptions]) -> dict[bytes, LiveCompletion]:
    return {digest: option.own for digest, option in options.items() if option.own is not None and option.own.reusable}


def _store_missing(request: _Request, options: dict[bytes, ReuseOptions]) -> dict[bytes, LiveCompletion]:
    """Take the digests without a reusable completion, store their items, and join rivals' completions.

    The caller must hold a transaction.
    """
    if connection.vendor != "postgresql":  # nobody else writes now, so this lookup is final
        options = _look_up(request, request.first)
    completions = _reusable(options)
    new = {digest: ids.new() for digest in request.first if digest not in completions}
    if not new:
        return completions
    missing = {digest: options.get(digest, reuse.NOTHING) for digest in new}
    seen = [option.own.completion_id for option in missing.values() if option.own is not None]
    places = {
        digest: LiveAnswerEntry(new[digest], None if option.source else option.replaces)
        for digest, option in missing.items()
    }
    taken_digests = reuse.take(request.task, request.version_id, request.model_id, places, seen=seen)
    drafts = [
        replace(request.first[digest], pk=new[digest], pointer="", copy_of=missing[digest].source)
        for digest in new
        if digest in taken_digests
    ]
    _store(request, drafts)
    completions |= {
        digest: LiveCompletion(new[digest], False, True, missing[digest].source) for digest in taken_digests
    }
    if lost_digests := new.keys() - taken_digests:
        joined = {
            digest: option.own for digest, option in _look_up(request, lost_digests).items() if option.own is not None
        }
        if joined.keys() != lost_digests:
            raise _Overtaken
        completions |= joined
    return completions


def _store(request: _Request, drafts: Sequence[CompletionDraft]) -> None:
    """raises Conflict or Forbidden if the task takes no new work, or a deck has no graders"""
    if not drafts:
        return
    panel = storing.panel_of(request.task, request.version_id)
    if not panel.graders and request.task.kind == TaskKind.DECK:
        raise Conflict("/taskId: the deck has no graders, so its completions have no rewards.", code="no_graders")
    if not panel.is_readable:
        raise Conflict(f"/taskId: {submission.UNREADABLE}", code="unreadable")
    _, refused = storing.store(request.principal, drafts, {request.task.pk: panel})
    if refused:
        raise submission.refusal(refused[:1], single=True)
