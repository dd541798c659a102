"""Run a form whose response shows a secret only once, even if a person submits or reloads it twice.

Such a form contains a signed ticket, which serves as an idempotency key: the transaction of the work also stores that
the form was answered, without the secret.
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
VALID: Final = timedelta(hours=12)  # below idempotency.KEPT: a ticket expires before its answer does
SENT_BEFORE: Final = (
    "This form was already submitted, and its secret was shown then. It cannot be shown again. "
    "If you have lost it, find the entry in the list and replace its secret there."
)


def ticket(request: PageRequest) -> str:
    """Return a ticket for the hidden field of a form that is submitted to its own address."""
    return ticket_for(request, request.path)


def ticket_for(request: PageRequest, path: str) -> str:
    """Return a ticket for the hidden field of a form that is submitted to `path`."""
    return signing.dumps(uuid4().hex, salt=_salt(request, path))


def do(request: PageRequest, work: Callable[[], T]) -> T:
    """Do the work once for each ticket, and return its result.

    raises  Conflict `sent_before`, Invalid for a ticket that is missing, too old or another person's, and whatever the
            work raises; after an error of the work the ticket can be used again
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
        detail = "This form has expired or was incomplete. Submit it again."
        raise Invalid(detail, code="form_expired") from None
    digest = hashlib.sha256(text.encode()).digest()
    return idempotency.KeyedRequest(request.principal.organization.pk, f"POST {request.path}"[:200], digest, digest)


def _salt(request: HttpRequest, path: str) -> str:
    return f"once.{path}.{request.user.pk}"
