"""The API views of completions."""

from functools import partial
from typing import Any
from uuid import UUID

from django.http import HttpResponseBase
from rest_framework.request import Request

from autotune.access.views import ApiView, find_for
from autotune.core import ids
from autotune.core.api.etags import conditional
from autotune.core.api.operations import OperationResponse, operation
from autotune.core.connections import has_left
from scores.intake import batches, submission
from scores.intake.outcomes import RefusedItem, StoredItem
from scores.intake.requests import BatchQuery, CompletionQuery, NewBatch, NewCompletion, ScoreQuery
from scores.results import completions
from scores.results.completion_responses import (
    BatchItemErrorOut,
    BatchItemOut,
    BatchSubmitted,
    CompletionAnswer,
    CompletionPage,
    CompletionSubmitted,
    PartialBatchSubmitted,
    ScoreStateOut,
    fresh_out,
    run_ids,
)
from scores.retention import deleting
from scores.states import FINAL
from tasks.models import Completion


class CompletionsView(ApiView):
    @operation(
        summary="List completions", resource="completions", or_resource="shared_completions", action="read",
        query=CompletionQuery, answers={200: CompletionPage},
    )  # fmt: skip
    def get(self, request: Request, query: CompletionQuery) -> CompletionPage:
        return completions.listed(self.principal, query)

    @operation(
        summary="Submit a completion", resource="completions", action="create", body=NewCompletion,
        answers={202: CompletionSubmitted, 200: CompletionSubmitted}, errors=(409, 410), subject="completion.id",
    )  # fmt: skip
    def post(self, request: Request, body: NewCompletion) -> OperationResponse:
        """Send exactly one of `prompt`, `messages` and `variables`. A repeated `externalId` with equal content returns
        the first object with `existing: true` and 200; with other content it is 409."""
        result = submission.submit(self.principal, {0: body}, single=True)
        (completion,) = result.stored
        existing = completion.fresh is None
        if completion.fresh is None:
            out = completions.shape_of(completion.completion_id)
        else:
            out = fresh_out(completion.completion_id, completion.fresh, completion.run_ids)
        runs = run_ids(completion.run_ids)
        first_run, status = (runs[0], "scoring") if runs else (None, "ungraded")
        submitted = CompletionSubmitted(out, result.estimate_ms, first_run, runs, status, existing)
        return OperationResponse(submitted, 200 if existing else 202)


class CompletionBatchView(ApiView):
    @operation(
        summary="Submit completions", resource="completions", action="create", body=NewBatch, query=BatchQuery,
        converts=False, items="completions", answers={202: BatchSubmitted, 207: PartialBatchSubmitted}, errors=(409,),
    )  # fmt: skip
    def post(self, request: Request, body: Any, query: BatchQuery) -> OperationResponse:
        """An invalid item invalidates the whole batch; the errors have a pointer for each. With `partial=true` the
        valid items are stored and the response is 207 with the errors of the others."""
        items, malformed, priority = batches.read(body)
        result = submission.submit(self.principal, items, malformed=malformed, priority=priority, partial=query.partial)
        if result.refused:
            partly = PartialBatchSubmitted(
                [_taken_out(completion, index=completion.index) for completion in result.stored],
                [_refused_out(refusal) for refusal in result.refused],
                result.estimate_ms,
            )
            return OperationResponse(partly, 207)
        return OperationResponse(
            BatchSubmitted([_taken_out(completion) for completion in result.stored], result.estimate_ms), 202
        )


class CompletionView(ApiView):
    @operation(
        summary="Read a completion", resource="completions", or_resource="shared_completions", action="read",
        answers={200: CompletionAnswer, 304: None},
    )  # fmt: skip
    def get(self, request: Request, completion_id: UUID) -> HttpResponseBase:
        """The response has a strong ETag; `If-None-Match` returns 304. If the task has `shareText`, owners of its
        graders read prompt, messages and response; `externalId`, `metadata` and `reward` are empty for them."""
        return conditional(
            request._request, CompletionAnswer(completions.read_completion(self.principal, completion_id))
        )

    @operation(
        summary="Erase a completion's text", resource="completions", action="delete", answers={204: None},
        errors=(409,),
    )  # fmt: skip
    def delete(self, request: Request, completion_id: UUID) -> None:
        """Erase prompt, messages, response, metadata, reasoning and explanations in every copy. Scores and reward
        stay. Unfinished runs end with `erased`. 409 `legal_hold` while a hold covers it. This cannot be undone."""
        textless = Completion.objects.defer("prompt", "response", "messages", "metadata", "variables")
        find_for(textless, self.principal, completion_id, "delete", "completion")
        deleting.delete_completion(completion_id)


class CompletionScoreView(ApiView):
    @operation(
        summary="Read a completion's score", resource="scores", action="read", query=ScoreQuery,
        answers={200: ScoreStateOut, 304: None},
    )  # fmt: skip
    def get(self, request: Request, completion_id: UUID, query: ScoreQuery) -> ScoreStateOut | HttpResponseBase:
        """`wait` long-polls: the response comes when the score is final, or after that many seconds with the current
        state.

        A final score has a strong ETag.
        """
        gone = partial(has_left, request._request)
        state = completions.score_state(self.principal, completion_id, wait_s=query.wait, gone=gone)
        return conditional(request._request, state) if state.status in FINAL else state


def _taken_out(completion: StoredItem, *, index: int | None = None) -> BatchItemOut:
    public_id = ids.encode("comp", completion.completion_id)
    return BatchItemOut(public_id, completion.external_id, run_ids(completion.run_ids), completion.fresh is None, index)


def _refused_out(refusal: RefusedItem) -> BatchItemErrorOut:
    return BatchItemErrorOut(refusal.index, refusal.error.pointer, refusal.error.code, refusal.error.detail)
