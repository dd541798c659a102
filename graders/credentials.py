"""Create, rotate, confirm and revoke graders' shared secrets (docs/protocol/README.md, section 1).

Each secret is shown once.
"""

import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from autotune.core import clock, ids
from autotune.core.errors import Conflict, NotFound
from graders import status
from graders.gateway.types import GraderTarget
from graders.models import Grader, GraderSecret
from graders.states import Trouble

PREFIX: Final = "atgs_"
RANDOM_BYTES: Final = 36
DEFAULT_GRACE_HOURS: Final = 24
MAX_GRACE_HOURS: Final = 720
READABLE_AGAIN: Final = "Autotune can decrypt the grader's shared secret again."


def new_secret() -> str:
    """Return a random secret: `atgs_` and 288 bits in base64url, 53 characters. The whole text is the HMAC key."""
    return PREFIX + secrets.token_urlsafe(RANDOM_BYTES)


def issue(grader: Grader) -> str:
    """Create a grader's only secret; earlier secrets are rejected at once. Call it inside a transaction."""
    GraderSecret.objects.filter(grader=grader).delete()
    return _create(grader)


def active(secrets_: Iterable[GraderSecret], now: datetime | None = None) -> list[GraderSecret]:
    """Return those of one grader's secrets that are valid now, in signing order.

    In a grace period, Autotune signs with the previous secret until the grader has shown that it knows the current one.
    """
    now = now or clock.shared_now()
    usable = [secret for secret in secrets_ if secret.current or (secret.valid_until and secret.valid_until > now)]
    current_first = any(secret.current and secret.confirmed for secret in usable)
    return sorted(usable, key=lambda secret: secret.current is not current_first)


def active_secrets(grader: Grader) -> Sequence[GraderSecret]:
    """Return the grader's active secrets in signing order: one, or two in a grace period."""
    return active(GraderSecret.objects.filter(grader=grader))


@transaction.atomic
def rotate(grader: Grader, *, grace_hours: float | None = None, force: bool = False) -> str:
    """Create a new current secret and return it.

    The previous secret stays active for the grace period; with `grace_hours=0` it is deleted at once.

    raises  Conflict `rotation_in_progress` inside a grace period, unless forced: then the oldest ends at once
    """
    if not Grader.objects.live().select_for_update(no_key=True).filter(pk=grader.pk).exists():
        raise NotFound("There is no such grader.")
    now = clock.shared_now()
    grader_secrets = GraderSecret.objects.filter(grader=grader)
    if not force and grader_secrets.filter(current=False, valid_until__gt=now).exists():
        raise Conflict(
            "The previous secret is still valid. Wait until its grace period ends, or set `force` to end it now.",
            code="rotation_in_progress",
        )
    grader_secrets.filter(current=False).delete()
    grace = timedelta(hours=DEFAULT_GRACE_HOURS if grace_hours is None else grace_hours)
    if grace:
        grader_secrets.filter(current=True).update(current=False, valid_until=now + grace)
    else:
        grader_secrets.delete()
    status.recovered(grader.pk, Trouble.SECRET, READABLE_AGAIN)
    return _create(grader)


def confirm(key_id: str) -> bool:
    """Record that an answer verified with this secret, so the grader knows it; return True the first time."""
    try:
        pk = ids.decode("gkey", key_id)
    except ValueError:
        return False
    return bool(GraderSecret.objects.filter(pk=pk, current=True, confirmed=False).update(confirmed=True))


def note_verified(target: GraderTarget, key_id: str | None) -> None:
    """Record that an answer to a call for `target` verified with `key_id`.

    It writes only if that shows, during a rotation, that the grader knows the new secret.
    """
    if key_id and key_id != target.signing[0].key_id and key_id == target.current.key_id:
        confirm(key_id)


def retire(grader_id: UUID) -> None:
    """Delete every secret of a deleted grader, so that messages signed with them are rejected."""
    GraderSecret.objects.filter(grader_id=grader_id).delete()


def drop_expired() -> int:
    """Delete the secrets whose grace period has ended, which are rejected already; return how many."""
    return GraderSecret.objects.filter(Q(current=False) & Q(valid_until__lte=clock.shared_now())).delete()[0]


def _create(grader: Grader) -> str:
    text = new_secret()
    GraderSecret.objects.create(organization_id=grader.organization_id, grader=grader, secret=text)
    return text
