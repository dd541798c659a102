"""Reply to the scripts of the review pages with JSON, also for an error; browsers without scripts get a page."""

import functools
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase

from autotune.core import ids
from autotune.core.api import problems
from autotune.core.errors import AutotuneError


def by_script(request: HttpRequest) -> bool:
    """Whether a script sent the request."""
    return "application/json" in request.headers.get("Accept", "")


def replies(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Return a view's typed error to scripts as JSON: code, detail, and whether the person decided the review."""

    @functools.wraps(view)
    def answer(request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            with problems.converted():
                return view(request, *args, **kwargs)
        except AutotuneError as error:
            if not by_script(request):
                raise
            current = getattr(error.current, "review", None)
            decided_by = getattr(current, "decided_by", None)
            is_own = decided_by is not None and decided_by == ids.encode("user", request.principal.user.pk)
            body = {"code": error.code, "detail": error.detail, "mine": is_own}
            response = JsonResponse(body, status=error.status)
            response.problem_code = error.code  # type: ignore[attr-defined] # for the audit trail
            return response

    return answer
