"""Converts errors to `application/problem+json` responses (RFC 9457)."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db.models import ProtectedError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.http.request import RawPostDataException
from rest_framework import exceptions as drf

from autotune.core import connections, errors, logs
from autotune.core.crypto.decryption import MasterKeyMissing, Undecryptable
from autotune.core.errors import AutotuneError

logger = logging.getLogger(__name__)
outages = logs.repeating(__name__)  # each request would log a line while the database is away


class Location(msgspec.Struct, rename="camel"):
    """What is wrong with one member. `pointer` is a JSON pointer into the body, or `?name` for a query parameter."""

    pointer: str
    code: str
    detail: str


class Problem(msgspec.Struct, rename="camel", omit_defaults=True):
    """An error response. `code` is stable; `current` is the present object, if another request changed it first."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str | None
    errors: list[Location] = []
    current: Any = None


def answer(error: AutotuneError, request: HttpRequest | None) -> HttpResponse:
    """Return the HTTP response for a typed error."""
    problem = Problem(
        type=f"/api/v1/docs#{error.code}",
        title=error.title,
        status=error.status,
        detail=_readable(error.detail),
        code=error.code,
        request_id=getattr(request, "request_id", None),
        errors=[Location(_readable(e.pointer), e.code, _readable(e.detail)) for e in error.errors],
        current=error.current,
    )
    response = HttpResponse(msgspec.json.encode(problem), status=error.status, content_type="application/problem+json")
    response.problem_code = error.code  # type: ignore[attr-defined] # for the audit log
    for name, value in error.headers.items():
        response[name] = value
    if error.status == 401:
        response["WWW-Authenticate"] = 'Bearer realm="autotune"'
    return response


def _readable(text: str) -> str:
    """Return text that UTF-8 can hold: a lone surrogate quoted from the input becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def too_large() -> errors.TooLarge:
    """Return the error for a body over the limit."""
    return errors.TooLarge(f"The body is larger than {settings.MAX_BODY_BYTES // 2**20} MiB. Send it in parts.")


def typed(exc: Exception) -> AutotuneError | None:
    """Convert an exception to our error; return None if it is unexpected."""
    if isinstance(exc, AutotuneError):
        return exc
    if connections.refuses_writes(exc):
        outages.warning("the database is read-only: %s", exc)
        return errors.Unavailable("The database is read-only at the moment. Try again.")
    if connections.is_away(exc):
        outages.warning("the database is away: %s", exc)
        return errors.Unavailable()
    if isinstance(exc, MasterKeyMissing):
        logger.error("a master key is missing or wrong: %s", exc)
        return errors.Unavailable("A master key is missing or wrong: the operator of the server must restore it.")
    if isinstance(exc, Undecryptable):
        return errors.Unreadable()
    if isinstance(exc, RequestDataTooBig):
        return too_large()
    if isinstance(exc, UnreadablePostError):
        return errors.Invalid("The body ended before its Content-Length.")
    if isinstance(exc, RawPostDataException):  # the check of a session's CSRF token has read it as a form
        return errors.UnsupportedMedia("Send the body as application/json.")
    if isinstance(exc, SuspiciousOperation):  # too many parameters, for one
        return errors.Invalid("The request is malformed.")
    if isinstance(exc, Http404 | drf.NotFound):
        return errors.NotFound()
    if isinstance(exc, PermissionDenied | drf.PermissionDenied):
        return errors.Forbidden(str(exc) if isinstance(exc, drf.PermissionDenied) else "")
    if isinstance(exc, drf.NotAuthenticated | drf.AuthenticationFailed):
        return errors.Unauthenticated(str(exc.detail))
    if isinstance(exc, drf.MethodNotAllowed):
        return errors.MethodNotAllowed(str(exc.detail))
    if isinstance(exc, drf.NotAcceptable):
        return errors.NotAcceptable("This address returns application/json. Allow it in `Accept`.")
    if isinstance(exc, ProtectedError):
        return errors.Conflict("Other objects still refer to this one.", code="in_use")
    return None


@contextmanager
def converted() -> Iterator[None]:
    """Raise the typed error in place of each exception that has one. The caller then catches only AutotuneError."""
    try:
        yield
    except AutotuneError:
        raise
    except Exception as exc:
        error = typed(exc)
        if error is None:
            raise
        raise error from exc


def exception_handler(exc: Exception, context: dict[str, Any]) -> HttpResponse:
    """Convert every exception of a view to a problem (DRF's handler). Log an unexpected one in full, and return 500."""
    request = context["request"]._request
    error = typed(exc)
    if error is None:
        logger.exception("unexpected error in %s %s", request.method, request.path)
        error = AutotuneError("Something went wrong here. Quote the request id when you report it.")
    response = answer(error, request)
    if isinstance(exc, drf.MethodNotAllowed):
        response["Allow"] = ", ".join(context["view"].allowed_methods)
    return response
