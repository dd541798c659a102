"""The API view that trainers call, in a thread of `web`. The `live` process serves the same address (asgi.py)."""

from functools import partial

from django.http import HttpResponse
from rest_framework.request import Request

from autotune.access.audit import current_call
from autotune.core.api.operations import OperationView, operation, require_json
from autotune.core.connections import has_left
from autotune.core.errors import AutotuneError
from scores.live import facade
from scores.live.endpoint_requests import CallQuery
from scores.live.facade import ProtocolCall
from scores.live.unscored import TooManyWaiting
from scores.results.waiting import hub


class ProtocolView(OperationView):
    authentication_classes = ()
    permission_classes = ()

    @operation(
        summary="Score now, in a trainer's format", resource="rewards", action="create", query=CallQuery,
        answers={200: object}, errors=(403, 411, 413, 415, 429, 502), raw_body=True,
    )  # fmt: skip
    def post(self, request: Request, protocol: str, token: str, query: CallQuery) -> HttpResponse:
        """The token is the credential and identifies the reward endpoint. Body and answer are those of its protocol:
        OpenRLHF, slime, NeMo Gym's `/verify` or Foundry's endpoint grader. 503 `pending`: send the same request again;
        502: scoring failed, and the endpoint has no stand-in. `rewardKey` is slime's `--reward-key`."""
        plain = request._request
        require_json(plain)
        ask = ProtocolCall(
            protocol,
            token,
            plain.body,
            plain.META.get("REMOTE_ADDR", ""),
            query.reward_key,
            audited=current_call.current(),
        )
        facade.begin([ask])
        if ask.error is None:
            self._wait(ask)
        (answer,) = facade.finish([ask])
        if isinstance(answer, AutotuneError):
            raise answer
        return HttpResponse(answer, content_type="application/json")

    def _wait(self, ask: ProtocolCall) -> None:
        """raises  TooManyWaiting if too many threads wait already"""
        left_s = ask.left_s()
        gone = partial(has_left, self.request._request)
        final = hub.wait_all(ask.unfinished, left_s, sources=ask.sources, gone=gone)
        if final != ask.unfinished and left_s > 0 and ask.left_s() > 0:
            raise TooManyWaiting
