"""Create, change, rotate and revoke API keys on behalf of a person or another key."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from msgspec import UNSET

from autotune.access.keys import tokens
from autotune.access.keys.bounds import KeyBounds, end_of, networks_of, require_within_own
from autotune.access.members import membership
from autotune.access.models import ApiKey, Membership, Organization
from autotune.access.principal import Principal
from autotune.access.requests import KeyPatch, NewKey
from autotune.access.roles import ceilings
from autotune.core.errors import Conflict, Forbidden, NotFound

MAX_KEYS: Final = 1_000  # working keys of an organization
GRACE_HOURS: Final = 24


@dataclass(frozen=True, slots=True)
class KeyWithSecret:
    """A new key and its text, which cannot be shown again."""

    key: ApiKey
    secret: str


@transaction.atomic
def create(principal: Principal, body: NewKey) -> KeyWithSecret:
    """Create a key for the caller in their organization; bounds that the body omits are those of the calling key.

    raises  Invalid, NotFound for the role; BeyondOwnRole, BeyondOwnKey; Conflict `too_many_keys`
    """
    role = ceilings.role_named(body.role, principal.organization)
    ceilings.require_covered(principal, role.permissions, f"the role {role.label}")
    asking = KeyBounds.of(principal.key) if principal.key else KeyBounds(ApiKey.Kind.LIVE, None, [])
    bounds = KeyBounds(
        kind=body.kind or asking.kind,
        expires_at=end_of(body.expires_at) if body.expires_at is not None else asking.expires_at,
        networks=asking.networks if body.networks is None else networks_of(body.networks),
    )
    require_within_own(principal, bounds)
    _require_still_member(principal)
    _require_room(principal.organization)
    key, secret = tokens.issue(
        organization=principal.organization,
        role=role,
        user=principal.user,
        name=body.name,
        kind=bounds.kind,
        expires_at=bounds.expires_at,
        networks=bounds.networks,
    )
    return KeyWithSecret(key, secret)


@transaction.atomic
def change(principal: Principal, key_id: UUID, body: KeyPatch) -> ApiKey:
    """Rename a key, or change its networks.

    raises  BeyondOwnRole for a key that may do more than the caller; BeyondOwnKey; Conflict `key_ended`
    """
    key = _working(key_id)
    _require_not_above(principal, key)
    changes: dict[str, Any] = {}
    if isinstance(body.name, str):
        changes["name"] = body.name
    if body.networks is not UNSET:
        changes["networks"] = networks_of(body.networks) if isinstance(body.networks, list) else []
        require_within_own(principal, KeyBounds(key.kind, key.expires_at, changes["networks"]))
    for name, value in changes.items():
        setattr(key, name, value)
    if changes:
        key.save(update_fields=[*changes])
    return key


@transaction.atomic
def rotate(principal: Principal, key_id: UUID, *, grace_hours: int | None = None) -> KeyWithSecret:
    """Replace the caller's key by a new one with the same role, kind, networks and end.

    The old key still works for a grace period.

    raises  Forbidden for another person's key, since the new one would act as them. BeyondOwnRole, BeyondOwnKey;
            Conflict `key_ended`, `rotation_in_progress`
    """
    _require_still_member(principal)  # first, as removing a member locks the organization before its keys
    old = _working(key_id)
    if old.user_id != principal.user.pk:
        raise Forbidden("Only the person who created a key can rotate it. Revoke it, or ask them to create a new one.")
    _require_not_above(principal, old)
    require_within_own(principal, KeyBounds.of(old))
    if old.replaced_by_id is not None:
        raise Conflict(
            "This key was already rotated. It works until its grace period ends.", code="rotation_in_progress"
        )
    assert old.role is not None
    new, secret = tokens.issue(
        organization=old.organization,
        role=old.role,
        user=old.user,
        name=old.name,
        kind=old.kind,
        expires_at=old.expires_at,
        networks=old.networks,
    )
    now = timezone.now()
    grace = timedelta(hours=GRACE_HOURS if grace_hours is None else grace_hours)
    old.replaced_by = new
    old.expires_at = min(now + grace, old.expires_at or now + grace)
    if not grace:
        old.revoked_at = now
    old.save(update_fields=["replaced_by", "expires_at", "revoked_at"])
    return KeyWithSecret(new, secret)


@transaction.atomic
def revoke(principal: Principal, key_id: UUID) -> ApiKey:
    """Revoke a key, so that its next request is rejected; do nothing for a revoked key.

    raises  BeyondOwnRole for another person's key that may do more than the caller
    """
    key = _locked(key_id)
    if key.user_id != principal.user.pk:
        _require_not_above(principal, key)
    tokens.revoke(key)
    key.refresh_from_db(fields=["revoked_at"])
    return key


def _require_not_above(principal: Principal, key: ApiKey) -> None:
    if key.role is not None:
        ceilings.require_not_above(principal, key.role, key.organization, f"the key's role {key.role.label}")


def _require_still_member(principal: Principal) -> None:
    """Check that the caller is still a member, and lock the organization's row as removing a member does.

    Otherwise a person who is being removed could create a key that would work again if they came back.

    raises  Forbidden
    """
    membership.lock(principal.organization.pk)
    if not Membership.objects.filter(organization=principal.organization, user=principal.user).exists():
        raise Forbidden("You are no longer a member of the organization.")


def _require_room(organization: Organization) -> None:
    working = ApiKey.objects.filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()), revoked_at=None)
    if working.filter(organization=organization).count() >= MAX_KEYS:
        raise Conflict(
            f"The organization has {MAX_KEYS} working keys, the maximum. Revoke one first.", code="too_many_keys"
        )


def _working(key_id: UUID) -> ApiKey:
    """Lock and return the key's row until the transaction ends. raises Conflict `key_ended`"""
    key = _locked(key_id)
    if tokens.ended(key):
        raise Conflict("This key was revoked or has expired. Create a new one.", code="key_ended")
    return key


def _locked(key_id: UUID) -> ApiKey:
    rows = ApiKey.objects.select_for_update(of=("self",), no_key=True).select_related("organization", "role", "user")
    key = rows.filter(pk=key_id).first()
    if key is None:
        raise NotFound("There is no such API key.")
    return key
