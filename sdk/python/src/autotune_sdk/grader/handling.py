"""Handle one request and return one signed response, for every way of serving."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .._strictjson import JSONRefused, loads
from . import protocol
from .base import BaseGrader
from .later import read_work
from .results import (
    CannotJudge,
    Completion,
    Graded,
    InvalidRequest,
    InvalidScore,
    Options,
    Score,
    read_completion,
    read_options,
    to_error,
)
from .secrets import Secrets

log = logging.getLogger(__name__)

MAX_BODY = 32 * 1024 * 1024
MAX_BATCH_ANSWER = 8 * 1024 * 1024 - 4096
RETRY_AFTER = ("Retry-After", "1")


@dataclass(frozen=True)
class Answer:
    """An HTTP response, ready to send."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class Problem(Exception):
    """Raised to answer a verified request with an error."""

    def __init__(self, status: int, error: str, *headers: tuple[str, str]) -> None:
        super().__init__(error)
        self.status, self.error, self.headers = status, error, headers


def answer(grader: BaseGrader, method: str, path: str, headers: list[protocol.Header], body: bytes) -> Answer:
    """Verify a request, judge it and sign the response. Never raises because of a request's contents."""
    secrets = grader.secrets.active()
    if len(body) > MAX_BODY:
        return too_large(grader.secrets, headers)
    try:
        request_id = protocol.verify(headers, body, secrets, replays=grader.replays).request_id
    except protocol.Refused as exc:
        if exc.code == "too_many_requests":
            return _refusal(secrets, headers, 503, exc.code, RETRY_AFTER)
        return _refusal(secrets, headers, 401, exc.code)
    try:
        status, content = _route(grader, method, path)(grader, request_id, body)
    except Problem as exc:
        return _signed(secrets, request_id, exc.status, {"requestId": request_id, "error": exc.error}, exc.headers)
    except Exception:
        log.exception("request %s failed", request_id)
        status, content = 500, {"requestId": request_id, "error": "internal error of the grader"}
    return _signed(secrets, request_id, status, content)


def too_large(secrets: Secrets, headers: list[protocol.Header]) -> Answer:
    """Return the response to a body over 32 MiB, which is neither kept nor verified."""
    return _refusal(secrets.active(), headers, 413, f"more than {MAX_BODY} bytes")


def length_required(secrets: Secrets, headers: list[protocol.Header]) -> Answer:
    """Return the response to a body without Content-Length."""
    return _refusal(secrets.active(), headers, 411, "Content-Length is required")


def _refusal(
    secrets: Sequence[str], headers: list[protocol.Header], status: int, error: str, *extra: tuple[str, str]
) -> Answer:
    """Return the response to an unverified request, with the id that it claims if that is valid."""
    request_id = protocol.request_id_of(headers)
    content = {"requestId": request_id, "error": error} if request_id else {"error": error}
    return _signed(secrets, request_id, status, content, extra)


def _route(
    grader: BaseGrader, method: str, path: str
) -> Callable[[BaseGrader, str, bytes], tuple[int, dict[str, Any]]]:
    """Return the function for the last part of a path; the parts before it are where the grader is mounted."""
    path = path.split("?", 1)[0]
    for suffix, allowed, function in (
        ("/score/batch", "POST", _score_batch),
        ("/score", "POST", _score),
        ("/health", "GET", _health),
    ):
        if path.endswith(suffix):
            if method != allowed:
                raise Problem(405, "method not allowed", ("Allow", allowed))
            return function
    raise Problem(404, "no such path")


def _health(grader: BaseGrader, request_id: str, body: bytes) -> tuple[int, dict[str, Any]]:
    return 200, grader.health()


def _score(grader: BaseGrader, request_id: str, body: bytes) -> tuple[int, dict[str, Any]]:
    data = _parse(body, request_id)
    try:
        completion = read_completion(data.get("completion"))
    except InvalidRequest as exc:
        raise Problem(400, str(exc)) from exc
    began = time.perf_counter()
    options = read_options(data.get("options"))
    if _accepts(grader, data, [completion], options, batch=False):
        return 202, {"requestId": request_id, "status": "accepted"}
    verdict = grader.judge([completion], options)[0]
    milliseconds = _took(grader, began)
    error = _error_of(verdict)
    if error is None and not isinstance(verdict, Score):
        _report(request_id, [verdict])
        raise Problem(500, "the scoring function failed")
    grader.record([_graded(completion, request_id, verdict, error)])
    outcome = {"score": verdict.wire(options)} if isinstance(verdict, Score) else {"error": error}
    return 200, {"requestId": request_id, **outcome, "processingTimeMs": milliseconds}


def _accepts(
    grader: BaseGrader, data: dict[str, Any], completions: list[Completion], options: Options, *, batch: bool
) -> bool:
    """Return whether the grader has stored the request to answer it later."""
    try:
        work = read_work(data, completions, options, batch=batch)
    except InvalidRequest as exc:
        raise Problem(400, str(exc)) from exc
    return work is not None and grader.accepts(work)


def _score_batch(grader: BaseGrader, request_id: str, body: bytes) -> tuple[int, dict[str, Any]]:
    """Judge a batch. Items whose function failed are omitted, so that the platform requests them again."""
    data = _parse(body, request_id)
    completions = _read_batch(data.get("completions"), grader.max_batch_size)
    options = read_options(data.get("options"))
    if _accepts(grader, data, completions, options, batch=True):
        return 202, {"requestId": request_id, "status": "accepted"}
    began = time.perf_counter()
    verdicts = grader.judge(completions, options)
    milliseconds = _took(grader, began)
    entries: list[dict[str, Any]] = []
    graded: list[Graded] = []
    size, left_out = 0, []
    for completion, verdict in zip(completions, verdicts, strict=True):
        error = _error_of(verdict)
        if isinstance(verdict, Score):
            entry = {"completionId": completion.id, "score": verdict.wire(options)}
        elif error is not None:
            entry = {"completionId": completion.id, "error": error}
        else:
            left_out.append(verdict)
            continue
        size += len(_dumps(entry)) + 1
        if size > MAX_BATCH_ANSWER and entries:
            break  # the platform requests the rest again
        entries.append(entry)
        graded.append(_graded(completion, request_id, verdict, error))
    _report(request_id, left_out)
    if not entries:
        raise Problem(500, "the scoring function failed")
    grader.record(graded)
    return 200, {"requestId": request_id, "scores": entries, "processingTimeMs": milliseconds}


def _read_batch(items: Any, limit: int) -> list[Completion]:
    if not isinstance(items, list) or not items:
        raise Problem(400, "completions must be a list with at least one item")
    if len(items) > limit:
        raise Problem(413, f"more than {limit} completions")
    try:
        completions = [read_completion(item) for item in items]
    except InvalidRequest as exc:
        raise Problem(400, str(exc)) from exc
    if len({c.id for c in completions}) != len(completions):
        raise Problem(400, "a completion occurs twice in the batch")
    return completions


def _parse(body: bytes, request_id: str) -> dict[str, Any]:
    try:
        data = loads(body)
    except JSONRefused as exc:
        raise Problem(400, f"{exc.code}: {exc}") from exc
    if not isinstance(data, dict):
        raise Problem(400, "the body must be an object")
    if data.get("requestId") != request_id:
        raise Problem(400, "wrong_request_id")
    return data


def _error_of(verdict: Any) -> str | None:
    """Return the text of a final verdict without a score; None for a score and for a failure worth a retry."""
    if isinstance(verdict, CannotJudge):
        return to_error(str(verdict))
    if isinstance(verdict, InvalidScore):
        return to_error(f"the grader returned an invalid score: {verdict}")
    return None


def _graded(completion: Completion, request_id: str, verdict: Any, error: str | None) -> Graded:
    return Graded(completion.id, request_id, verdict.value if isinstance(verdict, Score) else None, error)


def _report(request_id: str, failures: Sequence[Any]) -> None:
    if failures:
        first = failures[0]
        log.error("request %s: scoring failed for %d items", request_id, len(failures), exc_info=first)


def _took(grader: BaseGrader, began: float) -> int:
    milliseconds = (time.perf_counter() - began) * 1000
    grader.observe(milliseconds)
    return round(milliseconds)


def _signed(
    secrets: Sequence[str],
    request_id: str | None,
    status: int,
    content: dict[str, Any],
    extra: Sequence[tuple[str, str]] = (),
) -> Answer:
    """Build a response, signed with the current secret if there is one and the request has an id."""
    body = _dumps(content)
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body))), *extra]
    if secrets and request_id:
        headers += protocol.sign_answer(secrets[0], request_id, body)
    return Answer(status, headers, body)


def _dumps(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
