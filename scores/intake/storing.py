"""Store submitted completions that are not stored already, and their runs, by COPY."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self
from uuid import UUID

from autotune.access.principal import Principal
from autotune.core import bulk, clock, ids
from autotune.core.crypto import encryption
from autotune.core.crypto.fields import LegibleRow, encrypted
from autotune.core.errors import FieldError
from graders.models import Grader
from scores.engine import wakeups
from scores.intake import external_ids
from scores.intake.drafts import CompletionDraft
from scores.intake.outcomes import FreshCompletion, RefusedItem, StoredItem
from scores.models import WorkflowRun
from scores.states import RunPurpose, RunStatus, WaitKind
from tasks.conversations import form_of
from tasks.digests import Digester
from tasks.models import Completion, PanelMember, Task, TaskVersion
from tasks.panels import blocks_submissions
from tasks.states import CompletionSource, ConversationShape, PanelPart

COMPLETION_COLUMNS = (
    "id", "organization_id", "task_id", "task_version_id", "created_by_id", "model_id", "external_id", "content_digest",
    "prompt_digest", "answer_digest", "form", "prompt", "response", "messages", "metadata", "variables", "priority",
    "source", "held_out", "created_at",
)  # fmt: skip
RUN_COLUMNS = (
    "id", "organization_id", "completion_id", "task_id", "grader_id", "purpose", "panel_size", "status", "priority",
    "attempt", "failures", "wake_at", "deadline_at", "error_code", "error_message", "error_repeats", "created_at",
)  # fmt: skip
_PURPOSES = {PanelPart.SCORING.value: RunPurpose.SCORE.value, PanelPart.SHADOW.value: RunPurpose.SHADOW.value}
COPY_COLUMNS = (*RUN_COLUMNS, "waits_for", "reuses")
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
        content: dict[str, Any] | None = LegibleRow(version).content
        if content is None:
            return cls(task, "", graders, is_readable=False)
        return cls(task, content.get("promptTemplate", ""), graders, content.get("systemPrompt"))

    @property
    def scoring(self) -> int:
        return sum(part == PanelPart.SCORING for _, part in self.graders)

    @property
    def inactive(self) -> Grader | None:
        """A scoring grader that is inactive, or None."""
        return next((grader for grader, part in self.graders if blocks_submissions(grader, part)), None)

    def is_judged_outside(self, organization_id: UUID) -> bool:
        """Whether a grader of another organization would see prompts and responses."""
        return any(grader.organization_id != organization_id for grader, _ in self.graders)


@dataclass(frozen=True, slots=True)
class TextKeys:
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


def _closed(draft: CompletionDraft, panel: TaskPanel, principal: Principal) -> RefusedItem | None:
    """Why a task accepts no new completions now, or None. Items that are stored already are still returned."""
    pointer = f"{draft.pointer}/taskId"
    if panel.task.archived:
        return RefusedItem(draft.index, 409, FieldError(pointer, "task_archived", "The task is archived."))
    if grader := panel.inactive:
        detail = f"The task's grader {grader.public_id} is inactive. Activate it, or remove it from the panel."
        return RefusedItem(draft.index, 409, FieldError(pointer, "grader_inactive", detail))
    if principal.is_test and panel.is_judged_outside(principal.organization.pk):
        detail = "A test key may use only graders of its own organization."
        return RefusedItem(draft.index, 403, FieldError(pointer, "forbidden", detail))
    return None


def store(
    principal: Principal,
    drafts: Sequence[CompletionDraft],
    panels: dict[UUID, TaskPanel],
    source: CompletionSource = CompletionSource.API,
) -> tuple[list[StoredItem], list[RefusedItem]]:
    """Store the new items, in the caller's transaction; return all stored items, and the refused ones.

    An item whose external id is stored already returns that completion, or is refused if its content differs.

    source  how Autotune received the items, which the endpoint knows
    """
    digests: dict[int, bytes] = {}
    stored: list[StoredItem] = []
    clashes: list[RefusedItem] = []
    if named := [draft for draft in drafts if draft.external_id is not None]:
        owners = {draft.task_id: panels[draft.task_id].task.organization_id for draft in named}
        digests = external_ids.content_digests(named, owners)
        stored, clashes = external_ids.existing(named, digests)
    existing_indexes = {item.index for item in stored} | {item.index for item in clashes}
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
    organizations = {panels[draft.task_id].task.organization_id for draft in fresh}
    secrets = {pk: TextKeys(encryption.cipher_for(pk), Digester(pk)) for pk in organizations}
    completion_rows = _completion_rows(principal, with_ids, digests, panels, secrets, source, now)
    bulk.insert(Completion, COMPLETION_COLUMNS, completion_rows)
    runs = _run_rows(with_ids, panels, now)
    pairs = list(zip(with_ids, runs, strict=True))
    bulk.insert(WorkflowRun, RUN_COLUMNS, [row for (draft, _), rows in pairs if draft.copy_of is None for row in rows])
    waiting = [
        (*row, WaitKind.REUSE.value, draft.copy_of) for (draft, _), rows in pairs if draft.copy_of for row in rows
    ]
    if waiting:
        bulk.insert(WorkflowRun, COPY_COLUMNS, waiting)
    for (draft, completion_id), rows in pairs:
        stored.append(
            _stored_item(draft, completion_id, panels[draft.task_id].task, [row[0] for row in rows], source, now)
        )
    due = {draft.task_id for draft in fresh if draft.not_before is None and draft.copy_of is None}
    wakeups.on_commit({grader.pk for key in due for grader, _ in panels[key].graders})
    return stored, clashes


def _stored_item(
    draft: CompletionDraft,
    completion_id: UUID,
    task: Task,
    run_ids: list[UUID],
    source: CompletionSource,
    now: datetime,
) -> StoredItem:
    """Return what the response says of a new completion; its fields need no read of the row just stored."""
    assert task.version_id is not None  # a task without a version has no panel
    fresh = FreshCompletion(draft, task.version_id, source, now)
    return StoredItem(draft.index, completion_id, draft.external_id, run_ids, fresh)


def _completion_rows(
    principal: Principal,
    with_ids: Sequence[tuple[CompletionDraft, UUID]],
    digests: dict[int, bytes],
    panels: dict[UUID, TaskPanel],
    secrets: dict[UUID, TextKeys],
    source: CompletionSource,
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
            ConversationShape.PROMPT.value if draft.messages is None else form_of(draft.messages).value,
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
    with_ids: Sequence[tuple[CompletionDraft, UUID]], panels: dict[UUID, TaskPanel], now: datetime
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
        ordered = sorted(panel.graders, key=lambda entry: entry[1] != PanelPart.SCORING)
        out.append(
            [
                (
                    ids.new(),
                    task.organization_id,
                    completion_id,
                    task.pk,
                    grader.pk,
                    _PURPOSES[part],
                    panel.scoring if part == PanelPart.SCORING else 0,
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
                if part == PanelPart.SCORING or draft.copy_of is None
            ]
        )
    return out
