"""AES-256-GCM at rest: data keys per organization and month, wrapped by the master keys (keyproviders.py).

Envelope: version (1 byte), data key id (16), nonce (12), ciphertext with tag. Associated data: table, column, row id,
so a ciphertext moved to another row, column or table does not decrypt.
"""

import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.db import IntegrityError, transaction

from autotune.core import ids
from autotune.core.crypto import damage, keychecks
from autotune.core.crypto.decryption import MasterKeyMissing, Undecryptable
from autotune.core.crypto.keyproviders import RefusedKey, UnknownKey, provider
from autotune.core.models import DataKey

__all__ = ["Cipher", "MasterKeyMissing", "Undecryptable"]  # the errors are part of this module's interface
VERSION = b"\x01"
NONCE_BYTES = 12
HEADER_BYTES = 1 + 16 + NONCE_BYTES
DIGEST_PERIOD = "digest"
SPARES: Final = ("", "b", "c", "d")  # suffixes of a month's period: each further key replaces a damaged one
DAMAGED_FOR_S: Final = 5.0  # a damaged data key is tried again only after this time, not for each value under it
CURRENT_FOR_S: Final = 30.0  # after this time a process checks whether the data key in use was retired


@dataclass(frozen=True, slots=True)
class Cipher:
    """Encrypts with one data key. Made once for a batch: building the AES object for each value costs 65 % more."""

    key_id: UUID
    aead: AESGCM

    def encrypt(self, place: bytes, row_id: UUID, plaintext: bytes) -> bytes:
        """Return the envelope of `plaintext` at `place` (see `place()`) in the row `row_id`."""
        nonce = os.urandom(NONCE_BYTES)
        head = VERSION + self.key_id.bytes + nonce
        return head + self.aead.encrypt(nonce, plaintext, place + row_id.bytes)


def place(table: str, column: str) -> bytes:
    """Return the associated data of a column, to which the row id is added."""
    return f"{table}.{column}.".encode()


def decrypt(place: bytes, row_id: UUID, envelope: bytes) -> bytes:
    """Decrypt the envelope of the row `row_id` at `place` (see `place()`).

    raises Undecryptable if the envelope belongs to another place or row, or the data key was dropped
    """
    aead = _key_of(envelope)
    try:
        return aead.decrypt(envelope[17:HEADER_BYTES], envelope[HEADER_BYTES:], place + row_id.bytes)
    except InvalidTag:
        raise Undecryptable("the ciphertext does not belong to this row and column") from None


def decrypt_all(place: bytes, rows: Sequence[bytes], envelopes: Sequence[bytes | None]) -> list[bytes | None]:
    """Decrypt one column of many rows, whose ids are 16 bytes each; None stays None.

    raises Undecryptable as `decrypt` does
    """
    decrypt_functions: dict[bytes, Callable[..., bytes]] = {}  # by version and data key id, which most envelopes share
    plaintexts: list[bytes | None] = []
    try:
        for row, envelope in zip(rows, envelopes, strict=True):
            if envelope is None:
                plaintexts.append(None)
                continue
            decrypt = decrypt_functions.get(envelope[:17])
            if decrypt is None:
                decrypt = decrypt_functions[envelope[:17]] = _key_of(envelope).decrypt
            plaintexts.append(decrypt(envelope[17:HEADER_BYTES], envelope[HEADER_BYTES:], place + row))
    except (InvalidTag, ValueError):  # the latter: cut off within the nonce
        raise Undecryptable("the ciphertext does not belong to this row and column") from None
    return plaintexts


def _key_of(envelope: bytes) -> AESGCM:
    if len(envelope) < HEADER_BYTES + 16 or envelope[:1] != VERSION:
        raise Undecryptable("not an envelope of version 1")
    return _opened(UUID(bytes=bytes(envelope[1:17])))


class _Keyring:
    """Opened data keys of this process. Only committed keys are kept: one made in a transaction may yet roll back."""

    def __init__(self) -> None:
        self.opened: dict[UUID, AESGCM] = {}
        self.current: dict[tuple[UUID, str], tuple[Cipher, float]] = {}
        self.digests: dict[UUID, bytes] = {}
        self.damaged: dict[UUID, tuple[Undecryptable, float]] = {}

    def clear(self) -> None:
        self.opened.clear()
        self.current.clear()
        self.digests.clear()
        self.damaged.clear()
        keychecks.forget()
        damage.forget()


keyring = _Keyring()


def cipher_for(scope: UUID, *, now: datetime | None = None) -> Cipher:
    """Return the cipher of an organization's current month; the first use makes its data key."""
    return cipher_of(scope, (now or datetime.now(UTC)).strftime("%Y-%m"))


def cipher_of(scope: UUID, period: str) -> Cipher:
    """Return the cipher of an organization and month. This process uses a retired one for CURRENT_FOR_S at most."""
    cached, until = keyring.current.get((scope, period), (None, 0.0))
    now = time.monotonic()
    if cached is not None and now < until:
        return cached
    cipher = _cipher(scope, period, cached)

    def keep() -> None:
        keyring.opened[cipher.key_id] = cipher.aead
        keyring.current[scope, period] = cipher, now + CURRENT_FOR_S

    _once_committed(keep)
    return cipher


def _cipher(scope: UUID, period: str, previous: Cipher | None) -> Cipher:
    """Return the cipher for new values. If the month's data key is damaged, a further key replaces it."""
    for spare in SPARES:
        row = _data_key(scope, period[:7] + spare)
        if previous is not None and previous.key_id == row.id:
            return previous
        try:
            return Cipher(row.id, AESGCM(unwrap(row)))
        except MasterKeyMissing:
            raise
        except Undecryptable as exc:
            damaged = exc
            damage.note("core_datakey", "wrapped", row.id, str(exc))
    raise damaged


def content_digest(scope: UUID, *parts: bytes) -> bytes:
    """Return HMAC-SHA256 (32 bytes) of the parts, each framed by its length, under the organization's digest key."""
    return keyed_digest(digest_key(scope), *parts)


def keyed_digest(key: bytes, *parts: bytes) -> bytes:
    """Return the digest of the parts under a given key, so that a batch looks the key up only once."""
    mac = hmac.new(key, digestmod=hashlib.sha256)
    for part in parts:
        mac.update(len(part).to_bytes(8, "big"))
        mac.update(part)
    return mac.digest()


def digest_key(scope: UUID) -> bytes:
    """Return the organization's key for content digests. It never rotates, so that equal content stays equal."""
    if cached_key := keyring.digests.get(scope):
        return cached_key
    key = unwrap(_data_key(scope, DIGEST_PERIOD))
    _once_committed(lambda: keyring.digests.__setitem__(scope, key))
    return key


def _opened(key_id: UUID) -> AESGCM:
    if cached_aead := keyring.opened.get(key_id):
        return cached_aead
    damaged, until = keyring.damaged.get(key_id, (None, 0.0))
    if damaged is not None and time.monotonic() < until:
        raise Undecryptable(str(damaged), data_key=damaged.data_key)
    row = DataKey.objects.filter(pk=key_id).first()
    if row is None:
        raise Undecryptable("its data key was dropped")
    try:
        aead = AESGCM(unwrap(row))
    except MasterKeyMissing:
        raise
    except Undecryptable as exc:
        keyring.damaged[key_id] = exc, time.monotonic() + DAMAGED_FOR_S
        raise
    _once_committed(lambda: keyring.opened.__setitem__(key_id, aead))
    return aead


def _once_committed(keep: Callable[[], Any]) -> None:
    if transaction.get_connection().in_atomic_block:
        transaction.on_commit(keep)
    else:
        keep()


def _data_key(scope: UUID, period: str) -> DataKey:
    in_use = DataKey.objects.filter(scope=scope, period=period, retired_at=None)
    if row := in_use.first():
        return row
    row = DataKey(id=ids.new(), scope=scope, period=period)
    try:
        with transaction.atomic():
            if refusal := keychecks.establish():
                raise MasterKeyMissing(refusal)
            row.wrapping_key, row.wrapped = wrap(row, secrets.token_bytes(32))
            row.save(force_insert=True)
    except IntegrityError:  # another process was first
        return in_use.get()
    return row


def wrap(row: DataKey, key: bytes) -> tuple[str, bytes]:
    """Wrap the row's data key with the master key in use; return that key's id and the wrapped data key."""
    name = provider().current()
    return name, provider().wrap(name, key, keychecks.context(row))


def unwrap(row: DataKey) -> bytes:
    """Return the data key itself.

    raises MasterKeyMissing; Undecryptable if the master key is right but the row is damaged
    """
    name = row.wrapping_key
    try:
        return provider().unwrap(name, bytes(row.wrapped), keychecks.context(row))
    except UnknownKey:
        raise MasterKeyMissing(keychecks.missing_key(name)) from None
    except RefusedKey:
        if not keychecks.fits(name):
            raise MasterKeyMissing(keychecks.wrong_key(name)) from None
        raise Undecryptable("its data key is damaged", data_key=row.id) from None
