"""Write one audit event for each audited request.

The base class of the views writes the event of a change in the transaction of its work. This middleware writes all
other events after the response, whatever its status.
"""

from collections.abc import Callable
from typing import Any, Final

from django.http import HttpRequest, HttpResponse

from autotune.access.audit import current_call, refreshes, request_subjects, trail
from autotune.access.audit.current_call import AuditedCall
from autotune.access.audit.event_organizations import home_of
from autotune.core.api import problems
from autotune.core.api.middleware import API_PREFIX, GetResponse
from autotune.core.api.operations import SAFE_METHODS
from autotune.core.connections import release
from autotune.core.errors import Unavailable

SELF_AUDITED: Final = {"invitation"}  # pages that write their own event, for the inviting organization


class AuditMiddleware:
    """Audits requests. Place it before all that may reject a request, and after what sets its id and address."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request_subjects.is_audited(request):
            return self.get_response(request)
        with current_call.at_hand(AuditedCall(request, trail.address_of(request))) as call:
            response = self.get_response(request)
            if call.recorded != response.status_code and not _is_anonymous_view(call, response):
                _note(call, response)
        if response.streaming:
            release()  # the client reads it as slowly as it likes
        return response

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: Any, kwargs: Any
    ) -> HttpResponse | None:
        """Record the work of a page's form before it starts, since pages have no transaction of their own."""
        call, person = current_call.current(), trail.person_of(request)
        if call is None or request.path.startswith(API_PREFIX) or person is None:
            return None
        match = request.resolver_match
        if match is not None and match.url_name in SELF_AUDITED:
            return None
        is_own = match is None or "admin" not in match.app_names
        call.organization_id = home_of(person, request) if is_own else request_subjects.owner_of(call)
        if request.method in SAFE_METHODS:
            return None
        if selected := request_subjects.selected_in(call):
            call.action, call.objects_count = selected.action, selected.count
            if selected.asks:  # the confirmation page, which changes nothing
                call.action, call.acted = "admin.read", True
                return None
        try:
            trail.opened(call)
        except Unavailable as exc:
            return problems.answer(exc, request)
        return None


def _note(call: AuditedCall, response: HttpResponse) -> None:
    """Write the event, unless it repeats a recent view of the same part of a page."""
    may_repeat = "HTTP_HX_REQUEST" in call.request.META and refreshes.may_be(call, response)
    if may_repeat and refreshes.is_known(call):
        return
    trail.noted(call, response.status_code, call.refused or _code(response))
    if may_repeat:
        refreshes.remember(call)


def _code(response: HttpResponse) -> str:
    """Return the error code of the response, or ''."""
    if response.status_code < 400:
        return ""
    shape = getattr(response, "content_struct", None)
    return str(getattr(response, "problem_code", "") or getattr(shape, "code", ""))[:64]


def _is_anonymous_view(call: AuditedCall, response: HttpResponse) -> bool:
    """Return whether an anonymous person merely viewed a page, such as the login."""
    request = call.request
    is_view = request.method in SAFE_METHODS and response.status_code < 400 and not call.action
    return is_view and not request.path.startswith(API_PREFIX) and trail.person_of(request) is None
