"""The call at hand, for what an event of it says. Views and capabilities need to know nothing of it; where they know
better than its route what it concerned, they say so here. Outside a call these do nothing.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from uuid import UUID

from django.http import HttpRequest

from autotune.access.models import AuditEvent, User


@dataclass(slots=True)
class Call:
    """One request, as far as it is known by now.

    action, resource  where they are not what the route says, as a login's
    user, actor       who it is, where the request does not say: a grader, somebody who tried to log in
    organization_id   whose event it is, where that is not the caller's organization
    refused           the code of what a page refused and told in a toast: its answer leads elsewhere all the same
    acted             something was done, whatever the status says: a form's page answers 200 to a refusal too
    event             the row, where one was written before the work
    recorded          status of the answer with which its row was written in the transaction of the work. Another one
                      goes out only where that transaction was rolled back
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


_current: ContextVar[Call | None] = ContextVar("audited_call", default=None)


def current() -> Call | None:
    """The call that this thread answers; None in a job, a command, or a request that is not audited."""
    return _current.get()


@contextmanager
def at_hand(call: Call) -> Iterator[Call]:
    """`current()` within the block."""
    token = _current.set(call)
    try:
        yield call
    finally:
        _current.reset(token)


def about(object_id: str, *, objects_count: int | None = None, fields: Sequence[str] | None = None) -> None:
    """Note what the call concerns: the public id of an object or '', how many, and the members that were set."""
    call = current()
    if call is None:
        return
    call.object_id = object_id
    if objects_count is not None:
        call.objects_count = objects_count
    if fields is not None:
        call.fields = list(fields)


def by(actor: str, *, organization_id: UUID | None = None) -> None:
    """Note who calls, where no key and no session says so: a grader that proved itself by its signature."""
    call = current()
    if call is not None:
        call.actor, call.organization_id = actor, organization_id


def set_members(names: Sequence[str]) -> None:
    """Note the names of the members that a body sets."""
    call = current()
    if call is not None:
        call.fields = list(names)
