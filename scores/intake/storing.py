"""Store submitted completions: look up those that are stored already, and insert the others and their runs by COPY."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self
from uuid import UUID

from django.db import connection

from autotune.access.principal import Principal
from autotune.core import bulk, clock, ids
from autotune.core.crypto import encryption
from autotune.core.crypto.fields import encrypted
from autotune.core.errors import FieldError
from graders.models import Grader
from graders.states import GraderStatus
from scores.engine import wakeups
from scores.intake.drafts import Draft
from scores.models import WorkflowRun
from scores.states import BACKGROUND, Purpose, RunStatus, WaitsFor
from tasks.conversations import form_of
from tasks.digests import Digester
from tasks.models import Completion, PanelMember, Task, TaskVersion
from tasks.responses import content_of
from tasks.states import Part, Source

COMPLETION_COLUMNS = (
    "id", "organization_id", "task_id", "task_version_id", "created_by_id", "model_id", "external_id", "content_digest",
    "prompt_digest", "answer_digest", "form", "prompt", "response", "messages", "metadata", "variables", "priority",
    "source", "held_out", "created_at",
)  # fmt: skip
RUN_COLUMNS = (
    "id", "organization_id", "completion_id", "task_id", "grader_id", "purpose", "panel_size", "status", "priority",
    "attempt", "failures", "wake_at", "deadline_at", "error_code", "error_message", "error_repeats", "created_at",
)  # fmt: skip
_PURPOSES = {Part.SCORING.value: Purpose.SCORE.value, Part.SHADOW.value: Purpose.SHADOW.value}
COPY_COLUMNS = (*RUN_COLUMNS, "waits_for", "reuses")
# One look-up in the unique index for each pair. For a constant task whose rows all came after the last ANALYZE,
# PostgreSQL expects one row and would read all of them by another index; for a joined task it expects the average
# number. `offset 0` keeps the subquery from being joined in another way.
_WITH_EXTERNAL_IDS = """
    select c.id, c.task_id, c.external_id, c.content_digest, c.erased_at
    from unnest(%s::uuid[], %s::text[]) as e(task_id, external_id) cross join lateral (
        select * from tasks_completion c where c.task_id = e.task_id and c.external_id = e.external_id offset 0
    ) c
"""
_PROMPT, _RESPONSE, _MESSAGES, _METADATA, _VARIABLES = (
    encrypted(Completion, name) for name in ("prompt", "response", "messages", "metadata", "variables")
)


@dataclass(frozen=True, slots=True)
class TaskPanel:
    """The data of a task that intake needs.

    is_readable  False if the version cannot be decrypted: then its template and its system prompt are unknown
    """

    task: Task
    template: str
    graders: tuple[tuple[Grader, str], ...]  # grader and part
    system_prompt: str | None = None  # of the version; prompts are equal only under equal system prompts
    is_readable: bool = True

    @classmethod
    def of(cls, task: Task, version: TaskVersion, graders: tuple[tuple[Grader, str], ...]) -> Self:
        """Return the panel of a version, with its template and system prompt if they can be decrypted.

        raises  MasterKeyMissing
        """
        content = content_of(version)
        if content is None:
            return cls(task, "", graders, is_readable=False)
        return cls(task, content.get("promptTemplate", ""), graders, content.get("systemPrompt"))

    @property
    def scoring(self) -> int:
        return sum(part == Part.SCORING for _, part in self.graders)

    @property
    def inactive(self) -> Grader | None:
        """A scoring grader that is inactive, or None."""
        return next(
            (
                grader
                for grader, part in self.graders
                if part == Part.SCORING and (grader.status == GraderStatus.INACTIVE or grader.deleted_at)
            ),
            None,
        )

    def is_judged_outside(self, organization_id: UUID) -> bool:
        """Whether a grader of another organization would see prompts and responses."""
        return any(grader.organization_id != organization_id for grader, _ in self.graders)


@dataclass(frozen=True, slots=True)
class Secrets:
    """The keys with which one organization's texts are encrypted and digested."""

    cipher: encryption.Cipher
    digester: Digester


def panel_of(task: Task, task_version_id: UUID) -> TaskPanel:
    """Return the panel of a version of the task, without its template and system prompt."""
    members = list(PanelMember.objects.filter(task_version_id=task_version_id).select_related("grader", "task_version"))
    graders = tuple((member.grader, member.part) for member in members)
    if not members:  # a deck, or a task that is just being deleted
        return TaskPanel(task, "", graders)
    return TaskPanel.of(task, members[0].task_version, graders)


@dataclass(slots=True)
class StoredItem:
    """An item that is stored, by this request or an earlier one. The scoring runs come first in `run_ids`."""

    index: int
    completion_id: UUID
    external_id: str | None
    run_ids: list[UUID]
    existing: bool = False


@dataclass(slots=True)
class Refused:
    """An item that is not stored, with the status that it would have as a single completion."""

    index: int
    status: int
    error: FieldError


def _closed(draft: Draft, panel: TaskPanel, principal: Principal) -> Refused | None:
    """Why a task accepts no new completions now, or None. Items that are stored already are still returned."""
    pointer = f"{draft.pointer}/taskId"
    if panel.task.archived:
        return Refused(draft.index, 409, FieldError(pointer, "task_archived", "The task is archived."))
    if grader := panel.inactive:
        detail = f"The task's grader {grader.public_id} is inactive. Activate it, or remove it from the panel."
        return Refused(draft.index, 409, FieldError(pointer, "grader_inactive", detail))
    if principal.is_test and panel.is_judged_outside(principal.organization.pk):
        detail = "A test key may use only graders of its own organization."
        return Refused(draft.index, 403, FieldError(pointer, "forbidden", detail))
    return None


def store(
    principal: Principal, drafts: Sequence[Draft], panels: dict[UUID, TaskPanel], source: Source = Source.API
) -> tuple[list[StoredItem], list[Refused]]:
    """Store the new items, in the caller's transaction; return all stored items, and the refused ones.

    An item whose external id is stored already returns that completion, or is refused if its content differs.

    source  how Autotune received the items, which the endpoint knows
    """
    digests = _digests(drafts, panels)
    stored, clashes, existing_indexes = _existing(drafts, digests)
    fresh = []
    for draft in drafts:
        if draft.index in existing_indexes:
            continue
        if refused := _closed(draft, panels[draft.task_id], principal):
            clashes.append(refused)
        else:
            fresh.append(draft)
    # Ids are in the order of the request. Rows are in the same order for all requests, which prevents deadlocks.
    with_ids = sorted(
        ((draft, draft.pk or ids.new()) for draft in fresh),
        key=lambda pair: (pair[0].external_id or "", pair[0].task_id),
    )
    now = clock.shared_now()
    owners = {panels[draft.task_id].task.organization_id for draft in fresh}
    secrets = {owner: Secrets(encryption.cipher_for(owner), Digester(owner)) for owner in owners}
    completion_rows = _completion_rows(principal, with_ids, digests, panels, secrets, source, now)
    bulk.insert(Completion, COMPLETION_COLUMNS, completion_rows)
    runs = _run_rows(with_ids, panels, now)
    pairs = list(zip(with_ids, runs, strict=True))
    bulk.insert(WorkflowRun, RUN_COLUMNS, [row for (draft, _), rows in pairs if draft.copy_of is None for row in rows])
    waiting = [
        (*row, WaitsFor.REUSE.value, draft.copy_of) for (draft, _), rows in pairs if draft.copy_of for row in rows
    ]
    if waiting:
        bulk.insert(WorkflowRun, COPY_COLUMNS, waiting)
    for (draft, completion_id), rows in pairs:
        stored.append(StoredItem(draft.index, completion_id, draft.external_id, [row[0] for row in rows]))
    due = {draft.task_id for draft in fresh if draft.not_before is None and draft.copy_of is None}
    wakeups.on_commit({grader.pk for key in due for grader, _ in panels[key].graders})
    return stored, clashes


def _digests(drafts: Sequence[Draft], panels: dict[UUID, TaskPanel]) -> dict[int, bytes]:
    """The content digests, by index, of the items with an external id."""
    with_owners = [
        (draft, panels[draft.task_id].task.organization_id) for draft in drafts if draft.external_id is not None
    ]
    keys = {owner: encryption.digest_key(owner) for owner in {owner for _, owner in with_owners}}
    return {draft.index: encryption.keyed_digest(keys[owner], *draft.canonical()) for draft, owner in with_owners}


def _existing(drafts: Sequence[Draft], digests: dict[int, bytes]) -> tuple[list[StoredItem], list[Refused], set[int]]:
    """Look up the items whose external id exists: a stored item for equal content, a conflict for other content."""
    by_key = {(draft.task_id, draft.external_id): draft for draft in drafts if draft.external_id is not None}
    stored: list[StoredItem] = []
    clashes: list[Refused] = []
    for pk, task_id, external_id, digest, erased_at in _with_external_ids(list(by_key)):
        draft = by_key[task_id, external_id]
        if bytes(digest or b"") == digests[draft.index]:
            stored.append(StoredItem(draft.index, pk, external_id, [], existing=True))
        else:
            has = "other content" if erased_at is None else "was erased"
            error = FieldError(
                f"{draft.pointer}/externalId",
                "external_id_conflict",
                f"{ids.encode('comp', pk)} has this external id and {has}.",
            )
            clashes.append(Refused(draft.index, 409, error))
    _add_runs(stored)
    return stored, clashes, {item.index for item in stored} | {item.index for item in clashes}


def _with_external_ids(keys: list[tuple[UUID, str]]) -> Iterable[tuple[UUID, UUID, str, bytes | None, datetime | None]]:
    """Find the completions of these tasks and external ids: id, task, external id, content digest, time of erasure."""
    if not keys:
        return []
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(_WITH_EXTERNAL_IDS, [list(column) for column in zip(*keys, strict=True)])
            return cursor.fetchall()
    by_task: dict[UUID, list[str]] = {}
    for task_id, external_id in keys:
        by_task.setdefault(task_id, []).append(external_id)
    columns = ("pk", "task_id", "external_id", "content_digest", "erased_at")
    rows = [
        Completion.objects.filter(task_id=task_id, external_id__in=external_ids).values_list(*columns)
        for task_id, external_ids in by_task.items()
    ]
    return itertools.chain.from_iterable(rows)


def _add_runs(stored: Sequence[StoredItem]) -> None:
    if not stored:
        return
    by_completion = {item.completion_id: item for item in stored}
    runs = WorkflowRun.objects.filter(completion_id__in=by_completion).exclude(purpose__in=BACKGROUND).order_by("pk")
    for pk, completion_id in runs.values_list("pk", "completion_id"):
        by_completion[completion_id].run_ids.append(pk)


def _completion_rows(
    principal: Principal,
    with_ids: Sequence[tuple[Draft, UUID]],
    digests: dict[int, bytes],
    panels: dict[UUID, TaskPanel],
    secrets: dict[UUID, Secrets],
    source: Source,
    now: datetime,
) -> Iterable[tuple]:
    """Rows in the order of COMPLETION_COLUMNS, texts encrypted under the task's organization.

    The secrets are read beforehand: while COPY reads these rows, its connection can answer no query for a key.
    """
    for draft, pk in with_ids:
        task, system_prompt = panels[draft.task_id].task, panels[draft.task_id].system_prompt
        cipher, digester = secrets[task.organization_id].cipher, secrets[task.organization_id].digester
        yield (
            pk,
            task.organization_id,
            task.pk,
            task.version_id,
            principal.user.pk,
            draft.model_id,
            draft.external_id,
            digests.get(draft.index),
            *digester.stored(draft.prompt, draft.messages, draft.response, system_prompt=system_prompt),
            form_of(draft.messages).value,
            _PROMPT.envelope(cipher, pk, draft.prompt),
            _RESPONSE.envelope(cipher, pk, draft.response),
            _MESSAGES.envelope(cipher, pk, draft.messages),
            _METADATA.envelope(cipher, pk, draft.metadata),
            _VARIABLES.envelope(cipher, pk, draft.variables),
            draft.priority.value,
            source.value,
            draft.held_out,
            now,
        )


def _run_rows(
    with_ids: Sequence[tuple[Draft, UUID]], panels: dict[UUID, TaskPanel], now: datetime
) -> list[list[tuple]]:
    """Rows for the runs of each completion, in the order of RUN_COLUMNS, scoring runs first. They sleep to `notBefore`.

    A completion that will be a copy has only scoring runs, which wait: a shadow grader judges equal content once.
    """
    out = []
    for draft, completion_id in with_ids:
        panel = panels[draft.task_id]
        task = panel.task
        status = RunStatus.PENDING if draft.not_before is None else RunStatus.SLEEPING
        if draft.copy_of is not None:
            status = RunStatus.WAITING
        deadline = (draft.not_before or now) + timedelta(milliseconds=task.deadline_ms)
        ordered = sorted(panel.graders, key=lambda entry: entry[1] != Part.SCORING)
        out.append(
            [
                (
                    ids.new(),
                    task.organization_id,
                    completion_id,
                    task.pk,
                    grader.pk,
                    _PURPOSES[part],
                    panel.scoring if part == Part.SCORING else 0,
                    status.value,
                    draft.priority.value,
                    0,
                    0,
                    draft.not_before,
                    deadline,
                    "",
                    None,
                    0,
                    now,
                )
                for grader, part in ordered
                if part == Part.SCORING or draft.copy_of is None
            ]
        )
    return out
