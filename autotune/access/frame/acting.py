"""Run the work of a page's form with the function that the API calls, and show its errors beside the form."""

from collections.abc import Callable, Sequence
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
from autotune.core.api.operations import SAFE_METHODS
from autotune.core.errors import AutotuneError

T = TypeVar("T")
CALLS_OUT: Final = Rate(per_minute=60, burst=10)  # for each person: a slow server holds a thread


def do(request: HttpRequest, work: Callable[[], T], *, toast: str = "", calls_out: bool = False) -> T:
    """Run `work()` and return its result after the commit; the audit log records that it was done.

    toast      a message for the next page that is shown
    calls_out  the work waits for another server, or makes its own transactions: it runs outside of a transaction
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
    """Run the work of an action without a form, show an error as a toast, and return whether the work was done."""
    try:
        with problems.converted():
            do(request, work, toast=toast, calls_out=calls_out)
    except AutotuneError as error:
        messages.error(request, error.detail)
        if (call := current_call.current()) is not None:
            call.refused = error.code
        return False
    return True


def _count(request: HttpRequest) -> None:
    """Limit calls to other servers through pages to a person's pace: scripts use the API, which has its own limits.

    raises TooManyRequests
    """
    if settings.KEY_RATE_PER_MINUTE and isinstance(request.user, User):
        refusal = f"More than {CALLS_OUT.burst} calls to other servers at once. Wait a moment, then try again."
        throttles.admit(f"page:calls:{request.user.pk}", CALLS_OUT, refusal)


def concerns(resource: str, verb: str, object_id: str = "", *, fields: Sequence[str] | None = None) -> None:
    """Name the request's act as the API names it, so that the audit log has one name for it, however it was done.

    Call it before the work, so that a rejected act has the name too. Does nothing for a GET.
    """
    call = current_call.current()
    if call is None or call.request.method in SAFE_METHODS:
        return
    call.action, call.resource = f"{resource}.{verb}", resource
    current_call.about(object_id, fields=fields)


def acted() -> None:
    """Record for the audit log that a form whose page answers 200 has done its work."""
    if (call := current_call.current()) is not None:
        call.acted = True


__all__ = ["AutotuneError", "acted", "attempt", "concerns", "do"]
