"""One transaction around a request's work, its event and its stored answer."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

from django.db import IntegrityError, transaction

from autotune.core.errors import Conflict

T = TypeVar("T")


_at_work: ContextVar[bool] = ContextVar("whole_at_work", default=False)


class LookAgain(Exception):
    """Somebody else was first, which a constraint found: what the work was begun with is not so any more.

    Raised within `whole`, which does the work once more. So a capability needs no savepoint of its own there.
    """


def whole(work: Callable[[], T]) -> T:
    """What `work()` returns, once it is committed.

    What it refers to may have been deleted meanwhile, which the commit finds: the work finds that out when it looks
    again, so it is done once more.

    raises Conflict if that is refused too, and whatever the work raises
    """
    token = _at_work.set(True)
    try:
        return _committed(work)
    except LookAgain:
        try:
            return _committed(work)
        except LookAgain as exc:
            raise Conflict("Another request changed the same objects. Try again.", code="conflict") from exc
    finally:
        _at_work.reset(token)


def is_whole() -> bool:
    """Whether `whole` is around, which does the work again after LookAgain."""
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
        raise LookAgain from exc
