"""Sign requests with `webhook-id`, `webhook-timestamp` and `webhook-signature`, as Standard Webhooks requires.

The specification: https://www.standardwebhooks.com
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from typing import Final

PREFIX: Final = "whsec_"
RANDOM_BYTES: Final = 32


def new_secret() -> str:
    """Return a new secret: `whsec_` and base64 of 32 random bytes, which are the HMAC key."""
    return PREFIX + base64.b64encode(secrets.token_bytes(RANDOM_BYTES)).decode()


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return `v1,` and base64 of HMAC-SHA256 over `id.timestamp.body`."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return f"v1,{base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()}"


def headers(secrets: Sequence[str], message_id: str, timestamp: int, body: bytes) -> list[tuple[str, str]]:
    """Return the headers of one try. Each secret signs: during a rotation the receiver may know either."""
    return [
        ("Content-Type", "application/json"),
        ("webhook-id", message_id),
        ("webhook-timestamp", str(timestamp)),
        ("webhook-signature", " ".join(signature(secret, message_id, timestamp, body) for secret in secrets)),
    ]
