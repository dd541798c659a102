"""What the scripts of the reviews are answered: JSON, also for a refusal; a page for everybody else."""

import functools
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase

from autotune.core import ids
from autotune.core.api import problems


def by_script(request: HttpRequest) -> bool:
    """Whether a script asks."""
    return "application/json" in request.headers.get("Accept", "")


def replies(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Let a view's typed error be JSON for a script: code, detail, and whether the person decided it themselves."""

    @functools.wraps(view)
    def answer(request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except Exception as exc:
            error = problems.typed(exc)
            if error is None or not by_script(request):
                raise
            current = getattr(error.current, "review", None)
            decided = getattr(current, "decided_by", None)
            mine = decided is not None and decided == ids.encode("user", request.principal.user.pk)
            told = {"code": error.code, "detail": error.detail, "mine": mine}
            response = JsonResponse(told, status=error.status)
            response.problem_code = error.code  # type: ignore[attr-defined] # for the audit trail
            return response

    return answer
