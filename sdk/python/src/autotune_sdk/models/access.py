"""Frozen dataclasses of the API's responses about keys, members, roles, the audit log and erasures."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class ApiKey:
    """A key, never its text. `last_used_at` is accurate to the minute.

    role         None if it was deleted after the key had ended
    networks     address ranges to which its use is limited; empty: no limit
    replaced_by  the key that a rotation created to replace it
    """

    id: str
    organization_id: str
    name: str
    kind: str
    prefix: str
    last_four: str
    role: str | None
    role_id: str | None
    networks: tuple[str, ...]
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    replaced_by: str | None


@dataclass(frozen=True)
class IssuedKey:
    """A new key with its text, which is shown once."""

    api_key: ApiKey
    secret: str | None


@dataclass(frozen=True)
class Member:
    """A member, or an invited person. status: 'active', 'invited' or 'expired' (an invitation that ran out)."""

    id: str
    organization_id: str
    user_id: str | None
    email: str
    name: str | None
    role: str
    role_id: str
    status: str
    invited_by: str | None
    expires_at: datetime | None
    created_at: datetime


@dataclass(frozen=True)
class Permission:
    """A permission of a role. scope: 'own', 'organization' or 'all'."""

    resource: str
    actions: tuple[str, ...]
    scope: str


@dataclass(frozen=True)
class Role:
    """A role. `organization_id` is None for the built-in ones, which are read-only."""

    id: str
    name: str
    description: str | None
    built_in: bool
    organization_id: str | None
    permissions: tuple[Permission, ...]
    created_at: datetime


@dataclass(frozen=True)
class AuditEvent:
    """An audit event. outcome: 'open', 'succeeded', 'refused', 'failed' or 'interrupted'; `number`: None until sealed.

    fields  names of what was set or changed, never the values
    """

    id: str
    at: datetime
    organization_id: str | None
    actor: str
    user_id: str | None
    key_id: str | None
    action: str
    resource: str
    object_id: str | None
    objects_count: int | None
    fields: tuple[str, ...] | None
    method: str | None
    route: str | None
    address: str | None
    outcome: str
    status: int | None
    code: str | None
    request_id: str | None
    number: int | None
    digest: str | None
