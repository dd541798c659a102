"""Submit completions: validate the whole batch, then store it in one transaction with one run for each grader."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction

from autotune.access import commits
from autotune.access.principal import Principal
from autotune.core import clock
from autotune.core.errors import AutotuneError, Conflict, FieldError, Forbidden, Invalid, NotFound
from graders.models import Grader
from scores.intake import estimates, storing
from scores.intake.drafts import CompletionDraft, draft, repeated
from scores.intake.outcomes import RefusedItem, StoredItem
from scores.intake.requests import NewCompletion
from scores.intake.storing import TaskPanel
from tasks.models import PanelMember, Task
from tasks.states import CompletionSource, PanelPart, TaskKind

UNREADABLE: Final = "the task's current version cannot be decrypted. Change the task's prompts to replace it."


@dataclass(slots=True)
class SubmissionResult:
    """The outcome of a request, in the order of its items."""

    stored: list[StoredItem] = field(default_factory=list)
    refused: list[RefusedItem] = field(default_factory=list)
    estimate_ms: int = 0


@dataclass(frozen=True, slots=True)
class _Request:
    """The arguments of `submit`."""

    principal: Principal
    items: dict[int, NewCompletion]
    malformed: Sequence[RefusedItem]
    priority: str | None
    partial: bool
    single: bool
    source: CompletionSource


def submit(
    principal: Principal,
    items: dict[int, NewCompletion],
    *,
    malformed: Sequence[RefusedItem] = (),
    priority: str | None = None,
    partial: bool = False,
    single: bool = False,
    source: CompletionSource = CompletionSource.API,
) -> SubmissionResult:
    """Store the items by index, and one run for each grader of their tasks' panels.

    The completions of a deck without graders have no runs: they stay ungraded.

    malformed  items that could not be read
    partial    store the valid items although others are refused
    single      the request is a single completion: pointers have no prefix
    source     how Autotune received the items, which the endpoint knows
    raises     Invalid, NotFound, Forbidden or Conflict with pointers if anything is refused and it is not `partial`
    """
    request = _Request(principal, items, malformed, priority, partial, single, source)
    try:
        return _attempt(request)
    except IntegrityError as clash:  # another request stored the same external id, or deleted the task, at this moment
        if commits.is_whole():
            raise commits.ConcurrentChange from clash
        try:
            return _attempt(request)
        except IntegrityError as exc:
            raise Conflict("Another request changed the same objects. Try again.", code="conflict") from exc


def _attempt(request: _Request) -> SubmissionResult:
    """Validate and store the request once, from the lookup of its tasks to the commit."""
    intake = SubmissionResult(refused=list(request.malformed))
    panels = _panels(request.principal, {item.task_id.uuid for item in request.items.values()})
    drafts = _drafts(request, panels, intake)
    if intake.refused and not request.partial:
        raise refusal(intake.refused, single=request.single)
    with transaction.atomic(savepoint=not commits.is_whole()):
        stored_items, clashes = storing.store(request.principal, drafts, panels, request.source)
        if clashes and not request.partial:
            raise refusal(clashes, single=request.single)
    intake.stored = sorted(stored_items, key=lambda item: item.index)
    intake.refused = sorted([*intake.refused, *clashes], key=lambda item: item.index)
    fresh_drafts = [item.fresh.draft for item in stored_items if item.fresh is not None]
    intake.estimate_ms = _estimate(fresh_drafts, panels, request.principal.organization.pk)
    return intake


def refusal(refused: Sequence[RefusedItem], *, single: bool) -> AutotuneError:
    """Return one error for all refused items. A single item keeps its status; a batch has 409 if all are conflicts,
    else 400."""
    errors = [item.error for item in sorted(refused, key=lambda item: item.index)]
    statuses = {item.status for item in refused}
    first = errors[0]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    detail = f"{first.pointer or 'body'}: {first.detail}{more}"
    if statuses == {409}:
        code = first.code if len({error.code for error in errors}) == 1 else "conflict"
        return Conflict(detail, code=code, errors=errors[:100])
    if single and statuses == {404}:
        return NotFound(detail, errors=errors)
    if single and statuses == {403}:
        return Forbidden(detail, errors=errors)
    return Invalid(detail, errors=errors[:100])


def _panels(principal: Principal, task_ids: set[UUID]) -> dict[UUID, TaskPanel]:
    """The tasks that the principal may see, with version and panel.

    A task without a panel is just being deleted, unless it is a deck.
    """
    visible = Task.objects.visible_to(principal).filter(pk__in=task_ids).select_related("version")
    tasks = {task.pk: task for task in visible}
    members: dict[UUID, list[PanelMember]] = {}
    for member in PanelMember.objects.filter(
        task_version__in=[task.version_id for task in tasks.values()]
    ).select_related("grader"):
        members.setdefault(member.task_version_id, []).append(member)
    return {
        key: TaskPanel.of(
            task, task.version, tuple((member.grader, member.part) for member in members.get(task.version.pk, ()))
        )
        for key, task in tasks.items()
        if task.version is not None and (task.version.pk in members or task.kind == TaskKind.DECK)
    }


def _drafts(request: _Request, panels: dict[UUID, TaskPanel], intake: SubmissionResult) -> list[CompletionDraft]:
    """The items that may be stored; the others go to `intake.refused`."""
    drafts: list[CompletionDraft] = []
    rendered = 0
    for index, item in request.items.items():
        pointer = "" if request.single else f"/completions/{index}"
        panel = panels.get(item.task_id.uuid)
        if panel is not None and not panel.is_readable:
            intake.refused.append(RefusedItem(index, 409, FieldError(f"{pointer}/taskId", "unreadable", UNREADABLE)))
            continue
        new_draft, errors = draft(
            item, index=index, pointer=pointer, priority=request.priority, template=panel.template if panel else None
        )
        if new_draft is not None and item.variables is not None:
            rendered += len(new_draft.prompt)
            if rendered > settings.MAX_BODY_BYTES:
                raise Invalid.field(
                    "/completions", "too_long", "the rendered prompts are too long together: send fewer."
                )
        intake.refused += [RefusedItem(index, 400, error) for error in errors]
        if new_draft is None:
            continue
        if panel is None:
            missing = FieldError(f"{pointer}/taskId", "not_found", "There is no such task.")
            intake.refused.append(RefusedItem(index, 404, missing))
            continue
        drafts.append(new_draft)
    doubled = repeated(drafts)
    intake.refused += [RefusedItem(index, 400, error) for index, error in doubled.items()]
    return [entry for entry in drafts if entry.index not in doubled]


def _estimate(drafts: Sequence[CompletionDraft], panels: dict[UUID, TaskPanel], organization: UUID) -> int:
    """Milliseconds until all completions are scored: the slowest grader's time, plus the latest start (`notBefore`)."""
    counts: dict[UUID, dict[int, int]] = {}
    graders: dict[UUID, Grader] = {}
    for submission in drafts:
        for grader, part in panels[submission.task_id].graders:
            if part == PanelPart.SCORING:
                by_priority = counts.setdefault(grader.pk, {})
                by_priority[submission.priority] = by_priority.get(submission.priority, 0) + 1
                graders[grader.pk] = grader
    times = [estimates.milliseconds(graders[key], submitted, organization) for key, submitted in counts.items()]
    last = max((entry.not_before for entry in drafts if entry.not_before), default=None)
    later_ms = max(0, round((last - clock.shared_now()).total_seconds() * 1000)) if last else 0
    return max(times, default=0) + later_ms
