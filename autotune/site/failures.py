"""Errors outside any view: problem+json below /api/; elsewhere a page, in the frame for who is logged in."""

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
    return render(request, "site/failure.html", {"error": error}, status=error.status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, errors.Invalid("The request is malformed, or its Host is not one of ours."))


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, errors.Forbidden())


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, errors.NotFound("There is nothing at this address."))


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer an exception outside a view. In the middleware too, a database that is away is 503."""
    failure = sys.exc_info()[1]
    if isinstance(failure, Exception) and (error := problems.typed(failure)) is not None and error.status == 503:
        return problems.answer(error, request)
    return _answer(request, errors.AutotuneError("Something went wrong here. Quote the request id when you report it."))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _answer(
        request,
        errors.Forbidden("The form was too old, or did not come from this site. Go back, reload, and try again."),
    )
