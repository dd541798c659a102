"""Checks that the configured master keys are those of this database.

Two hosts can hold different digits under the same id, and a restored dump can meet the keys of another installation.
Therefore Autotune stores a check value for each master key when the key first wraps a data key: 32 random bytes,
wrapped with the key. A key that opens neither its check value nor its newest data keys is wrong, and must not write.
"""

import secrets
import time
from collections.abc import Callable, Sequence
from typing import Final

from django.db import IntegrityError, transaction

from autotune.core.crypto.keyproviders import RefusedKey, UnknownKey, provider
from autotune.core.models import DataKey, MasterKey

NEWEST: Final = 3  # data keys to try if there is no check value, or it does not open
RIGHT_FOR_S: Final = 10.0  # how long a process trusts that its keys are right
WRONG_FOR_S: Final = 1.0


def refusal() -> str:
    """Return why the configured master keys must not write, as a sentence with the key's id; '' if they are right.

    Checks the key that wraps the newest data key, and the key that would wrap the next one.
    """
    newest = DataKey.objects.order_by("-pk").values_list("wrapping_key", flat=True).first()
    names = dict.fromkeys(filter(None, (newest, provider().current())))
    return next(filter(None, map(refusal_of, names)), "")


def refusal_of(name: str) -> str:
    """Return why the master key `name` must not be used; '' if it opens what it wrapped, or has wrapped nothing."""
    check = MasterKey.objects.filter(pk=name).first()
    wrapped = list(DataKey.objects.filter(wrapping_key=name).order_by("-pk")[:NEWEST])
    try:
        if check is not None and _opens(name, bytes(check.check_value), check_context(name)):
            return ""
        opened = [_opens(name, bytes(row.wrapped), context(row)) for row in wrapped]
    except UnknownKey:
        return missing_key(name) if check is not None or wrapped else ""
    if check is None:
        fits = not opened or any(opened)  # one data key may be damaged
    else:
        fits = bool(opened) and all(opened)  # the check value is damaged
    return "" if fits else wrong_key(name)


def missing_key(name: str) -> str:
    """Return the sentence for a master key that is not configured."""
    return f"AUTOTUNE_ENCRYPTION_KEYS lacks the key {name!r} that wraps a data key: add it."


def wrong_key(name: str) -> str:
    """Return the sentence for a master key with the right id and wrong digits."""
    return (
        f"the master key {name!r} is not the one that wrapped this database's data keys:"
        " its id is right, its digits are not. Restore the right key."
    )


def fits(name: str) -> bool:
    """Whether the master key `name` is the right one; remembered for a few seconds."""
    return not _remembered(name, lambda: refusal_of(name))


def recent_refusal() -> str:
    """Return the result of `refusal`, at most a few seconds old: for `/ready`, which is called often."""
    return _remembered("", refusal)


def establish() -> str:
    """Store the check value of the current master key if there is none; return why the key must not be used, or ''.

    Belongs inside the transaction that writes the first data key: of two hosts with different keys one is refused.
    """
    if reason := refusal():
        return reason
    name = provider().current()
    if MasterKey.objects.filter(pk=name).exists():
        return ""
    check_value = provider().wrap(name, secrets.token_bytes(32), check_context(name))
    try:
        with transaction.atomic():
            MasterKey.objects.create(pk=name, check_value=check_value)
    except IntegrityError:  # another process was first, perhaps with another key
        return refusal_of(name)
    return ""


def unopened(rows: Sequence[DataKey]) -> list[DataKey]:
    """Return the data keys among `rows` that no configured master key opens."""
    return [row for row in rows if not _is_opened(row)]


def context(row: DataKey) -> bytes:
    """Return the bytes to which a data key's wrapping is bound."""
    return b"data-key." + row.pk.bytes


def check_context(name: str) -> bytes:
    """Return the bytes to which a check value's wrapping is bound."""
    return b"master-key." + name.encode()


def forget() -> None:
    """Forget the remembered results: the keys of this process have changed (in tests)."""
    _memory.clear()


_memory: dict[str, tuple[str, float]] = {}  # by key id; '' holds the result of `refusal`


def _remembered(name: str, check: Callable[[], str]) -> str:
    reason, until = _memory.get(name, ("", 0.0))
    if time.monotonic() >= until:
        reason = check()
        _memory[name] = reason, time.monotonic() + (WRONG_FOR_S if reason else RIGHT_FOR_S)
    return reason


def _is_opened(row: DataKey) -> bool:
    try:
        return _opens(row.wrapping_key, bytes(row.wrapped), context(row))
    except UnknownKey:
        return False


def _opens(name: str, wrapped: bytes, bound_to: bytes) -> bool:
    """raises UnknownKey"""
    try:
        provider().unwrap(name, wrapped, bound_to)
    except RefusedKey:
        return False
    return True
