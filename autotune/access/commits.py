"""One transaction around a request's work, its event and its stored answer."""

from collections.abc import Callable
from typing import TypeVar

from django.db import IntegrityError, transaction

from autotune.core.errors import Conflict

T = TypeVar("T")


class _CommitRefused(Exception):
    """A constraint that is checked at the commit."""


def whole(work: Callable[[], T]) -> T:
    """What `work()` returns, once it is committed.

    What it refers to may have been deleted meanwhile, which the commit finds: the work finds that out when it looks
    again, so it is done once more.

    raises Conflict if that is refused too, and whatever the work raises
    """
    try:
        return _committed(work)
    except _CommitRefused:
        try:
            return _committed(work)
        except _CommitRefused as exc:
            raise Conflict("Another request changed the same objects. Try again.", code="conflict") from exc


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
        raise _CommitRefused from exc
