"""Read the failed attempts of a run, as a reader may see them.

Everyone who may read the run sees the code of an attempt, the check that failed, and what to change. The call and the
rest of the answer are for the grader's own organization.
"""

from typing import Any, Final

from msgspec import UNSET

from autotune.access.principal import Principal
from autotune.core import clock
from autotune.core.crypto.fields import LegibleRow
from graders import failure_codes as grader_codes
from scores.models import AttemptEvidence, WorkflowRun
from scores.results import failure_codes
from scores.results.privacy import ViewerSight
from scores.workflow_runs.responses import FailedAttemptOut, FailedCallOut

SHOWN: Final = 5


def of_run(principal: Principal, run: WorkflowRun) -> list[FailedAttemptOut]:
    """Return the run's last failed attempts, the newest first."""
    rows = list(AttemptEvidence.objects.filter(run_id=run.pk).order_by("-attempt")[:SHOWN])
    sight = ViewerSight.of(principal)
    sight.judges.meet({row.grader_id for row in rows})
    return [_attempt(row, sight) for row in rows]


def _attempt(row: AttemptEvidence, sight: ViewerSight) -> FailedAttemptOut:
    legible = LegibleRow(row)
    content: dict[str, Any] = legible.content or {}
    cause = content.get("cause", row.code)
    return FailedAttemptOut(
        attempt=row.attempt,
        at=clock.wire(row.created_at),
        code=row.code,
        check=grader_codes.check(cause) or None,
        advice=failure_codes.advice(row.code),
        message=content.get("message") if sight.failure(cause, row.grader_id) else None,
        call=_call(content, sight.answer(row.grader_id, row.organization_id)) if sight.call(row.grader_id) else None,
        unreadable=legible.unreadable or UNSET,
    )


def _call(content: dict[str, Any], sees_answer: bool) -> FailedCallOut:
    return FailedCallOut(
        url=content.get("url"),
        request_id=content.get("requestId"),
        duration_ms=content.get("durationMs"),
        items=content.get("items"),
        status=content.get("status"),
        headers=content.get("headers"),
        answer=content.get("answer") if sees_answer else None,
        answer_omitted=content.get("omitted", False),
    )
