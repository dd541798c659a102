"""Forms whose answer shows a secret: sent twice, or loaded anew, they make nothing a second time.

Such a form holds a signed ticket. The ticket is used as an idempotency key, so that the first answer's place is kept in
the transaction of the work; what is kept of it holds no secret.
"""

import hashlib
from collections.abc import Callable
from datetime import timedelta
from typing import Final, TypeVar
from uuid import uuid4

from django.core import signing
from django.http import HttpRequest, HttpResponse

from autotune.access import idempotency
from autotune.access.frame import acting
from autotune.access.frame.entry import PageRequest
from autotune.core.errors import Conflict, Invalid

T = TypeVar("T")
FIELD: Final = "ticket"
VALID: Final = timedelta(hours=12)  # below idempotency.KEPT: a ticket is refused before it would be forgotten
SENT_BEFORE: Final = (
    "This form was sent before, and the secret was shown then: it cannot be shown again. "
    "If it is lost, look in the list for what was made, and replace it there."
)


def ticket(request: PageRequest) -> str:
    """For the hidden field of a form that is sent to the address at which it is shown."""
    return ticket_for(request, request.path)


def ticket_for(request: PageRequest, path: str) -> str:
    """For the hidden field of a form that is sent to `path`."""
    return signing.dumps(uuid4().hex, salt=_salt(request, path))


def do(request: PageRequest, work: Callable[[], T]) -> T:
    """Do the work once for each ticket, and return its result.

    raises  Conflict `sent_before`, Invalid for a ticket that is missing, too old or another person's; and whatever the
            work raises: then the ticket can be used again
    """
    keyed_request = _keyed_request(request)
    results: list[T] = []

    def perform() -> HttpResponse:
        results[:] = [work()]
        return HttpResponse(status=201)

    response = idempotency.once(keyed_request, perform)
    if idempotency.REPLAYED in response:
        raise Conflict(SENT_BEFORE, code="sent_before")
    acting.acted()
    return results[0]


def _keyed_request(request: PageRequest) -> idempotency.KeyedRequest:
    text = request.POST.get(FIELD, "")
    try:
        signing.loads(text, salt=_salt(request, request.path), max_age=VALID)
    except signing.BadSignature:
        detail = "This form is too old, or was not sent whole. It is shown anew: send it again."
        raise Invalid(detail, code="form_expired") from None
    digest = hashlib.sha256(text.encode()).digest()
    return idempotency.KeyedRequest(request.principal.organization.pk, f"POST {request.path}"[:200], digest, digest)


def _salt(request: HttpRequest, path: str) -> str:
    return f"once.{path}.{request.user.pk}"
