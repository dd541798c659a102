"""Responses of the completion API."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from msgspec import UNSET, UnsetType, structs

from autotune.core import clock, ids
from autotune.core.api.operations import ApiStruct
from autotune.core.api.pagination import Pagination
from autotune.core.crypto.fields import LegibleRow
from scores.intake.outcomes import FreshCompletion
from scores.models import Reward, WorkflowRun
from scores.results.scores import ScoreOut
from scores.results.waiting_responses import WaitingForOut
from scores.states import CompletionStatus, RunStatus
from tasks.models import Completion
from tasks.states import Priority

UNCLAIMED = (RunStatus.PENDING, RunStatus.SLEEPING)  # of a run that no worker has claimed yet
PRIORITY_NAMES = {Priority.LOW: "low", Priority.NORMAL: "normal", Priority.HIGH: "high"}


class RewardOut(ApiStruct):
    """The panel's scores as one number, made from `used` scores; `failed` scores are missing."""

    value: float
    confidence: float
    aggregation: str
    used: int
    failed: int
    scored_at: str


class CompletionOut(ApiStruct):
    """`heldOut` completions are never trained on: no score list, figure, pair or export includes them.

    `unreadable` names the members that are null because they cannot be decrypted; it is absent otherwise.
    """

    id: str
    task_id: str
    task_version: str
    model_id: str
    prompt: str | None
    response: str | None
    messages: list[dict[str, Any]] | None
    external_id: str | None
    metadata: dict[str, Any] | None
    priority: str
    source: str
    held_out: bool
    status: CompletionStatus
    reward: RewardOut | None
    workflow_run_ids: list[str]
    erased_at: str | None
    created_at: str
    unreadable: list[str] | UnsetType = UNSET


class CompletionAnswer(ApiStruct):
    completion: CompletionOut


class CompletionPage(ApiStruct):
    completions: list[CompletionOut]
    pagination: Pagination


class CompletionSubmitted(ApiStruct, omit_defaults=True):
    """`existing` is true (and the status 200) for an external id that was stored before with the same content.

    `status` is `scoring`, or `ungraded` for a deck without graders; `workflowRunId` is then null.
    """

    completion: CompletionOut
    estimated_score_time_ms: int
    workflow_run_id: str | None
    workflow_run_ids: list[str]
    status: str
    existing: bool = False


class BatchItemOut(ApiStruct, omit_defaults=True):
    """`index` is present only in a partial response (207)."""

    id: str
    external_id: str | None
    workflow_run_ids: list[str]
    existing: bool = False
    index: int | None = None


class BatchSubmitted(ApiStruct):
    completions: list[BatchItemOut]
    estimated_score_time_ms: int


class BatchItemErrorOut(ApiStruct):
    index: int
    pointer: str
    code: str
    detail: str


class PartialBatchSubmitted(ApiStruct):
    """The stored completions, and the errors of the items that were rejected."""

    completions: list[BatchItemOut]
    errors: list[BatchItemErrorOut]
    estimated_score_time_ms: int


class ScoreStateOut(ApiStruct):
    """`score` is the sole grader's, the newest if it was scored again; for a panel the reward in a score's shape.

    Null until the completion is final. Until then `waitingFor` says why; for a panel, the reason that ends last.
    """

    score: ScoreOut | None
    scores: list[ScoreOut]
    reward: RewardOut | None
    status: CompletionStatus
    waiting_for: WaitingForOut | None = None


def status_of(reward: Reward | None, runs: Iterable[WorkflowRun]) -> CompletionStatus:
    """Return a completion's status. A run that sleeps until its `notBefore` has not started."""
    if reward is not None:
        return CompletionStatus.FAILED if reward.value is None else CompletionStatus.COMPLETED
    started = [run.attempt > 0 or run.status not in UNCLAIMED for run in runs]
    if not started:
        return CompletionStatus.UNGRADED
    return CompletionStatus.PROCESSING if any(started) else CompletionStatus.PENDING


def reward_out(reward: Reward | None) -> RewardOut | None:
    """Convert a reward to its response; None if there is none or the completion failed."""
    if reward is None or reward.value is None or reward.confidence is None:
        return None
    return RewardOut(
        reward.value, reward.confidence, reward.aggregation, reward.used, reward.failed, clock.wire(reward.scored_at)
    )


def completion_out(completion: Completion, reward: Reward | None, runs: Sequence[WorkflowRun]) -> CompletionOut:
    """Convert a completion to its response. `runs` are in the order in which their ids are shown."""
    text = LegibleRow(completion)
    prompt, response, messages, metadata = text.prompt, text.response, text.messages, text.metadata
    return CompletionOut(
        id=completion.public_id,
        task_id=ids.encode("task", completion.task_id),
        task_version=ids.encode("taskv", completion.task_version_id),
        model_id=completion.model_id,
        prompt=prompt,
        response=response,
        messages=messages,
        external_id=completion.external_id,
        metadata=None if "metadata" in text.unreadable else metadata or {},
        priority=PRIORITY_NAMES[Priority(completion.priority)],
        source=completion.source,
        held_out=completion.held_out,
        status=status_of(reward, runs),
        reward=reward_out(reward),
        workflow_run_ids=run_ids(run.pk for run in runs),
        erased_at=clock.wire(completion.erased_at) if completion.erased_at else None,
        created_at=clock.wire(completion.created_at),
        unreadable=text.marker(),
    )


def fresh_out(completion_id: UUID, fresh: FreshCompletion, runs: Sequence[UUID]) -> CompletionOut:
    """Return the response for a completion that this request stored, as a later read returns it; makes no query.

    No other transaction sees the completion before the commit, so it needs no lock: an erasure comes later.
    """
    draft = fresh.draft
    return CompletionOut(
        id=ids.encode("comp", completion_id),
        task_id=ids.encode("task", draft.task_id),
        task_version=ids.encode("taskv", fresh.task_version_id),
        model_id=draft.model_id,
        prompt=draft.prompt,
        response=draft.response,
        messages=draft.messages,
        external_id=draft.external_id,
        metadata=draft.metadata or {},
        priority=PRIORITY_NAMES[draft.priority],
        source=fresh.source.value,
        held_out=draft.held_out,
        status=CompletionStatus.PENDING if runs else CompletionStatus.UNGRADED,
        reward=None,
        workflow_run_ids=run_ids(runs),
        erased_at=None,
        created_at=clock.wire(fresh.created_at),
    )


def shared_out(completion: CompletionOut, runs: Iterable[UUID]) -> CompletionOut:
    """A completion for the owner of a grader with whom its task shares the text; `runs` are those of this grader.

    The organization's external id and metadata, the reward and the runs of other graders are not shared.
    """
    return structs.replace(completion, external_id=None, metadata={}, reward=None, workflow_run_ids=run_ids(runs))


def run_ids(values: Iterable[UUID]) -> list[str]:
    return [ids.encode("run", value) for value in values]
