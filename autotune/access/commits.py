"""Run a request's work, its audit event and its stored answer in one transaction."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

from django.db import IntegrityError, transaction

from autotune.core.errors import Conflict

T = TypeVar("T")
_is_running: ContextVar[bool] = ContextVar("commits_is_running", default=False)


class ConcurrentChange(Exception):
    """A constraint failed because another request changed the same objects first: the work must run again.

    Raise it within `whole`, which rolls back and runs the work again, so the work needs no savepoint.
    """


def whole(work: Callable[[], T]) -> T:
    """Run `work()` in one transaction, and return its result after the commit.

    If the commit fails because another request deleted an object that the work refers to, `work` runs once again; this
    time it does not find the object and raises its own error.

    raises  Conflict if the second commit fails too; every error of `work`
    """
    token = _is_running.set(True)
    try:
        return _run_and_commit(work)
    except ConcurrentChange:
        try:
            return _run_and_commit(work)
        except ConcurrentChange as exc:
            raise Conflict("Another request changed the same objects. Try again.", code="conflict") from exc
    finally:
        _is_running.reset(token)


def is_whole() -> bool:
    """Return whether the caller runs within `whole`, and so may raise ConcurrentChange."""
    return _is_running.get()


def _run_and_commit(work: Callable[[], T]) -> T:
    is_done = False
    try:
        with transaction.atomic():
            result = work()
            is_done = True
        return result
    except IntegrityError as exc:
        if not is_done:  # the work itself broke a constraint
            raise
        raise ConcurrentChange from exc
