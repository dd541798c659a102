"""Intake: a batch is validated whole before any write; one transaction stores completions and one run per grader."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db import IntegrityError, transaction

from autotune.access.principal import Principal
from autotune.core import bulk, encryption, ids
from autotune.core.errors import AutotuneError, Conflict, FieldError, Invalid, NotFound
from autotune.core.fields import encrypted
from graders.models import Grader
from graders.states import GraderStatus
from scores import wakeups
from scores.drafts import Draft, draft, repeated
from scores.inputs import NewCompletion
from scores.models import WorkflowRun
from scores.states import RunStatus
from tasks.models import Completion, PanelMember, Task
from tasks.states import Part, Source

COMPLETION_COLUMNS = (
    "id", "organization_id", "task_id", "task_version_id", "created_by_id", "model_id", "external_id", "content_digest",
    "prompt", "response", "messages", "metadata", "priority", "source", "created_at",
)  # fmt: skip
RUN_COLUMNS = (
    "id", "organization_id", "completion_id", "task_id", "grader_id", "panel_size", "status", "priority", "attempt",
    "failures", "deadline_at", "error_code", "error_message", "error_repeats", "created_at",
)  # fmt: skip
_PROMPT, _RESPONSE, _MESSAGES, _METADATA = (
    encrypted(Completion, name) for name in ("prompt", "response", "messages", "metadata")
)


@dataclass(frozen=True, slots=True)
class TaskPanel:
    """A task as intake needs it."""

    task: Task
    template: str
    graders: tuple[tuple[Grader, str], ...]  # grader and part

    @property
    def scoring(self) -> int:
        return sum(part == Part.SCORING for _, part in self.graders)

    @property
    def inactive(self) -> Grader | None:
        """A scoring grader that takes no work now."""
        return next(
            (
                grader
                for grader, part in self.graders
                if part == Part.SCORING and (grader.status == GraderStatus.INACTIVE or grader.deleted_at)
            ),
            None,
        )


@dataclass(slots=True)
class Taken:
    """An item that is stored, now or before. `scoring_runs` come first in `run_ids`."""

    index: int
    completion_id: UUID
    external_id: str | None
    run_ids: list[UUID]
    existing: bool = False


@dataclass(slots=True)
class Refused:
    """An item that is not: with the status that it would have alone."""

    index: int
    status: int
    error: FieldError


@dataclass(slots=True)
class Intake:
    """What came of a request, in its order."""

    taken: list[Taken] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    estimate_ms: int = 0


def submit(
    principal: Principal,
    items: dict[int, NewCompletion],
    *,
    malformed: Sequence[Refused] = (),
    priority: str | None = None,
    partial: bool = False,
    alone: bool = False,
) -> Intake:
    """Store the items by index, and one run for each grader of their tasks' panels.

    malformed  items that could not even be read
    partial    store the valid items although others are refused
    alone      the request is a single completion: pointers have no prefix
    raises     Invalid, NotFound or Conflict with pointers if anything is refused and it is not `partial`
    """
    result = Intake(refused=list(malformed))
    panels = _panels(principal, {item.task_id.uuid for item in items.values()})
    drafts = _drafts(items, panels, priority, result, alone=alone)
    if result.refused and not partial:
        raise refusal(result.refused, alone=alone)
    for attempt in (1, 2):
        try:
            with transaction.atomic():
                taken, clashes = _store(principal, drafts, panels)
                if clashes and not partial:
                    raise refusal(clashes, alone=alone)
            break
        except IntegrityError as exc:  # somebody stored the same external id, or deleted the task, at this moment
            if attempt == 2:
                raise Conflict("Another request changed the same objects. Try again.", code="conflict") from exc
            panels = _panels(principal, set(panels))
    result.taken = sorted(taken, key=lambda one: one.index)
    result.refused = sorted([*result.refused, *clashes], key=lambda one: one.index)
    stored = {one.index for one in taken if not one.existing}
    result.estimate_ms = _estimate([one for one in drafts if one.index in stored], panels)
    return result


def refusal(refused: Sequence[Refused], *, alone: bool) -> AutotuneError:
    """One error for all that was refused: an item's own status alone; in a batch 409 if all are conflicts, else 400."""
    errors = [one.error for one in sorted(refused, key=lambda one: one.index)]
    statuses = {one.status for one in refused}
    first = errors[0]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    detail = f"{first.pointer or 'body'}: {first.detail}{more}"
    if statuses == {409}:
        code = first.code if len({error.code for error in errors}) == 1 else "conflict"
        return Conflict(detail, code=code, errors=errors[:100])
    if alone and statuses == {404}:
        return NotFound(detail, errors=errors)
    return Invalid(detail, errors=errors[:100])


def _panels(principal: Principal, task_ids: set[UUID]) -> dict[UUID, TaskPanel]:
    """The visible ones of the tasks, with version and panel."""
    visible = Task.objects.visible_to(principal).filter(pk__in=task_ids).select_related("version")
    tasks = {task.pk: task for task in visible}
    members: dict[UUID, list[PanelMember]] = {}
    for member in PanelMember.objects.filter(
        task_version__in=[task.version_id for task in tasks.values()]
    ).select_related("grader"):
        members.setdefault(member.task_version_id, []).append(member)
    return {
        key: TaskPanel(
            task,
            task.version.content["promptTemplate"],
            tuple((member.grader, member.part) for member in members.get(task.version.pk, ())),
        )
        for key, task in tasks.items()
        if task.version is not None
    }


def _drafts(
    items: dict[int, NewCompletion],
    panels: dict[UUID, TaskPanel],
    priority: str | None,
    result: Intake,
    *,
    alone: bool,
) -> list[Draft]:
    """The items that may be stored; the others go to `result.refused`."""
    drafts: list[Draft] = []
    for index, item in items.items():
        pointer = "" if alone else f"/completions/{index}"
        panel = panels.get(item.task_id.uuid)
        found, errors = draft(
            item, index=index, pointer=pointer, priority=priority, template=panel.template if panel else None
        )
        result.refused += [Refused(index, 400, error) for error in errors]
        if found is None:
            continue
        if panel is None:
            missing = FieldError(f"{pointer}/taskId", "not_found", "There is no such task.")
            result.refused.append(Refused(index, 404, missing))
            continue
        drafts.append(found)
    doubled = repeated(drafts)
    result.refused += [Refused(index, 400, error) for index, error in doubled.items()]
    return [one for one in drafts if one.index not in doubled]


def _closed(panel: TaskPanel, pointer: str) -> FieldError | None:
    """Why a task takes no new completions now. What it took before is still answered."""
    if panel.task.archived:
        return FieldError(pointer, "task_archived", "The task is archived.")
    if grader := panel.inactive:
        return FieldError(pointer, "grader_inactive", f"The task's grader {grader.public_id} is inactive.")
    return None


def _store(
    principal: Principal, drafts: Sequence[Draft], panels: dict[UUID, TaskPanel]
) -> tuple[list[Taken], list[Refused]]:
    """Write what is new, in the caller's transaction; what is stored already is answered, or refused if it differs."""
    digests = {
        one.index: encryption.content_digest(panels[one.task_id].task.organization_id, *one.canonical())
        for one in drafts
        if one.external_id is not None
    }
    taken, clashes, known = _existing(drafts, digests)
    fresh = []
    for one in drafts:
        if one.index in known:
            continue
        if error := _closed(panels[one.task_id], f"{one.pointer}/taskId"):
            clashes.append(Refused(one.index, 409, error))
        else:
            fresh.append(one)
    now = datetime.now(UTC)
    completion_ids = [ids.new() for _ in fresh]
    owners = {panels[one.task_id].task.organization_id for one in fresh}
    ciphers = {owner: encryption.cipher_for(owner) for owner in owners}
    rows = _completion_rows(principal, fresh, completion_ids, digests, panels, ciphers, now)
    bulk.insert(Completion, COMPLETION_COLUMNS, rows)
    runs = _run_rows(fresh, completion_ids, panels, now)
    bulk.insert(WorkflowRun, RUN_COLUMNS, [row for rows in runs for row in rows])
    for one, completion_id, rows in zip(fresh, completion_ids, runs, strict=True):
        taken.append(Taken(one.index, completion_id, one.external_id, [row[0] for row in rows]))
    wakeups.on_commit({grader.pk for key in {one.task_id for one in fresh} for grader, _ in panels[key].graders})
    return taken, clashes


def _existing(drafts: Sequence[Draft], digests: dict[int, bytes]) -> tuple[list[Taken], list[Refused], set[int]]:
    """Items whose external id is stored already: the first object for equal content, a conflict for other content."""
    by_task: dict[UUID, dict[str, Draft]] = {}
    for one in drafts:
        if one.external_id is not None:
            by_task.setdefault(one.task_id, {})[one.external_id] = one
    taken: list[Taken] = []
    clashes: list[Refused] = []
    for task_id, wanted in by_task.items():
        stored = Completion.objects.filter(task_id=task_id, external_id__in=list(wanted))
        for pk, external_id, digest in stored.values_list("pk", "external_id", "content_digest"):
            one = wanted[str(external_id)]
            if bytes(digest or b"") == digests[one.index]:
                taken.append(Taken(one.index, pk, external_id, [], existing=True))
            else:
                error = FieldError(
                    f"{one.pointer}/externalId",
                    "external_id_conflict",
                    f"{ids.encode('comp', pk)} has this external id and other content.",
                )
                clashes.append(Refused(one.index, 409, error))
    _add_runs(taken)
    return taken, clashes, {one.index for one in taken} | {one.index for one in clashes}


def _add_runs(taken: Sequence[Taken]) -> None:
    if not taken:
        return
    by_completion = {one.completion_id: one for one in taken}
    runs = WorkflowRun.objects.filter(completion_id__in=by_completion).order_by("pk")
    for pk, completion_id in runs.values_list("pk", "completion_id"):
        by_completion[completion_id].run_ids.append(pk)


def _completion_rows(
    principal: Principal,
    drafts: Sequence[Draft],
    completion_ids: Sequence[UUID],
    digests: dict[int, bytes],
    panels: dict[UUID, TaskPanel],
    ciphers: dict[UUID, encryption.Cipher],
    now: datetime,
) -> Iterable[tuple]:
    """Rows in the order of COMPLETION_COLUMNS, texts encrypted under the task's organization.

    The ciphers are had beforehand: while COPY reads these rows, its connection can answer no query for a data key.
    """
    for one, pk in zip(drafts, completion_ids, strict=True):
        task = panels[one.task_id].task
        cipher = ciphers[task.organization_id]
        yield (
            pk,
            task.organization_id,
            task.pk,
            task.version_id,
            principal.user.pk,
            one.model_id,
            one.external_id,
            digests.get(one.index),
            _PROMPT.envelope(cipher, pk, one.prompt),
            _RESPONSE.envelope(cipher, pk, one.response),
            _MESSAGES.envelope(cipher, pk, one.messages),
            _METADATA.envelope(cipher, pk, one.metadata),
            one.priority.value,
            Source.API.value,
            now,
        )


def _run_rows(
    drafts: Sequence[Draft], completion_ids: Sequence[UUID], panels: dict[UUID, TaskPanel], now: datetime
) -> list[list[tuple]]:
    """For each completion its runs, scoring ones first, in the order of RUN_COLUMNS."""
    out = []
    for one, completion_id in zip(drafts, completion_ids, strict=True):
        panel = panels[one.task_id]
        task = panel.task
        deadline = now + timedelta(milliseconds=task.deadline_ms)
        ordered = sorted(panel.graders, key=lambda entry: entry[1] != Part.SCORING)
        out.append(
            [
                (
                    ids.new(),
                    task.organization_id,
                    completion_id,
                    task.pk,
                    grader.pk,
                    panel.scoring if part == Part.SCORING else 0,
                    RunStatus.PENDING.value,
                    one.priority.value,
                    0,
                    0,
                    deadline,
                    "",
                    "",
                    0,
                    now,
                )
                for grader, part in ordered
            ]
        )
    return out


def _estimate(drafts: Sequence[Draft], panels: dict[UUID, TaskPanel]) -> int:
    """Milliseconds until all is scored, if the graders keep the latency that they tell and nothing else is queued."""
    counts: dict[UUID, int] = {}
    graders: dict[UUID, Grader] = {}
    for one in drafts:
        for grader, part in panels[one.task_id].graders:
            if part == Part.SCORING:
                counts[grader.pk] = counts.get(grader.pk, 0) + 1
                graders[grader.pk] = grader
    longest = 0
    for key, count in counts.items():
        grader = graders[key]
        calls = -(-count // grader.max_batch_size)
        waves = -(-calls // grader.max_concurrency)
        longest = max(longest, waves * grader.avg_latency_ms)
    return longest
