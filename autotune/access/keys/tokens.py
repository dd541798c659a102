"""Issue and look up API keys.

A key is `at_live_` or `at_test_`, 26 characters of id, `_`, 43 random base62 characters and 6 of CRC-32.
"""

import hashlib
import hmac
import re
import secrets
import string
import zlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from ipaddress import ip_network
from uuid import UUID

from django.db.models import OuterRef, Q, Subquery
from django.utils import timezone

from autotune.access.models import ApiKey, Membership, Organization, Role, User
from autotune.core import ids
from autotune.core.api.middleware import within

BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
KEY = re.compile(rf"at_(live|test)_({ids.SUFFIX})_([0-9A-Za-z]{{43}})([0-9A-Za-z]{{6}})", re.ASCII)
USE_IS_NOTED_EVERY = timedelta(minutes=1)


def issue(
    *,
    organization: Organization,
    role: Role,
    user: User,
    name: str,
    kind: str = ApiKey.Kind.LIVE,
    expires_at: datetime | None = None,
    networks: Sequence[str] = (),
) -> tuple[ApiKey, str]:
    """Create a key, and return it with its text, which is not stored."""
    key_id = ids.new()
    text = _text(kind, key_id)
    key = ApiKey.objects.create(
        id=key_id,
        organization=organization,
        role=role,
        user=user,
        name=name,
        kind=kind,
        digest=digest(text),
        last_four=text[-4:],
        expires_at=expires_at,
        networks=list(networks),
    )
    return key, text


def digest(text: str) -> bytes:
    """Return the SHA-256 of a key's text. The text has 256 random bits, so it needs neither salt nor pepper."""
    return hashlib.sha256(text.encode()).digest()


def find(text: str, address: str = "") -> ApiKey | None:
    """Return the usable key with this text, with its organization, role, person and `held`; None for any other text.

    A key is not usable after its person has left the organization.

    address  the caller's IP address, since a key may be limited to networks
    """
    match = KEY.fullmatch(text)
    if match is None or _checksum(text[:-6]) != match[4]:
        return None
    key = _with_holder(ids.decode("key", f"key_{match[2]}"))
    if key is None or not hmac.compare_digest(bytes(key.digest), digest(text)):
        return None
    if key.held is None or not usable(key) or not allowed_from(key.networks, address):
        return None
    note_use(key)
    return key


def usable_now(key_id: UUID) -> ApiKey | None:
    """Return the key with this id as `find` does, for any address; None if it is no longer usable."""
    key = _with_holder(key_id)
    return None if key is None or key.held is None or not usable(key) else key


def _with_holder(key_id: UUID) -> ApiKey | None:
    memberships = Membership.objects.filter(organization=OuterRef("organization"), user=OuterRef("user"))
    keys = ApiKey.objects.annotate(membership_allows=Subquery(memberships.values("role__permissions")[:1]))
    # No first(): it would sort the only row.
    key = next(iter(keys.select_related("organization", "role", "user").filter(pk=key_id)), None)
    if key is not None:
        key.held = key.membership_allows
    return key


def usable(key: ApiKey) -> bool:
    """Return whether the key is neither revoked nor expired, its person active and its organization not suspended."""
    return key.role_id is not None and not (ended(key) or key.organization.suspended or not key.user.is_active)


def ended(key: ApiKey) -> bool:
    """Return whether the key is revoked or expired, so that it never works again."""
    return key.revoked_at is not None or (key.expires_at is not None and key.expires_at <= timezone.now())


def allowed_from(networks: Sequence[str], address: str) -> bool:
    """Return whether a key with these networks works from the address. Without networks it works from everywhere."""
    return not networks or within(address, [ip_network(network) for network in networks])


def note_use(key: ApiKey) -> None:
    """Update `last_used_at` at most once a minute, however many requests use the key at once."""
    now = timezone.now()
    if key.last_used_at is None or now - key.last_used_at > USE_IS_NOTED_EVERY:
        stale = Q(last_used_at=None) | Q(last_used_at__lt=now - USE_IS_NOTED_EVERY)
        ApiKey.objects.filter(stale, pk=key.pk).update(last_used_at=now)


def revoke(key: ApiKey) -> None:
    """Revoke the key at once in every process, since each request reads its row."""
    ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=timezone.now())


def revoke_all(*, organization_id: UUID, user_id: UUID) -> None:
    """Revoke all keys of the person in the organization, so that they stay dead even if the person comes back."""
    keys = ApiKey.objects.filter(organization_id=organization_id, user_id=user_id, revoked_at=None)
    keys.update(revoked_at=timezone.now())


def prefix(kind: str, key_id: UUID) -> str:
    """Return the part of a key's text that is not secret."""
    return f"at_{kind}_{ids.encode('key', key_id).removeprefix('key_')}"


def _text(kind: str, key_id: UUID) -> str:
    body = "".join(secrets.choice(BASE62) for _ in range(43))
    head = f"{prefix(kind, key_id)}_{body}"
    return head + _checksum(head)


def _checksum(text: str) -> str:
    number, out = zlib.crc32(text.encode()), ""
    for _ in range(6):
        number, rest = divmod(number, 62)
        out = BASE62[rest] + out
    return out
