"""Whose second factor is being read: django-allauth hands over a ciphertext and does not say whose it is."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from uuid import UUID

from allauth.core import context

_acting: ContextVar[UUID | None] = ContextVar("second_factor_of", default=None)


@contextmanager
def acting(person: UUID) -> Iterator[None]:
    """Within, secrets are those of this person, who may not be logged in yet."""
    token = _acting.set(person)
    try:
        yield
    finally:
        _acting.reset(token)


def current() -> UUID:
    """The person named by `acting`, else who is logged in."""
    person = _acting.get() or context.request.user.pk
    if not isinstance(person, UUID):
        raise RuntimeError("nobody's second factor is asked for")
    return person
