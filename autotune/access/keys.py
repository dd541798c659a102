"""API keys: `at_live_` or `at_test_`, 26 characters of id, `_`, 43 base62 characters and 6 of CRC-32."""

import hashlib
import hmac
import re
import secrets
import string
import zlib
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Exists, OuterRef
from django.utils import timezone

from autotune.access.models import ApiKey, Membership, Organization, Role, User
from autotune.core import ids

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
) -> tuple[ApiKey, str]:
    """A new key and its text, which is never to be had again."""
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
    )
    return key, text


def digest(text: str) -> bytes:
    """SHA-256 of a key's text. The text holds 256 random bits, so neither salt nor pepper is needed."""
    return hashlib.sha256(text.encode()).digest()


def find(text: str) -> ApiKey | None:
    """The usable key with this text, with its organization, role and person; None for any other text.

    A person who left the organization has no key there any more.
    """
    match = KEY.fullmatch(text)
    if match is None or _checksum(text[:-6]) != match[4]:
        return None
    belongs = Membership.objects.filter(organization=OuterRef("organization"), user=OuterRef("user"))
    keys = ApiKey.objects.filter(Exists(belongs), pk=ids.decode("key", f"key_{match[2]}"))
    key = keys.select_related("organization", "role", "user").first()
    if key is None or not hmac.compare_digest(bytes(key.digest), digest(text)) or not usable(key):
        return None
    note_use(key)
    return key


def usable(key: ApiKey) -> bool:
    """Neither revoked nor expired, of an active person in an organization that is not suspended."""
    expired = key.expires_at is not None and key.expires_at <= timezone.now()
    return not (key.revoked_at or expired or key.organization.suspended or not key.user.is_active)


def note_use(key: ApiKey) -> None:
    """Keep `last_used_at` true to the minute, without a write for each request."""
    now = timezone.now()
    if key.last_used_at is None or now - key.last_used_at > USE_IS_NOTED_EVERY:
        ApiKey.objects.filter(pk=key.pk).update(last_used_at=now)


def revoke(key: ApiKey) -> None:
    """Refuse the key from now on."""
    ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=timezone.now())


def _text(kind: str, key_id: UUID) -> str:
    body = "".join(secrets.choice(BASE62) for _ in range(43))
    head = f"at_{kind}_{ids.encode('key', key_id).removeprefix('key_')}_{body}"
    return head + _checksum(head)


def _checksum(text: str) -> str:
    number, out = zlib.crc32(text.encode()), ""
    for _ in range(6):
        number, rest = divmod(number, 62)
        out = BASE62[rest] + out
    return out
