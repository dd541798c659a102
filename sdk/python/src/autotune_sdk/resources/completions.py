"""Submit completions and wait for their scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from .. import _batching, _waiting, _wire
from ..errors import APIError, FieldError, UnexpectedAnswer
from ..models.completions import BatchItem, BatchSubmitted, Completion, Submitted
from ..models.pages import Page
from ..models.scores import Outcome, ScoreResult
from ._base import Resource, member, new_key, segment, wire_members

MAX_WAIT_S = 30


class Completions(Resource):
    """`client.completions`."""

    def submit(
        self,
        *,
        task_id: str,
        model_id: str,
        response: str,
        prompt: str | None = None,
        messages: Sequence[Mapping[str, Any]] | None = None,
        variables: Mapping[str, Any] | None = None,
        external_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        priority: str | None = None,
        not_before: datetime | str | None = None,
        held_out: bool = False,
        idempotency_key: str | None = None,
    ) -> Submitted:
        """Submit one answer, with one of `prompt`, `messages` and `variables`.

        The client retries by itself if a response is lost: an idempotency key, by default a new one for each call,
        makes that safe for 24 hours. With an `external_id` (unique per task) a submission that is repeated at any
        later time returns the first object, and `existing` is true. `held_out` marks an answer that must never be
        trained on; it cannot be changed later.
        """
        item = {
            "task_id": task_id,
            "model_id": model_id,
            "prompt": prompt,
            "messages": messages,
            "variables": variables,
            "response": response,
            "external_id": external_id,
            "metadata": metadata,
            "priority": priority,
            "not_before": not_before,
            "held_out": held_out or None,
        }
        answer = self._transport.post(
            "/completions",
            _wire.dumps(_batching.wire_item(item)),
            idempotency_key=idempotency_key or new_key(),
        )
        return _wire.decode(Submitted, answer)

    def submit_batch(
        self,
        completions: Iterable[Mapping[str, Any]],
        *,
        task_id: str | None = None,
        model_id: str | None = None,
        priority: str | None = None,
        partial: bool = False,
        idempotency_key: str | None = None,
    ) -> BatchSubmitted:
        """Submit many answers and return their ids in request order.

        completions  mappings with the names of `submit`; `task_id` and `model_id` here fill in for items without one
        partial      accept valid items and list the others in `errors`; otherwise an invalid item fails its request
        idempotency_key  of the first request; later ones append `-1`, `-2` and so on; default: a new one
        Splits into requests of 10,000 items and 32 MiB: use `submit_batches` to get the result of each at once.
        """
        done = list(
            self.submit_batches(
                completions,
                task_id=task_id,
                model_id=model_id,
                priority=priority,
                partial=partial,
                idempotency_key=idempotency_key,
            )
        )
        estimates = [b.estimated_score_time_ms for b in done if b.estimated_score_time_ms is not None]
        return BatchSubmitted(
            tuple(item for b in done for item in b.completions),
            max(estimates, default=None),
            tuple(error for b in done for error in b.errors),
        )

    def submit_batches(
        self,
        completions: Iterable[Mapping[str, Any]],
        *,
        task_id: str | None = None,
        model_id: str | None = None,
        priority: str | None = None,
        partial: bool = False,
        idempotency_key: str | None = None,
    ) -> Iterator[BatchSubmitted]:
        """Do the same as `submit_batch`, but yield one result per request. Reads `completions` only as needed."""
        defaults = wire_members({"task_id": task_id, "model_id": model_id})
        parameters = {"partial": True} if partial else {}
        first_key = idempotency_key or new_key()
        for number, batch in enumerate(_batching.split(completions, defaults, priority)):
            key = f"{first_key}-{number}" if number else first_key
            try:
                answer = self._transport.post("/completions/batch", batch.body, parameters, idempotency_key=key)
            except APIError as exc:
                exc.errors = tuple(_batching.shifted(e, batch.first) for e in exc.errors)
                raise
            yield _batch_answer(answer, batch, partial)

    def get(self, completion_id: str) -> Completion:
        """Return one completion."""
        answer = self._transport.get(f"/completions/{segment(completion_id)}")
        return _wire.decode(Completion, member(answer, "completion"))

    def list(
        self,
        *,
        task_id: str | None = None,
        model_id: str | None = None,
        status: str | None = None,
        source: str | Sequence[str] | None = None,
        external_id: str | None = None,
        start_date: date | str | None = None,
        end_date: date | str | None = None,
        sort: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> Page[Completion]:
        """Return one page of completions.

        source  one or more of 'api', 'manual', 'telemetry' and 'evaluation'; without it, all but those of evaluations
        """
        parameters = {
            "task_id": task_id,
            "model_id": model_id,
            "status": status,
            "source": source,
            "external_id": external_id,
            "start_date": start_date,
            "end_date": end_date,
            "sort": sort,
            "limit": limit,
            "offset": offset,
            "cursor": cursor,
        }
        return self._page("/completions", "completions", Completion, parameters)

    def rescore(self, completion_id: str, *, idempotency_key: str | None = None) -> tuple[str, ...]:
        """Score a final completion again with the current versions of its graders; return the ids of the new runs.

        Old scores stay; the reward follows the newest, once all new runs have ended. Raises ConflictError while the
        completion is being scored.
        """
        path = f"/completions/{segment(completion_id)}/rescore"
        answer = self._transport.post(path, b"{}", idempotency_key=idempotency_key or new_key())
        return tuple(member(answer, "workflowRunIds"))

    def score(self, completion_id: str, wait_s: float = 0) -> ScoreResult:
        """Return a completion's result. With `wait_s` (at most 30, whole seconds) the server waits for the reward."""
        wait = min(math.ceil(max(wait_s, 0)), MAX_WAIT_S)
        path = f"/completions/{segment(completion_id)}/score"
        answer = self._transport.get(path, {"wait": wait or None}, extra_s=wait)
        member(answer, "status")
        return _wire.decode(ScoreResult, {**answer, "completionId": completion_id})

    def wait_for_score(self, completion_id: str, timeout_s: float | None = None) -> ScoreResult:
        """Wait until one completion is final ('completed' or 'failed'). Raises WaitTimeout; None: no time limit."""
        return _waiting.wait_for_score(self, completion_id, timeout_s)

    def wait_for_scores(
        self,
        completion_ids: Iterable[str],
        timeout_s: float | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> dict[str, Outcome]:
        """Wait until all are final; return their outcomes in the order of `completion_ids`.

        on_progress  called with (final, total) when more are final
        raises       WaitTimeout, which holds what was final by then
        cost         a long poll on the newest of 500, then one page of the list: about 3 requests per 500 completions
        """
        return _waiting.ScoreWait(self, completion_ids, timeout_s, on_progress).run()


def _batch_answer(answer: Any, batch: _batching.Batch, partial: bool) -> BatchSubmitted:
    result = _wire.decode(BatchSubmitted, {**answer, "errors": None} if isinstance(answer, dict) else answer)
    if not partial and len(result.completions) != batch.count:
        raise UnexpectedAnswer(f"the server returned {len(result.completions)} results for {batch.count} completions")
    items: list[BatchItem] = []
    for position, item in enumerate(result.completions):
        index = item.index if item.index is not None else (position if not partial else None)
        items.append(replace(item, index=None if index is None else index + batch.first))
    errors: list[FieldError] = [
        _batching.shifted(_batching.error_of(e), batch.first) for e in answer.get("errors") or [] if isinstance(e, dict)
    ]
    return replace(result, completions=tuple(items), errors=tuple(errors))
