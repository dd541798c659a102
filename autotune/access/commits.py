"""Run a request's work, its audit event and its stored answer in one transaction."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

from django.db import IntegrityError, transaction

from autotune.core.errors import Conflict

T = TypeVar("T")


_at_work: ContextVar[bool] = ContextVar("whole_at_work", default=False)


class ConcurrentChange(Exception):
    """A constraint failed because another request changed the same objects first, so the work must start again.

    Raise it within `whole`, which runs the work again. A capability therefore needs no savepoint of its own there.
    """


def whole(work: Callable[[], T]) -> T:
    """Run `work()` in a transaction, and return its result after the commit.

    The commit fails if another request has deleted an object that the work refers to. The work then runs a second time,
    which finds the object missing and reports it.

    raises Conflict if the second commit fails too, and whatever the work raises
    """
    token = _at_work.set(True)
    try:
        return _committed(work)
    except ConcurrentChange:
        try:
            return _committed(work)
        except ConcurrentChange as exc:
            raise Conflict("Another request changed the same objects. Try again.", code="conflict") from exc
    finally:
        _at_work.reset(token)


def is_whole() -> bool:
    """Return whether the caller runs within `whole`, which runs the work again after ConcurrentChange."""
    return _at_work.get()


def _committed(work: Callable[[], T]) -> T:
    worked = False
    try:
        with transaction.atomic():
            result = work()
            worked = True
        return result
    except IntegrityError as exc:
        if not worked:
            raise
        raise ConcurrentChange from exc
