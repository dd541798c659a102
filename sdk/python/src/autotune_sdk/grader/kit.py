"""The Grader object, which holds a name, a version and a scoring function, and answers requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from .base import BaseGrader
from .handling import Answer, answer
from .later import Work, bodies_of, deliver, graded_of, verdicts_of
from .protocol import Header


class Grader(BaseGrader):
    """A grader that implements the protocol.

    name, version          shown by the platform; the version is stored with each score: change it when judging changes
    max_batch_size         items in one call, 1 to 1,000
    supports_dimensions    whether scores carry dimensions; supports_explanations: whether they carry reasoning
    domains                words for what it judges
    secret                 one secret or several (current first); default: AUTOTUNE_GRADER_SECRET
    secret_file            a file with them, read again when it changes
    threads                how many calls an ASGI server runs at once
    on_graded              called with each Graded item of a response, before it is sent
    """

    def call_back(self, work: Work, results: Any, *, until: datetime | None = None) -> str:
        """Send the results of accepted work, with retries until they are settled. Blocks until then.

        results  a scoring function's result, or a CannotJudge; for a batch a list in order, or a mapping by id, which
                 may hold a part of it
        until    when to stop for now; default: the request's deadline
        raises   InvalidScore, ValueError: nothing was sent. CallbackRefused, CallbackExpired: see there
        returns  recorded, already_recorded, result_conflict, expired, cancelled or not_found: all of them end it
        """
        verdicts = verdicts_of(work, results)
        self.record(graded_of(work, verdicts))
        settled = [deliver(work, body, self.secrets, until=until) for body in bodies_of(work, verdicts)]
        return next((code for code in settled if code != "recorded"), "recorded")

    def handle(self, method: str, path: str, headers: Mapping[str, str] | Iterable[Header], body: bytes) -> Answer:
        """Answer one HTTP request with a signed response. The servers call this; a test of a grader may, too.

        headers  pairs as received, or a mapping such as `sign_request` returns
        """
        pairs = headers.items() if isinstance(headers, Mapping) else headers
        return answer(self, method, path, list(pairs), body)

    @property
    def asgi(self) -> Callable[..., Awaitable[None]]:
        """Return the grader as an ASGI application: `uvicorn module:grader.asgi`. Scoring runs in threads."""
        from .asgi import application

        return application(self)

    def serve(self, port: int = 9100, host: str = "127.0.0.1") -> None:
        """Serve until interrupted, with threads of the standard library."""
        from .server import serve

        serve(self, host, port)
