"""The keyed digests of the audit log: one of an event's content, one of its place in the chain.

Their key is derived from the chain's digest key. Other digests under that key are stored too, and a caller can choose
their content (a request with an `Idempotency-Key`); the derived key keeps such a digest from matching an event.
"""

import hashlib
import hmac
import json
from datetime import UTC
from typing import Final
from uuid import UUID

from autotune.access.models import AuditEvent
from autotune.core.crypto import encryption

PURPOSE: Final = b"autotune audit trail, version 1"  # without a length, unlike parts of other digests
GENESIS: Final = bytes(32)  # the digest before the first event of a chain


def key_of(chain: UUID) -> bytes:
    """Return the key of a chain's digests.

    raises encryption.Undecryptable if the master key of its digest key is missing
    """
    return hmac.digest(encryption.digest_key(chain), PURPOSE, hashlib.sha256)


def of_event(key: bytes, event: AuditEvent) -> bytes:
    """Return the mac of an event's content, without its place in the chain."""
    fields = [
        event.id.hex,
        event.chain.hex,
        _hex(event.organization_id),
        _hex(event.user_id),
        _hex(event.key_id),
        event.actor,
        event.action,
        event.resource,
        event.object_id,
        event.objects_count,
        event.fields,
        event.method,
        event.route,
        event.address,
        str(event.outcome),
        event.status,
        event.code,
        event.request_id,
        event.at.astimezone(UTC).isoformat(timespec="microseconds"),
    ]
    return hmac.digest(key, b"event" + json.dumps(fields, separators=(",", ":")).encode(), hashlib.sha256)


def of_place(key: bytes, before: bytes, number: int, mac: bytes) -> bytes:
    """Return the digest of an event in its chain.

    before  the digest of the event before it, or GENESIS
    """
    return hmac.digest(key, b"place" + before + number.to_bytes(8, "big") + mac, hashlib.sha256)


def fits(key: bytes, event: AuditEvent) -> bool:
    """Return whether the event's content is unchanged since it was written."""
    return hmac.compare_digest(of_event(key, event), bytes(event.mac))


def _hex(value: UUID | None) -> str | None:
    return None if value is None else value.hex
