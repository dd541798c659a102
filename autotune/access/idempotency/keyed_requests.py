"""A request with an idempotency key: its header, and what identifies it."""

import hashlib
import re
from dataclasses import dataclass
from typing import Final, Self
from uuid import UUID

from django.http import HttpRequest

from autotune.core.crypto import encryption
from autotune.core.errors import FieldError, Invalid

HEADER: Final = "Idempotency-Key"
META_NAME: Final = "HTTP_IDEMPOTENCY_KEY"  # of the header in Django's `request.META`
POINTER: Final = f"@{HEADER}"
_KEY: Final = re.compile(r"[!-~](?:[ -~]{0,253}[!-~])?")  # HTTP strips the spaces around a header's value


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """A request with an idempotency key, as the table of stored answers identifies it."""

    organization_id: UUID
    route: str
    key_digest: bytes
    request_digest: bytes

    @classmethod
    def of(cls, request: HttpRequest, key: str, organization_id: UUID, *, person: UUID | None = None) -> Self:
        """Return the request with its key and body as digests.

        person  keeps this person's keys apart, for a role that must not see the responses to other people's requests
        """
        query = request.META.get("QUERY_STRING", "").encode()
        return cls(
            organization_id,
            f"{request.method} {request.path}",
            hashlib.sha256((b"" if person is None else person.bytes) + key.encode()).digest(),
            encryption.content_digest(organization_id, query, request.body),
        )

    @property
    def lock(self) -> int:
        """A signed 64-bit number for the advisory lock; two keys that share it by chance answer 409 for a moment."""
        scope = self.organization_id.bytes + self.key_digest + self.route.encode()
        return int.from_bytes(hashlib.sha256(scope).digest()[:8], "big", signed=True)


def key_of(request: HttpRequest) -> str | None:
    """Return the request's idempotency key; None without the header.

    raises Invalid with the pointer `@Idempotency-Key`
    """
    key = request.headers.get(HEADER)
    if key is not None and not _KEY.fullmatch(key):
        detail = "Send 1 to 255 printable ASCII characters."
        error = FieldError(POINTER, "invalid_idempotency_key", detail)
        raise Invalid(f"{POINTER}: {detail}", code="invalid_idempotency_key", errors=[error])
    return key
