"""All errors that the client raises, distinguished by class and by a stable `code`.

AutotuneError
  ConfigurationError                 no key, a key or address that cannot work
  UnsendableValue                    a value that JSON cannot represent (NaN, a lone surrogate, an object)
  ConnectionFailed                   there was no response
    RequestTimeout
  UnexpectedAnswer                   a response that does not follow the API
  WaitTimeout                        scores were not final in time
  APIError                           the server refused; made from its problem+json
    InvalidRequest (400 411 413 415 422)  AuthenticationError (401)  PermissionDenied (403)
    NotFound (404)  ConflictError (409)  RateLimited (429)  ServerError (5xx)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .models.scores import Outcome, WaitingFor

MAX_REASONS = 3  # sentences in the message of WaitTimeout, including the first


@dataclass(frozen=True)
class FieldError:
    """The error of one member of a request.

    pointer  JSON pointer into the body, or `?name` for a query parameter
    index    position of the item in the submitted sequence, if the error belongs to an item
    """

    pointer: str
    code: str
    detail: str
    index: int | None = None


class AutotuneError(Exception):
    """The base class of all errors. `code` is stable; `detail` is a sentence for a person."""

    code = "error"
    status: int | None = None
    request_id: str | None = None
    errors: tuple[FieldError, ...] = ()
    attempts = 1

    def __init__(self, detail: str, *, code: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        if code is not None:
            self.code = code


class ConfigurationError(AutotuneError):
    """The client cannot be created: the key is missing, or the key or address is invalid."""

    code = "configuration"


class UnsendableValue(AutotuneError, ValueError):
    """A value cannot be represented in the API's JSON. Nothing was sent."""

    code = "unsendable_value"


class ConnectionFailed(AutotuneError):
    """There was no response. The server may or may not have processed the request."""

    code = "connection_failed"


class RequestTimeout(ConnectionFailed):
    """There was no response in time."""

    code = "timeout"


class UnexpectedAnswer(AutotuneError):
    """The response does not follow the API: it may come from another kind of server or a proxy."""

    code = "unexpected_answer"


class WaitTimeout(AutotuneError):
    """Some completions were not final in time.

    finished  outcomes by completion id, of those that were final
    pending   ids of those that were not final
    reasons   why, by completion id, where the client queried that completion
    """

    code = "wait_timeout"

    def __init__(
        self,
        finished: Mapping[str, Outcome],
        pending: Sequence[str],
        reasons: Mapping[str, WaitingFor] | None = None,
    ) -> None:
        self.finished = dict(finished)
        self.pending = tuple(pending)
        self.reasons = {key: reason for key, reason in (reasons or {}).items() if key in self.pending}
        text = f"{len(pending)} of {len(pending) + len(finished)} completions are not final yet"
        super().__init__(". ".join([text, *map(_sentence, dict.fromkeys(self.reasons.values()))][:MAX_REASONS]))


def _sentence(waiting_for: WaitingFor) -> str:
    until = f" (until {waiting_for.until:%Y-%m-%d %H:%M:%S} UTC)" if waiting_for.until else ""
    return f"{waiting_for.detail.rstrip('.')}{until}"


class APIError(AutotuneError):
    """The server rejected a request."""

    code = "api_error"

    def __init__(
        self,
        detail: str,
        *,
        status: int,
        code: str | None = None,
        request_id: str | None = None,
        errors: Sequence[FieldError] = (),
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(detail, code=code)
        self.status = status
        self.request_id = request_id
        self.errors = tuple(errors)
        self.retry_after_s = retry_after_s

    def __str__(self) -> str:
        lines = [f"{self.status} {self.code}: {self.detail}"]
        lines += [f"  {e.pointer or '(body)'}: {e.detail} ({e.code})" for e in self.errors[:10]]
        if len(self.errors) > 10:
            lines.append(f"  and {len(self.errors) - 10} more")
        if self.request_id:
            lines.append(f"  request {self.request_id}")
        return "\n".join(lines)


class InvalidRequest(APIError):
    """The request is wrong; `errors` says where."""


class AuthenticationError(APIError):
    """No key, or one that is unknown, expired or revoked."""


class PermissionDenied(APIError):
    """The key's role does not allow this action."""


class NotFound(APIError):
    """The object does not exist, or this key may not see it."""


class ConflictError(APIError):
    """The object's state does not allow this, or a name or `external_id` is already used."""


class RateLimited(APIError):
    """Too many requests; `retry_after_s` says how long to wait."""


class ServerError(APIError):
    """The server failed or is unavailable."""


BY_STATUS: dict[int, type[APIError]] = {
    400: InvalidRequest,
    401: AuthenticationError,
    403: PermissionDenied,
    404: NotFound,
    409: ConflictError,
    411: InvalidRequest,
    413: InvalidRequest,
    415: InvalidRequest,
    422: InvalidRequest,
    429: RateLimited,
}


def from_problem(
    status: int, problem: Any, text: str, *, request_id: str | None, retry_after_s: float | None
) -> APIError:
    """Build the error of a response with a status of 400 or more.

    problem  the parsed problem+json, or None when the body was something else
    text     the body as text, shown in part if there is no problem+json
    """
    kind = BY_STATUS.get(status) or (ServerError if status >= 500 else APIError)
    if not isinstance(problem, dict):
        detail = " ".join(text.split())[:200] or "no details"
        code = f"http_{status}"
        return kind(detail, status=status, code=code, request_id=request_id, retry_after_s=retry_after_s)
    members = [e for e in problem.get("errors") or [] if isinstance(e, dict)]
    return kind(
        str(problem.get("detail") or problem.get("title") or "no details"),
        status=status,
        code=str(problem.get("code") or f"http_{status}"),
        request_id=str(problem["requestId"]) if problem.get("requestId") else request_id,
        errors=[field_error(e) for e in members],
        retry_after_s=retry_after_s,
    )


def field_error(member: Mapping[str, Any]) -> FieldError:
    """Build a FieldError from one entry of `errors`."""
    index = member.get("index")
    return FieldError(
        str(member.get("pointer") or ""),
        str(member.get("code") or ""),
        str(member.get("detail") or ""),
        index if isinstance(index, int) else None,
    )
