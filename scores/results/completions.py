"""Read a completion, a page of completions, and the state of a completion's score."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from django.db import connection
from django.db.models import Exists, OuterRef

from autotune.access import current_rights, policy
from autotune.access.principal import Principal
from autotune.access.views import find
from autotune.core.api import pagination
from autotune.core.errors import Unauthenticated
from scores.engine import settling
from scores.intake.requests import CompletionQuery
from scores.models import Reward, Score, WorkflowRun
from scores.results import completion_filters, waiting_reasons
from scores.results import scores as score_results
from scores.results.completion_responses import (
    CompletionOut,
    CompletionPage,
    ScoreStateOut,
    completion_out,
    reward_out,
    shared_out,
    status_of,
)
from scores.results.privacy import ViewerSight
from scores.results.waiting import hub
from scores.results.waiting_reasons import WaitExplanation
from scores.states import ENDED, CompletionStatus, RunPurpose
from tasks import sharing
from tasks.models import Completion

ORDER = pagination.SortOrder("completions", {"createdAt": "id"})


def read_completion(principal: Principal, completion_id: UUID) -> CompletionOut:
    """Return a completion as the caller may see it.

    raises NotFound, also for a completion of another organization that does not share it with the caller
    """
    return seen([find(sharing.readable(principal), completion_id, "completion")], principal)[0]


def shape_of(completion_id: UUID) -> CompletionOut:
    """Return a completion that was found by its external id.

    In a transaction it locks the completion, so that an erasure finds every stored response that contains its text.
    """
    if connection.in_atomic_block:
        settling.lock({completion_id})
    return shapes([Completion.objects.get(pk=completion_id)])[0]


def shapes(rows: Sequence[Completion]) -> list[CompletionOut]:
    """Convert completions with their rewards and runs; two queries for any number."""
    completion_ids = [row.pk for row in rows]
    rewards = Reward.objects.in_bulk(completion_ids)
    runs: dict[UUID, list[WorkflowRun]] = {}
    for run in sorted(WorkflowRun.objects.filter(completion_id__in=completion_ids), key=_scoring_first):
        runs.setdefault(run.completion_id, []).append(run)
    return [completion_out(row, rewards.get(row.pk), runs.get(row.pk, [])) for row in rows]


def seen(rows: Sequence[Completion], principal: Principal) -> list[CompletionOut]:
    """Return completions as the caller may see them: shared ones with their text and the runs of own graders."""
    shared = {row.public_id: row.pk for row in rows if sharing.is_only_shared(row, principal)}
    own_run_ids: dict[UUID, list[UUID]] = {}
    if shared:
        runs = WorkflowRun.objects.visible_to(principal).filter(completion_id__in=shared.values()).order_by("id")
        for completion_id, run_id in runs.values_list("completion_id", "pk"):
            own_run_ids.setdefault(completion_id, []).append(run_id)
    return [shared_out(out, own_run_ids.get(shared[out.id], ())) if out.id in shared else out for out in shapes(rows)]


def listed(principal: Principal, query: CompletionQuery) -> CompletionPage:
    """Return one page of the completions that match the filters."""
    completions = completion_filters.chosen(principal, query)
    rows, page = pagination.page(completions.only("pk"), query, ORDER, owner=principal.organization.pk)
    completion_ids = [row.pk for row in rows]
    pagination.require_modest(
        Completion.objects.filter(pk__in=completion_ids), ("prompt", "response", "messages", "metadata")
    )
    texts = Completion.objects.defer("variables").in_bulk(completion_ids)
    return CompletionPage(seen([texts[key] for key in completion_ids if key in texts], principal), page)


def score_state(principal: Principal, completion_id: UUID, *, wait_s: float, gone: Callable[[], bool]) -> ScoreStateOut:
    """Return the scores of a completion and its reward, after waiting for it to be final.

    wait_s  seconds to wait at most; no database connection is held during the wait
    gone    whether the caller has left
    raises  NotFound; Unauthenticated or Forbidden if the caller lost access during the wait
    """
    completion = find(_readable(principal), completion_id, "completion")
    progress = _Progress.of(completion_id)
    if progress.status not in ENDED and wait_s > 0:
        hub.wait(completion_id, wait_s, gone=gone)
        principal = _current_principal(principal)
        progress = _Progress.of(completion_id)
    return _score_state(principal, completion, progress)


@dataclass(frozen=True, slots=True)
class _Progress:
    """The progress of a completion: its reward, if there is one, and its runs."""

    reward: Reward | None
    runs: list[WorkflowRun]

    @classmethod
    def of(cls, completion_id: UUID) -> Self:
        reward = Reward.objects.filter(pk=completion_id).first()
        return cls(reward, list(WorkflowRun.objects.filter(completion_id=completion_id)))

    @property
    def status(self) -> CompletionStatus:
        return status_of(self.reward, self.runs)


def _current_principal(principal: Principal) -> Principal:
    """Reload the principal after a wait: its key may be revoked by then, or its user may have left.

    raises  Unauthenticated, Forbidden
    """
    key_id = principal.key.pk if principal.key else None
    current = current_rights.principal_now(principal.organization.pk, principal.user.pk, key_id)
    if current is None:
        raise Unauthenticated("The API key or session ended while the request waited.")
    policy.require(current, "scores", "read")
    return current


def _readable(principal: Principal) -> Any:
    """Completions whose score the principal may read: a grader's owner those that the grader scored."""
    if _sees_own_alone(principal):
        scored = Score.objects.live().visible_to(principal).filter(completion=OuterRef("pk"))
        readable = Completion.objects.filter(Exists(scored))
    else:
        readable = policy.scope(Completion.objects.all(), principal, "scores", "read")
    return readable.only("pk", "task_version_id")


def _sees_own_alone(principal: Principal) -> bool:
    return policy.reach(principal, "scores", "read") == "own"


def _score_state(principal: Principal, completion: Completion, progress: _Progress) -> ScoreStateOut:
    """The state as the principal sees it: a grader's owner sees only its scores and no reward, others see all."""
    reward, runs, status = progress.reward, progress.runs, progress.status
    visible_scores = Score.objects.live().visible_to(principal).defer("details")
    scores = list(visible_scores.filter(completion_id=completion.pk).order_by("id"))
    if _sees_own_alone(principal):
        reward = None
    panel = {run.grader_id for run in runs if run.purpose == RunPurpose.SCORE}
    sight = ViewerSight.of(principal)
    score = None
    if reward is not None and len(panel) == 1:
        counted = [row for row in scores if row.is_scoring and not row.superseded]
        score = score_results.shape(counted[-1], sight) if counted else None
    elif reward is not None:
        score = score_results.reward_shape(reward)
    wait = None if status in ENDED else _wait(principal, runs)
    return ScoreStateOut(
        score, score_results.shapes(scores, sight), reward_out(reward), status, wait.out() if wait else None
    )


def _wait(principal: Principal, runs: Sequence[WorkflowRun]) -> WaitExplanation | None:
    """Why the completion has no score yet. None for a grader's owner, who sees no other grader's runs."""
    waits = waiting_reasons.of_runs([run for run in runs if run.purpose == RunPurpose.SCORE])
    return waiting_reasons.longest(list(waits.values())) if waits and not _sees_own_alone(principal) else None


def _scoring_first(run: WorkflowRun) -> tuple[bool, UUID]:
    return run.purpose != RunPurpose.SCORE, run.pk
