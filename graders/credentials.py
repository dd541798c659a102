"""Shared secrets: made, rotated, confirmed and retired (docs/protocol/README.md, section 1). Each is shown once."""

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
READABLE_AGAIN: Final = "Its shared secret can be read again."


def new_secret() -> str:
    """`atgs_` and 288 random bits in base64url, 53 characters. The whole text is the HMAC key."""
    return PREFIX + secrets.token_urlsafe(RANDOM_BYTES)


def issue(grader: Grader) -> str:
    """A first secret, or the only one from now on: whatever came before is refused at once. Inside a transaction."""
    GraderSecret.objects.filter(grader=grader).delete()
    return _create(grader)


def active(secrets_: Iterable[GraderSecret], now: datetime | None = None) -> list[GraderSecret]:
    """Of one grader's secrets those that count now, in signing order.

    In a grace period the previous one signs until the grader has shown that it knows the current one.
    """
    now = now or clock.shared_now()
    usable = [secret for secret in secrets_ if secret.current or (secret.valid_until and secret.valid_until > now)]
    current_first = any(secret.current and secret.confirmed for secret in usable)
    return sorted(usable, key=lambda secret: secret.current is not current_first)


def active_secrets(grader: Grader) -> Sequence[GraderSecret]:
    """The grader's active secrets in signing order: one, or two in a grace period."""
    return active(GraderSecret.objects.filter(grader=grader))


@transaction.atomic
def rotate(grader: Grader, *, grace_hours: float | None = None, force: bool = False) -> str:
    """A new current secret. The one before stays active for the grace period; none at all with `grace_hours=0`.

    raises  Conflict `rotation_in_progress` inside a grace period, unless forced: then the oldest ends at once
    """
    if not Grader.objects.live().select_for_update(no_key=True).filter(pk=grader.pk).exists():
        raise NotFound("There is no such grader.")
    now = clock.shared_now()
    grader_secrets = GraderSecret.objects.filter(grader=grader)
    if not force and grader_secrets.filter(current=False, valid_until__gt=now).exists():
        raise Conflict(
            "The previous secret is still valid. Wait for the end of its grace period, or send `force`.",
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
    """The grader knows this secret, since an answer verified with it. True the first time."""
    try:
        pk = ids.decode("gkey", key_id)
    except ValueError:
        return False
    return bool(GraderSecret.objects.filter(pk=pk, current=True, confirmed=False).update(confirmed=True))


def note_verified(target: GraderTarget, key_id: str | None) -> None:
    """An answer to a call for `target` verified with `key_id`. Writes only when that ends a rotation's first half."""
    if key_id and key_id != target.signing[0].key_id and key_id == target.current.key_id:
        confirm(key_id)


def retire(grader_id: UUID) -> None:
    """Refuse every secret of a grader that is no more."""
    GraderSecret.objects.filter(grader_id=grader_id).delete()


def drop_expired() -> int:
    """Delete the secrets whose grace period is over; they are refused already. Returns how many."""
    return GraderSecret.objects.filter(Q(current=False) & Q(valid_until__lte=clock.shared_now())).delete()[0]


def _create(grader: Grader) -> str:
    text = new_secret()
    GraderSecret.objects.create(organization_id=grader.organization_id, grader=grader, secret=text)
    return text
