"""Workflow runs, which take completions to their scores: list, retry and cancel them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict, Unpack

from .. import _wire
from ..models.pages import Page
from ..models.runs import Retried, WorkflowRun
from ._base import Resource, member, new_key, segment, wire_members

PAGE = 500


class WorkflowRunFilters(TypedDict, total=False):
    """The filters of a list. code: that of the last failed attempt, and of the run itself once it is 'failed'."""

    completion_id: str | None
    grader_id: str | None
    task_id: str | None
    status: str | None
    code: str | None


class WorkflowRunListFilters(WorkflowRunFilters, total=False):
    """attempt_code: that of any failed attempt at the grader in grader_id, also of runs that recovered."""

    attempt_code: str | None


class WorkflowRuns(Resource):
    """`client.workflow_runs`."""

    def list(
        self,
        *,
        sort: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
        **filters: Unpack[WorkflowRunListFilters],
    ) -> Page[WorkflowRun]:
        """Return one page of workflow runs, the newest first."""
        parameters = {"sort": sort, "limit": limit, "offset": offset, "cursor": cursor, **filters}
        return self._page("/workflow-runs", "workflowRuns", WorkflowRun, parameters)

    def iterate(self, *, page_size: int = PAGE, **filters: Unpack[WorkflowRunListFilters]) -> Iterator[WorkflowRun]:
        """Iterate over all workflow runs of a selection, page by page (by cursor), the newest first."""
        yield from self.list(limit=page_size, **filters)

    def get(self, run_id: str) -> WorkflowRun:
        """Return one workflow run with its timeline."""
        return _run(self._transport.get(f"/workflow-runs/{segment(run_id)}"))

    def retry(self, run_id: str, *, idempotency_key: str | None = None) -> WorkflowRun:
        """Retry a failed workflow run. Raises ConflictError for a run that did not fail or has been replaced."""
        path = f"/workflow-runs/{segment(run_id)}/retry"
        return _run(self._transport.post(path, b"{}", idempotency_key=idempotency_key or new_key()))

    def cancel(self, run_id: str, *, idempotency_key: str | None = None) -> WorkflowRun:
        """Cancel an unfinished workflow run: it fails with `cancelled`. Raises ConflictError for one that has ended."""
        path = f"/workflow-runs/{segment(run_id)}/cancel"
        return _run(self._transport.post(path, b"{}", idempotency_key=idempotency_key or new_key()))

    def retry_matching(self, *, idempotency_key: str | None = None, **filters: Unpack[WorkflowRunFilters]) -> Retried:
        """Retry the failed workflow runs that match the filters (at least one), at most 10,000 in one call."""
        body = _wire.dumps(wire_members(filters))
        answer = self._transport.post("/workflow-runs/retry", body, idempotency_key=idempotency_key or new_key())
        member(answer, "retried")
        return _wire.decode(Retried, answer)


def _run(answer: object) -> WorkflowRun:
    return _wire.decode(WorkflowRun, member(answer, "workflowRun"))
