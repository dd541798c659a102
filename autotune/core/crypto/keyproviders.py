"""Providers of master keys: the interface of a key management service, and the keys of the settings.

A master key never encrypts text. It wraps and unwraps data keys of 32 bytes, by its id and with a context that must be
the same both times. A service that never reveals its keys can implement the three methods (docs/encryption.md).
"""

import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Final, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from autotune.core.crypto import masterkeys

NONCE_BYTES: Final = 12
LOCAL: Final = "autotune.core.crypto.keyproviders.local"


class UnknownKey(Exception):
    """The provider has no key of this id."""


class RefusedKey(Exception):
    """The key of this id did not wrap this: it is another key of the same name, or the context or the bytes differ."""


class KeyProvider(Protocol):
    """Wraps data keys. Its methods may wait for a service; data keys are kept opened in memory, so they are few."""

    def current(self) -> str:
        """Return the id of the key that wraps new data keys; at most 64 characters."""

    def wrap(self, key_id: str, data_key: bytes, context: bytes) -> bytes:
        """Wrap a data key. `unwrap` takes the result.

        raises UnknownKey
        """

    def unwrap(self, key_id: str, wrapped: bytes, context: bytes) -> bytes:
        """Return the data key.

        raises UnknownKey, RefusedKey
        """


class LocalKeys:
    """AES-256 keys of the settings.

    reread  returns the text of the keys' file as it is now, so that a key that was added needs no restart
    """

    def __init__(self, text: str, *, reread: Callable[[], str] | None = None) -> None:
        self._keys = _opened(text)
        self._reread = reread

    def current(self) -> str:
        return next(iter(self._keys))

    def wrap(self, key_id: str, data_key: bytes, context: bytes) -> bytes:
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._key(key_id).encrypt(nonce, data_key, context)

    def unwrap(self, key_id: str, wrapped: bytes, context: bytes) -> bytes:
        try:
            return self._key(key_id).decrypt(wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], context)
        except (InvalidTag, ValueError):  # ValueError: too short to be anything
            raise RefusedKey(key_id) from None

    def _key(self, key_id: str) -> AESGCM:
        if key_id not in self._keys and self._reread is not None:
            self._keys = _opened(self._reread())
        if key_id not in self._keys:
            raise UnknownKey(key_id)
        return self._keys[key_id]


def _opened(text: str) -> dict[str, AESGCM]:
    return {name: AESGCM(key) for name, key in masterkeys.parse(text).items()}


def local() -> LocalKeys:
    """Return the keys of AUTOTUNE_ENCRYPTION_KEYS, or of its file."""
    path: Path | None = settings.AUTOTUNE_ENCRYPTION_KEYS_PATH
    reread = None if path is None else lambda: path.read_text(encoding="utf-8").strip()
    return LocalKeys(settings.AUTOTUNE_ENCRYPTION_KEYS, reread=reread)


def provider() -> KeyProvider:
    """Return the provider that AUTOTUNE_KEY_PROVIDER names, created once per process."""
    return _made(
        settings.AUTOTUNE_KEY_PROVIDER, settings.AUTOTUNE_ENCRYPTION_KEYS, settings.AUTOTUNE_ENCRYPTION_KEYS_PATH
    )


@lru_cache(maxsize=8)
def _made(path: str, _text: str, _file: Path | None) -> KeyProvider:
    try:
        make = import_string(path)
    except ImportError as exc:
        raise ImproperlyConfigured(f"AUTOTUNE_KEY_PROVIDER: {path!r} cannot be imported.") from exc
    return make()
