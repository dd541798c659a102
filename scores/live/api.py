"""The API view that scores items while the caller waits."""

import time
from functools import partial
from typing import Any

from rest_framework.request import Request

from autotune.access.audit import current_call
from autotune.access.views import ApiView
from autotune.core.api.operations import operation
from autotune.core.connections import has_left
from scores.live import answering, reading, responses
from scores.live.requests import NewRewards
from scores.live.responses import LiveRewards
from scores.results.waiting import hub


class RewardsView(ApiView):
    @operation(
        summary="Score now", resource="rewards", action="create", body=NewRewards, converts=False, items="items",
        answers={200: LiveRewards}, errors=(404, 409), calls_out=True,
    )  # fmt: skip
    def post(self, request: Request, body: Any) -> LiveRewards:
        """Return the rewards in the order of the items when all are final, or after `deadlineMs`. Items that are not
        scored by then are `pending`; scoring continues. An item equal to an earlier one (task version, prompt or
        messages, response, metadata) gets its reward, unless `fresh` is set or a grader has changed its version since.
        Each `modelId` gets its own record, whose scores are copies (`reusedFrom`)."""
        start = time.monotonic()
        new_rewards, items = reading.read(body)
        submitted = answering.submit(
            self.principal, new_rewards.task_id.uuid, items, model_id=new_rewards.model_id, fresh=new_rewards.fresh
        )
        submitted.end_copies()
        left_s = new_rewards.deadline_ms / 1000 - (time.monotonic() - start)
        gone = partial(has_left, request._request)
        hub.wait_all(submitted.unfinished, left_s, sources=submitted.sources, gone=gone)
        current_call.about(str(new_rewards.task_id), objects_count=len(items))
        return responses.rewards_out(answering.with_reasons(answering.answers(submitted.completions)))
