"""The current request, from which its audit event is made.

Most views need nothing of it: their routes and their responses say what a request concerned. A view that knows better
reports it here.
Outside of a request, these functions do nothing.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import msgspec
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from autotune.access.models import AuditEvent, User
from autotune.core.api.pagination import Pagination


@dataclass(slots=True)
class AuditedCall:
    """What is known of one request so far.

    action, resource  set if they differ from what the route implies, as for a login
    user, actor       the caller, if the request does not name one: a grader, somebody who tried to log in
    organization_id   the organization of the event, if it is not the caller's
    refused           the code of an error that a page shows as a toast, while its response redirects
    acted             the work was done, whatever the status says: a form's page answers 200 to a refusal too
    event             the row, if one was written before the work
    recorded          status of the response with which the row was written in the transaction of the work. The response
                      has another status only if that transaction was rolled back
    """

    request: HttpRequest
    address: str | None
    action: str = ""
    resource: str = ""
    user: User | None = None
    actor: str = ""
    organization_id: UUID | None = None
    object_id: str = ""
    objects_count: int | None = None
    fields: list[str] | None = None
    refused: str = ""
    acted: bool = False
    event: AuditEvent | None = field(default=None, repr=False)
    recorded: int | None = None


_current: ContextVar[AuditedCall | None] = ContextVar("audited_call", default=None)


def current() -> AuditedCall | None:
    """Return the call that this thread answers; None in a job, a command, or a request that is not audited."""
    return _current.get()


@contextmanager
def at_hand(call: AuditedCall) -> Iterator[AuditedCall]:
    """Make `call` the current call within the block."""
    token = _current.set(call)
    try:
        yield call
    finally:
        _current.reset(token)


def about(object_id: str, *, objects_count: int | None = None, fields: Sequence[str] | None = None) -> None:
    """Note what the call concerns: the public id of an object or '', the number of objects, and the members set."""
    call = current()
    if call is None:
        return
    call.object_id = object_id
    if objects_count is not None:
        call.objects_count = objects_count
    if fields is not None:
        call.fields = list(fields)


def by(actor: str, *, organization_id: UUID | None = None) -> None:
    """Note the caller if neither a key nor a session names one: a grader authenticated by its signature."""
    call = current()
    if call is not None:
        call.actor, call.organization_id = actor, organization_id


def set_members(names: Sequence[str]) -> None:
    """Note the names of the members that a body sets."""
    call = current()
    if call is not None:
        call.fields = list(names)


def note_response(response: HttpResponseBase) -> HttpResponseBase:
    """Note the response's object, or the number of its objects, unless the view has; return the response."""
    call = current()
    if call is not None and response.status_code < 400:
        _note_content(call, getattr(response, "content_struct", None))
    return response


def _note_content(call: AuditedCall, content: Any) -> None:
    if not isinstance(content, msgspec.Struct):
        return
    for name in content.__struct_fields__:
        member = getattr(content, name)
        if isinstance(member, list):
            if call.objects_count is None and not call.object_id:
                call.objects_count = len(member)
            return
        if isinstance(member, msgspec.Struct) and not isinstance(member, Pagination):
            object_id = getattr(member, "id", None)
            if isinstance(object_id, str) and not call.object_id:
                call.object_id = object_id
            return
