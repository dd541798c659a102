"""The endpoint for callbacks of asynchronous graders. It uses no API key; the grader's signature authenticates it."""

from typing import Final

from rest_framework.request import Request

from autotune.core.api.operations import ApiStruct, OperationResponse, OperationView, operation, require_json
from autotune.core.errors import LengthRequired, TooLarge, TooManyRequests
from scores.callbacks import registry
from scores.callbacks.throttle import admitted

MAX_BODY: Final = 8 << 20


class CallbackReply(ApiStruct):
    """`recorded`, `already_recorded`, `result_conflict`, `expired`, `cancelled`, `invalid_json`, `invalid_result` or
    `unauthorized`; see docs/protocol/README.md, "Asynchronous answers"."""

    code: str


class CallbackView(OperationView):
    authentication_classes = ()
    permission_classes = ()

    @operation(
        summary="Answer later, as an asynchronous grader", raw_body=True, errors=(411, 413, 415, 429),
        answers={
            200: CallbackReply, 400: CallbackReply, 401: CallbackReply, 409: CallbackReply, 410: CallbackReply,
            422: CallbackReply,
        },
    )  # fmt: skip
    def post(self, request: Request, token: str) -> OperationResponse:
        """Send the body that a synchronous grader would have returned, with the three signature headers.

        The token is part of the callback address in the request; any other address returns 404.
        """
        plain = request._request
        length = plain.META.get("CONTENT_LENGTH") or ""
        if not length:
            raise LengthRequired("Send the body with a Content-Length header.")
        if int(length) > MAX_BODY:
            raise TooLarge("A callback may have at most 8 MiB.", headers={"Connection": "close"})  # unread
        require_json(plain)
        if not admitted(registry.digest_of(token)):
            raise TooManyRequests("Too many callbacks to this address within a second.", headers={"Retry-After": "1"})
        reply = registry.receive(token, list(plain.headers.items()), plain.body)
        return OperationResponse(CallbackReply(reply.code), reply.status)
