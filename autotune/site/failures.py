"""Answer errors outside any view: problem+json below /api/, elsewhere a page, framed for logged-in users."""

import sys

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from autotune.access.frame import context, entry
from autotune.core import errors
from autotune.core.api import problems
from autotune.core.api.middleware import API_PREFIX


def _answer(request: HttpRequest, error: errors.AutotuneError) -> HttpResponse:
    if request.path.startswith(API_PREFIX):
        return problems.answer(error, request)
    if error.status < 500 and context.is_framed(request):
        return entry.failed(request, error)
    return render(request, "core/pages/failure.html", {"error": error}, status=error.status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, errors.Invalid("The request is malformed, or this server does not accept its Host header."))


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, errors.Forbidden())


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, errors.NotFound("There is nothing at this address."))


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer an exception outside a view. A database that does not answer is 503 in the middleware too."""
    failure = sys.exc_info()[1]
    if isinstance(failure, Exception) and (error := problems.typed(failure)) is not None and error.status == 503:
        return problems.answer(error, request)
    return _answer(request, errors.AutotuneError("Something went wrong here. Quote the request id when you report it."))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _answer(
        request,
        errors.Forbidden("The form has expired or did not come from this site. Go back, reload it and try again."),
    )
