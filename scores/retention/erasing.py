"""Erase the text of completions, and what graders and reviewers wrote about them, in all copies.

Facts stay: ids, model, times, runs with their codes, scores with their dimensions, rewards, values of feedback.
An erasure is final. It locks in the order of the engine: callbacks, completions, runs; each in the order of ids.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from autotune.access import idempotency
from autotune.core.clock import database_now
from autotune.webhooks.events import forgetting
from scores import signals
from scores.engine import recording, settling
from scores.engine.materials import TaskFactsCache
from scores.engine.statements import SavedRun
from scores.feedback.models import Feedback
from scores.models import AttemptEvidence, Callback, CallbackItem, LiveAnswer, Review, Score, WorkflowRun
from scores.retention import legal_holds
from scores.retention.legal_holds import Holdable
from scores.reviews import opening
from scores.states import FINAL
from tasks.models import Completion

AT_ONCE: Final = 200  # completions of one transaction
ERASED: Final = "erased"
MESSAGE: Final = "The completion's text was erased before the run ended."
_HOLDABLE = ("pk", "organization_id", "task_id", "model_id")
_SAVED = ("pk", "completion_id", "task_id", "organization_id", "purpose")


@dataclass(slots=True)
class ErasureOutcome:
    """The completions of an erasure by result; those that were erased before are in none of the three lists.

    unfinished  completions with a run that has not ended
    """

    gone: list[UUID] = field(default_factory=list)
    held: list[UUID] = field(default_factory=list)
    unfinished: list[UUID] = field(default_factory=list)


def erase(completion_ids: Collection[UUID], *, end_unfinished: bool) -> ErasureOutcome:
    """Erase the text of at most AT_ONCE completions, in one transaction.

    end_unfinished  end their runs with `erased`; else a completion with an unfinished run is kept
    """
    with transaction.atomic():
        outcome, callbacks = choose(completion_ids, leave_unfinished=not end_unfinished)
        if outcome.gone:
            _end_runs(outcome.gone)
            forget(outcome.gone, callbacks)
            Completion.objects.filter(pk__in=outcome.gone).update(
                prompt=None, response=None, messages=None, metadata=None, variables=None, content_digest=None,
                prompt_digest=None, answer_digest=None, erased_at=database_now(),
            )  # fmt: skip
    return outcome


def choose(
    completion_ids: Collection[UUID], *, leave_unfinished: bool, again: bool = False
) -> tuple[ErasureOutcome, Sequence[UUID]]:
    """Lock completions with their callbacks, and choose which to erase, in the caller's transaction.

    again    also those whose text was erased before
    returns  the outcome, and the locked callbacks
    """
    assert len(completion_ids) <= AT_ONCE
    completions = Completion.objects.filter(pk__in=completion_ids)
    legal_holds.share(completions.order_by().values_list("organization_id", flat=True).distinct())
    callbacks = _lock_callbacks(completion_ids)
    settling.lock(completion_ids)
    present = completions if again else completions.filter(erased_at=None)
    rows = [Holdable(*row) for row in present.order_by("pk").values_list(*_HOLDABLE)]
    held = legal_holds.held(rows)
    unfinished = _unfinished([row.pk for row in rows]) if leave_unfinished else set()
    outcome = ErasureOutcome()
    for row in rows:
        if row.pk in held:
            outcome.held.append(row.pk)
        elif row.pk in unfinished:
            outcome.unfinished.append(row.pk)
        else:
            outcome.gone.append(row.pk)
    return outcome, callbacks


def forget(completion_ids: Collection[UUID], callbacks: Collection[UUID], *, deleted: bool = False) -> None:
    """Erase the text of completions everywhere except in their own rows.

    callbacks  the locked callbacks of their runs; one that was recorded later answers a run that has ended
    deleted    this transaction also deletes the completions
    """
    runs = WorkflowRun.objects.filter(completion_id__in=completion_ids)
    with_text = Q(reasoning__isnull=False) | Q(details__isnull=False)
    Score.objects.filter(with_text, completion_id__in=completion_ids).update(reasoning=None, details=None)
    reviewed = Review.objects.filter(completion_id__in=completion_ids)
    review_ids = list(reviewed.values_list("pk", flat=True))
    reviewed.update(reasoning=None, details=None, explanation=None)
    Feedback.objects.filter(completion_id__in=completion_ids).update(explanation=None)
    runs.filter(error_message__isnull=False).exclude(error_code=ERASED).update(error_message=None)  # may quote the text
    AttemptEvidence.objects.filter(run__in=runs, content__isnull=False).update(content=None)
    _forget_callbacks(completion_ids, callbacks)
    LiveAnswer.objects.filter(completion_id__in=completion_ids).delete()
    forgetting.forget([*completion_ids, *review_ids])
    idempotency.forget(completion_ids)
    signals.texts_erased.send(None, completions=completion_ids, deleted=deleted)


def _forget_callbacks(completion_ids: Collection[UUID], callbacks: Collection[UUID]) -> None:
    """Delete the callbacks of only these completions. The others of a shared batch can still be scored."""
    items = CallbackItem.objects.filter(callback_id__in=callbacks)
    runs = WorkflowRun.objects.filter(completion_id__in=completion_ids)
    shared = set(items.exclude(run__in=runs).values_list("callback_id", flat=True))
    CallbackItem.objects.filter(callback_id__in=shared, run__in=runs).update(body_digest=None)
    Callback.objects.filter(pk__in=set(callbacks) - shared).delete()


def _unfinished(completion_ids: Collection[UUID]) -> set[UUID]:
    runs = WorkflowRun.objects.filter(completion_id__in=completion_ids).exclude(status__in=FINAL)
    return set(runs.values_list("completion_id", flat=True))


def _end_runs(completion_ids: Collection[UUID]) -> None:
    """Fail the unfinished runs; an answer that arrives later is dropped."""
    unfinished = WorkflowRun.objects.filter(completion_id__in=completion_ids).exclude(status__in=FINAL)
    runs = [SavedRun(*row) for row in unfinished.values_list(*_SAVED)]
    if runs:
        recording.fail(runs, ERASED, MESSAGE, TaskFactsCache(), step="erasure")
        opening.cancel(run.run_id for run in runs)


def _lock_callbacks(completion_ids: Collection[UUID]) -> list[UUID]:
    """Lock the callbacks of completions, before the completions, in the order in which a callback is received."""
    items = CallbackItem.objects.filter(run__in=WorkflowRun.objects.filter(completion_id__in=completion_ids))
    callback_ids = set(items.values_list("callback_id", flat=True))
    if not callback_ids:
        return []
    rows = Callback.objects.filter(pk__in=callback_ids).order_by("pk")
    return list(rows.select_for_update(no_key=True).values_list("pk", flat=True))
