"""Rewraps data keys under another master key, retires and drops them, while other processes keep serving."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from django.db import connection, transaction

from autotune.core.clock import database_now
from autotune.core.crypto import encryption, keychecks
from autotune.core.crypto.encryption import DIGEST_PERIOD, SPARES, MasterKeyMissing, Undecryptable
from autotune.core.crypto.keyproviders import provider
from autotune.core.models import DataKey

AT_ONCE: Final = 500


@dataclass(slots=True)
class UnopenedKeys:
    """Data keys that the configured master keys do not open.

    lost     how many, by the id of the missing or wrong master key
    damaged  those whose master key is right, so that their own row is damaged
    """

    lost: Counter[str] = field(default_factory=Counter)
    damaged: list[DataKey] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.lost or self.damaged)


def unopened() -> UnopenedKeys:
    """Find the data keys that no master key opens, with one call of the key provider for each data key."""
    unopened_keys = UnopenedKeys()
    rest = DataKey.objects.order_by("pk")
    while rows := list(rest[:AT_ONCE]):
        for row in keychecks.unopened(rows):
            if keychecks.fits(row.wrapping_key):
                unopened_keys.damaged.append(row)
            else:
                unopened_keys.lost[row.wrapping_key] += 1
        rest = rest.filter(pk__gt=rows[-1].pk)
    return unopened_keys


@dataclass(slots=True)
class RewrapResult:
    """The result of a rotation. `failed` counts the data keys that it could not open, by the id of their master key."""

    current: str
    rewrapped: int = 0
    failed: Counter[str] = field(default_factory=Counter)


def rewrap() -> RewrapResult:
    """Wrap every data key under the current master key. Encrypted text does not change.

    Concurrent readers find either the old or the new wrapping, complete. After an interruption, run it again.

    raises MasterKeyMissing if another key wrapped data keys under the current master key's id before
    """
    done = RewrapResult(provider().current())
    if refusal := keychecks.refusal_of(done.current):
        raise MasterKeyMissing(refusal)
    keychecks.establish()
    others = DataKey.objects.exclude(wrapping_key=done.current).order_by("pk")
    rest = others
    while rows := list(rest[:AT_ONCE]):
        for row in rows:
            _rewrap(row, done)
        rest = others.filter(pk__gt=rows[-1].pk)
    return done


def _rewrap(row: DataKey, done: RewrapResult) -> None:
    try:
        name, wrapped = encryption.wrap(row, encryption.unwrap(row))
    except Undecryptable:
        done.failed[row.wrapping_key] += 1
        return
    as_read = DataKey.objects.filter(
        pk=row.pk, wrapping_key=row.wrapping_key
    )  # if two processes rotate, only one writes
    done.rewrapped += as_read.update(wrapping_key=name, wrapped=wrapped)


def wrapped_by() -> dict[str, int]:
    """Return how many data keys each master key wraps."""
    return dict(sorted(Counter(DataKey.objects.values_list("wrapping_key", flat=True)).items()))


def retire(*, scope: UUID | None = None, periods: Collection[str] | None = None) -> int:
    """Retire data keys, except digest keys, and return how many. The next text of their month gets a new key.

    scope    only keys of this organization
    periods  only keys of these months
    """
    rows = DataKey.objects.filter(retired_at=None).exclude(period=DIGEST_PERIOD)
    if scope is not None:
        rows = rows.filter(scope=scope)
    if periods is not None:
        rows = rows.filter(period__in=[period + spare for period in periods for spare in SPARES])
    retired = rows.update(retired_at=database_now())
    transaction.on_commit(encryption.keyring.current.clear)  # here at once; elsewhere within CURRENT_FOR_S
    return retired


def retired() -> dict[bytes, DataKey]:
    """Return the retired data keys by the bytes of their ids, as envelopes name them."""
    return {row.pk.bytes: row for row in DataKey.objects.exclude(retired_at=None).defer("wrapped")}


def drop_retired() -> int:
    """Delete the retired data keys. The caller must know that no value is left under them."""
    dropped = DataKey.objects.exclude(retired_at=None)
    ids = list(dropped.values_list("pk", flat=True))
    count = dropped.filter(pk__in=ids).delete()[0]

    def forget() -> None:
        for key_id in ids:
            encryption.keyring.opened.pop(key_id, None)

    transaction.on_commit(forget, using=connection.alias)
    return count
