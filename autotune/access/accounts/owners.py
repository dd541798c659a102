"""Track whose second factor is being read, since django-allauth passes a ciphertext without its owner."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from uuid import UUID

from allauth.core import context

_acting: ContextVar[UUID | None] = ContextVar("second_factor_of", default=None)


@contextmanager
def acting(person: UUID) -> Iterator[None]:
    """Read the secrets of this person within the block; the person may not be logged in yet."""
    token = _acting.set(person)
    try:
        yield
    finally:
        _acting.reset(token)


def current() -> UUID:
    """Return the person named by `acting`, else the logged-in person."""
    person = _acting.get() or context.request.user.pk
    if not isinstance(person, UUID):
        raise RuntimeError("no person is set whose second factor could be read")
    return person
