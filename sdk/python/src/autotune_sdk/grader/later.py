"""Answer requests later: the work that a grader stores when it accepts a request, and the callback that it sends."""

from __future__ import annotations

import json
import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import requests

from . import protocol
from .results import CannotJudge, Completion, Graded, InvalidRequest, Options, Score, to_error, to_score

if TYPE_CHECKING:
    from .secrets import Secrets

log = logging.getLogger(__name__)

FIRST_WAIT_S: Final = 5.0
MAX_WAIT_S: Final = 3_600.0
TIMEOUT_S: Final = (5.0, 60.0)
MAX_PART: Final = 8 * 1024 * 1024 - 4096
DONE: Final = frozenset({200, 404, 409, 410})
WRONG: Final = frozenset({400, 405, 411, 413, 415, 422})


class CallbackRefused(Exception):
    """The platform rejected this callback. status, code: its response."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(f"the callback was refused with {status} {code}")
        self.status, self.code = status, code


class CallbackExpired(Exception):
    """No final response came before the deadline, or before `until`."""


@dataclass(frozen=True)
class Work:
    """A request that may be answered later. Store it durably (`to_json`) before you accept it.

    batch  whether it was a batch: its items may then be answered in parts
    """

    request_id: str
    callback_url: str
    expires_at: datetime
    completions: tuple[Completion, ...]
    options: Options = field(default_factory=Options)
    batch: bool = False

    def to_json(self) -> str:
        """Return the work as text for a file or a table."""
        return json.dumps({**asdict(self), "expires_at": self.expires_at.isoformat()}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Work:
        """Read the text that `to_json` returned."""
        members = json.loads(text)
        members["expires_at"] = datetime.fromisoformat(members["expires_at"])
        members["completions"] = tuple(Completion(**completion) for completion in members["completions"])
        members["options"] = Options(**members["options"])
        return cls(**members)


def read_work(
    data: Mapping[str, Any], completions: Sequence[Completion], options: Options, *, batch: bool
) -> Work | None:
    """Return the request as work for later; None if it has no callback address. Raises InvalidRequest."""
    url, until = data.get("callbackUrl"), data.get("callbackExpiresAt")
    if url is None:
        return None
    if not isinstance(url, str) or not isinstance(until, str):
        raise InvalidRequest("callbackUrl and callbackExpiresAt must be text")
    try:
        expires_at = datetime.fromisoformat(until)
    except ValueError as exc:
        raise InvalidRequest("callbackExpiresAt must be a time of ISO 8601") from exc
    expires_at = expires_at if expires_at.tzinfo else expires_at.replace(tzinfo=UTC)
    return Work(str(data["requestId"]), url, expires_at, tuple(completions), options, batch)


def verdicts_of(work: Work, results: Any) -> dict[str, Score | CannotJudge]:
    """Return the verdict on each item.

    results  for a single completion its result; for a batch a list in order, or a mapping by id, which may be a part
    raises   InvalidScore for an invalid score, ValueError for results that do not belong to the work
    """
    if not work.batch:
        results = results if isinstance(results, Mapping) else {work.completions[0].id: results}
    elif not isinstance(results, Mapping):
        results = dict(zip([completion.id for completion in work.completions], list(results), strict=True))
    unknown = set(results) - {completion.id for completion in work.completions}
    if unknown or not results:
        raise ValueError(f"{len(unknown)} results belong to no completion of this request" if unknown else "no results")
    return {name: result if isinstance(result, CannotJudge) else to_score(result) for name, result in results.items()}


def bodies_of(work: Work, verdicts: Mapping[str, Score | CannotJudge]) -> list[bytes]:
    """Return the callbacks to send: one, or several parts if a batch would exceed the platform's limit."""
    outcomes = {
        name: {"score": verdict.wire(work.options)} if isinstance(verdict, Score) else {"error": to_error(str(verdict))}
        for name, verdict in verdicts.items()
    }
    if not work.batch:
        (only,) = outcomes.values()
        return [_dumps({"requestId": work.request_id, **only})]
    parts: list[list[dict[str, Any]]] = []
    room = 0
    for name, outcome in outcomes.items():
        entry = {"completionId": name, **outcome}
        size = len(_dumps(entry)) + 1
        if not parts or size > room:
            parts.append([])
            room = MAX_PART
        parts[-1].append(entry)
        room -= size
    return [_dumps({"requestId": work.request_id, "scores": part}) for part in parts]


def graded_of(work: Work, verdicts: Mapping[str, Score | CannotJudge]) -> list[Graded]:
    """Return the items for the log."""
    return [
        Graded(name, work.request_id, verdict.value, None)
        if isinstance(verdict, Score)
        else Graded(name, work.request_id, None, to_error(str(verdict)))
        for name, verdict in verdicts.items()
    ]


def deliver(
    work: Work,
    body: bytes,
    secrets: Secrets,
    *,
    until: datetime | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """Send one callback until it is settled, newly signed each time; see "Asynchronous answers" in the protocol.

    until    when to stop; default: the deadline
    raises   CallbackRefused for a body that must be corrected, CallbackExpired when the time is over
    returns  recorded, already_recorded, result_conflict, expired, cancelled, or not_found
    """
    end = min(until or work.expires_at, work.expires_at)
    wait_s = FIRST_WAIT_S
    while True:
        status, code = _post(work, body, secrets)
        if status in DONE:
            return code or "not_found"
        if status in WRONG:
            raise CallbackRefused(status, code)
        pause_s = random.uniform(wait_s / 2, wait_s)
        if datetime.now(UTC) + timedelta(seconds=pause_s) >= end:
            raise CallbackExpired(f"request {work.request_id}: last response: {status or 'none'} {code}".rstrip())
        log.warning("callback for %s: %s %s; retry in %.0f s", work.request_id, status or "no answer", code, pause_s)
        sleep(pause_s)
        wait_s = min(wait_s * 2, MAX_WAIT_S)


def _post(work: Work, body: bytes, secrets: Secrets) -> tuple[int, str]:
    """Return the status and code of one attempt; (0, "") without a response."""
    active = secrets.active()
    if not active:
        return 0, "no_secret"
    headers = protocol.sign_request(active[0], body, work.request_id)
    try:
        answer = requests.post(work.callback_url, data=body, headers=headers, timeout=TIMEOUT_S, allow_redirects=False)
    except requests.RequestException:
        return 0, ""
    try:
        code = answer.json().get("code")
    except (ValueError, AttributeError):
        code = None
    return answer.status_code, code if isinstance(code, str) else ""


def _dumps(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
