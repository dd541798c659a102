"""Store the evidence of failed attempts, in the transaction that saves them. A success costs nothing.

The content is JSON with these members, of which those without a value are absent: `message`, `cause` (the code of the
call's failure, which a deadline may have replaced), `url`, `requestId`, `durationMs`, `items` (completions of the
call), `status`, `headers` (names), `answer` (the run's own part, shortened), `omitted`.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final
from uuid import UUID

from scores.engine.call_results import FailedAttempt
from scores.models import AttemptEvidence

KEPT: Final = 5  # attempts of one run
MAX_MESSAGE: Final = 600  # characters


def record(grader_id: UUID, attempts: Sequence[FailedAttempt], moved: Collection[UUID]) -> None:
    """Store the evidence of attempts that sent a call and whose run has moved because of it.

    moved  the ids of these runs; an attempt that lost its lease must not write about a run that may be erased by now
    """
    called = [attempt for attempt in attempts if attempt.called and attempt.run.run_id in moved]
    if not called:
        return
    rows = [_row(grader_id, attempt) for attempt in called]
    AttemptEvidence.objects.bulk_create(rows, ignore_conflicts=True)
    _drop_older({attempt.run.run_id for attempt in called if attempt.run.attempt > KEPT})


def _row(grader_id: UUID, attempt: FailedAttempt) -> AttemptEvidence:
    run, decision = attempt.run, attempt.decision
    content = {"message": decision.message[:MAX_MESSAGE], **attempt.evidence}
    return AttemptEvidence(
        organization_id=run.organization_id,
        run_id=run.run_id,
        grader_id=grader_id,
        attempt=run.attempt,
        code=decision.code,
        content=content,
    )


def _drop_older(run_ids: Collection[UUID]) -> None:
    """Delete all but the newest KEPT rows of each of these runs."""
    if not run_ids:
        return
    kept: Counter[UUID] = Counter()
    doomed = []
    rows = AttemptEvidence.objects.filter(run_id__in=run_ids).order_by("run_id", "-attempt")
    for pk, run_id in rows.values_list("pk", "run_id"):
        kept[run_id] += 1
        if kept[run_id] > KEPT:
            doomed.append(pk)
    if doomed:
        AttemptEvidence.objects.filter(pk__in=doomed).delete()
