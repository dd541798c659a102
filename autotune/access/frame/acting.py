"""How a page does what a form asks for: by the capability that the API calls, with its refusal told beside the form."""

from collections.abc import Callable
from typing import Final, TypeVar

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest

from autotune.access import commits
from autotune.access.audit import current_call
from autotune.access.models import User
from autotune.access.throttling import throttles
from autotune.access.throttling.rates import Rate
from autotune.core.api import problems
from autotune.core.errors import AutotuneError

T = TypeVar("T")
CALLS_OUT: Final = Rate(per_minute=60, burst=10)  # of one person: each may hold a thread as long as somebody is slow


def do(request: HttpRequest, work: Callable[[], T], *, toast: str = "", calls_out: bool = False) -> T:
    """Return what `work()` returns, once it is committed; the trail records that it was done.

    toast      a message for the next page that is shown
    calls_out  the work waits for somebody else's server, or makes transactions of its own: none is held around it
    raises     AutotuneError as the capability does: give it to a form's `refuse`, or let `page` show it
    """
    if calls_out:
        _count(request)
    result = work() if calls_out else commits.whole(work)
    acted()
    if toast:
        messages.success(request, toast)
    return result


def attempt(request: HttpRequest, work: Callable[[], object], *, toast: str = "", calls_out: bool = False) -> bool:
    """Do the same for an action without a form: a refusal is a toast. Returns whether the work was done."""
    try:
        do(request, work, toast=toast, calls_out=calls_out)
    except Exception as exc:
        error = problems.typed(exc)
        if error is None:
            raise
        messages.error(request, error.detail)
        if (call := current_call.current()) is not None:
            call.refused = error.code
        return False
    return True


def _count(request: HttpRequest) -> None:
    """Who asks others through a page asks as a person does: a script has the API, with its own limits.

    raises TooManyRequests
    """
    if settings.KEY_RATE_PER_MINUTE and isinstance(request.user, User):
        refusal = f"More than {CALLS_OUT.burst} requests that ask others at once. Wait a moment."
        throttles.admit(f"page:calls:{request.user.pk}", CALLS_OUT, refusal)


def acted() -> None:
    """Tell the audit trail that a form whose page answers 200 did what it was sent for."""
    if (call := current_call.current()) is not None:
        call.acted = True


__all__ = ["AutotuneError", "acted", "attempt", "do"]
