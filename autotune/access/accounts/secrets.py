"""Encrypts the secrets of second factors: AES-256-GCM, bound to the person, under a key that no rotation drops.

They live in a JSON column of django-allauth, where re-encryption does not come by; so their key is derived from the
installation's digest key, which stays and is wrapped anew when the master keys rotate.
"""

import base64
import hashlib
import os
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from autotune.access.models.audit import INSTALLATION
from autotune.core import encryption

VERSION = "v1."
PURPOSE = b"second-factor"


def seal(person: UUID, text: str) -> str:
    """The ciphertext of a secret of this person, as text."""
    nonce = os.urandom(encryption.NONCE_BYTES)
    return VERSION + base64.b64encode(nonce + _cipher().encrypt(nonce, text.encode(), _bound_to(person))).decode()


def unseal(person: UUID, sealed: str) -> str:
    """The secret.

    raises Undecryptable if it is another person's, or was altered
    """
    try:
        octets = base64.b64decode(sealed.removeprefix(VERSION), validate=True)
        nonce, rest = octets[: encryption.NONCE_BYTES], octets[encryption.NONCE_BYTES :]
        return _cipher().decrypt(nonce, rest, _bound_to(person)).decode()
    except (InvalidTag, ValueError):
        raise encryption.Undecryptable("the second factor's secret does not belong to this person") from None


def _bound_to(person: UUID) -> bytes:
    return encryption.place("mfa_authenticator", "data") + person.bytes


def _cipher() -> AESGCM:
    return AESGCM(hashlib.sha256(PURPOSE + encryption.digest_key(INSTALLATION)).digest())
