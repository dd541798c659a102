"""API endpoints of workflow runs, and of scoring a completion again."""

from dataclasses import replace
from uuid import UUID

from rest_framework.request import Request

from autotune.access.views import ApiView, find_for
from autotune.core import ids
from autotune.core.api.operations import operation
from autotune.core.errors import Invalid
from scores.intake import rescoring
from scores.models import WorkflowRun
from scores.states import RunStatus
from scores.workflow_runs import cancelling, retrying, runs
from scores.workflow_runs.requests import RetryWorkflowRuns, WorkflowRunQuery
from scores.workflow_runs.responses import (
    RescoreAnswer,
    RetryResultOut,
    SkippedRunsOut,
    WorkflowRunAnswer,
    WorkflowRunPage,
)
from scores.workflow_runs.runs import WorkflowRunFilter
from tasks.models import Completion


class WorkflowRunsView(ApiView):
    @operation(
        summary="List workflow runs", resource="workflow_runs", action="read", query=WorkflowRunQuery,
        answers={200: WorkflowRunPage},
    )  # fmt: skip
    def get(self, request: Request, query: WorkflowRunQuery) -> WorkflowRunPage:
        """The newest first, unless sorted by `createdAt`. `code` finds runs by their failure. Runs that sleep or wait
        after a failed attempt have a code too; add `status=failed` to find only runs that have ended."""
        return runs.listed(self.principal, query)


class WorkflowRunView(ApiView):
    @operation(summary="Read a workflow run", resource="workflow_runs", action="read", answers={200: WorkflowRunAnswer})
    def get(self, request: Request, run_id: UUID) -> WorkflowRunAnswer:
        return WorkflowRunAnswer(runs.read_run(self.principal, run_id))


class WorkflowRunRetryView(ApiView):
    @operation(
        summary="Retry a failed workflow run", resource="workflow_runs", action="update",
        answers={200: WorkflowRunAnswer}, errors=(409,),
    )  # fmt: skip
    def post(self, request: Request, run_id: UUID) -> WorkflowRunAnswer:
        """Makes the run due again, with all its attempts and a new deadline. The completion is `processing` until the
        run has ended, unless its other graders gave it a reward."""
        find_for(WorkflowRun.objects.all(), self.principal, run_id, "update", "workflow run")
        retrying.retry(run_id)
        return WorkflowRunAnswer(runs.read_run(self.principal, run_id))


class WorkflowRunCancelView(ApiView):
    @operation(
        summary="Cancel a workflow run", resource="workflow_runs", action="update", answers={200: WorkflowRunAnswer},
        errors=(409,),
    )  # fmt: skip
    def post(self, request: Request, run_id: UUID) -> WorkflowRunAnswer:
        """An unfinished run fails with `cancelled`. An answer of its grader that comes later is dropped."""
        find_for(WorkflowRun.objects.all(), self.principal, run_id, "update", "workflow run")
        cancelling.cancel(run_id)
        return WorkflowRunAnswer(runs.read_run(self.principal, run_id))


class WorkflowRunsRetryView(ApiView):
    # Each group of runs has a transaction of its own: `calls_out` keeps one from being held open around all of them.
    @operation(
        summary="Retry failed workflow runs", resource="workflow_runs", action="update", body=RetryWorkflowRuns,
        answers={200: RetryResultOut}, calls_out=True,
    )  # fmt: skip
    def post(self, request: Request, body: RetryWorkflowRuns) -> RetryResultOut:
        """Retries all failed runs that match the filters, up to 10,000; requires at least one filter. `skipped` counts
        the runs that could not be retried, by reason; `more` is true if failed runs are left."""
        chosen = WorkflowRunFilter.of(body)
        if not chosen:
            offered = "completionId, graderId, taskId, status, code"
            raise Invalid.field("", "missing_field", f"Send at least one of {offered}.")
        runs.require_known(self.principal, chosen, "/")
        failed = replace(chosen, status=RunStatus.FAILED)
        outcome = retrying.retry_all(failed.apply(WorkflowRun.objects.allowed(self.principal, "update")))
        skipped = [SkippedRunsOut(code, count) for code, count in sorted(outcome.skipped.items())]
        return RetryResultOut(outcome.retried, skipped, outcome.more)


class CompletionRescoreView(ApiView):
    @operation(
        summary="Score a completion again", resource="completions", action="create", answers={202: RescoreAnswer},
        errors=(409,),
    )  # fmt: skip
    def post(self, request: Request, completion_id: UUID) -> RescoreAnswer:
        """Creates new runs for the panel with which the completion was submitted, with the current versions of its
        graders. Old scores stay. After all new runs have ended, the reward follows the newest scores."""
        find_for(Completion.objects.all(), self.principal, completion_id, "create", "completion")
        run_ids = rescoring.rescore(completion_id, self.principal)
        return RescoreAnswer([ids.encode("run", run_id) for run_id in run_ids])
