"""API keys, members and roles of an organization. Nobody can grant more permissions than they have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict, Unpack

from .. import _wire
from ..models.access import ApiKey, IssuedKey, Member, Role
from ..models.pages import Page
from ._base import Resource, member, segment, wire_members


class KeyChanges(TypedDict, total=False):
    """The parameters of a key's `update`. networks: an empty list removes the limit."""

    name: str
    networks: Iterable[str]


class RoleChanges(TypedDict, total=False):
    """The parameters of a role's `update`. `permissions` replaces all of them."""

    name: str
    description: str | None
    permissions: Sequence[Mapping[str, Any]]


class ApiKeys(Resource):
    """`client.api_keys`."""

    def create(
        self,
        *,
        name: str,
        role: str,
        expires_at: datetime | str | None = None,
        networks: Iterable[str] | None = None,
        kind: str | None = None,
        idempotency_key: str | None = None,
    ) -> IssuedKey:
        """Create a key of your own with a role (name or id) no higher than yours. The key's text is shown once."""
        ends = expires_at.isoformat() if isinstance(expires_at, datetime) else expires_at
        bound = None if networks is None else list(networks)
        body = wire_members({"name": name, "role": role, "expires_at": ends, "networks": bound, "kind": kind})
        return _issued(self._transport.post("/api-keys", _wire.dumps(body), idempotency_key=idempotency_key))

    def list(
        self,
        *,
        status: str | None = None,
        sort: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> Page[ApiKey]:
        """Return one page of keys; status: 'usable' or 'ended'."""
        parameters = {"status": status, "sort": sort, "limit": limit, "offset": offset, "cursor": cursor}
        return self._page("/api-keys", "apiKeys", ApiKey, parameters)

    def get(self, key_id: str) -> ApiKey:
        """Return one key."""
        return _key(self._transport.get(f"/api-keys/{segment(key_id)}"))

    def update(self, key_id: str, **changes: Unpack[KeyChanges]) -> ApiKey:
        """Rename a key, or limit it to other networks."""
        body: dict[str, Any] = dict(changes)
        if "networks" in changes:
            body["networks"] = list(changes["networks"])
        return _key(self._transport.patch(f"/api-keys/{segment(key_id)}", _wire.dumps(body)))

    def rotate(self, key_id: str, *, grace_hours: int | None = None, idempotency_key: str | None = None) -> IssuedKey:
        """Replace your own key with a new one. The old key works for 24 more hours by default; 0: not at all."""
        body, path = _wire.dumps(wire_members({"grace_hours": grace_hours})), f"/api-keys/{segment(key_id)}/rotate"
        return _issued(self._transport.post(path, body, idempotency_key=idempotency_key))

    def revoke(self, key_id: str) -> None:
        """Revoke a key: the server rejects its next request."""
        self._transport.delete(f"/api-keys/{segment(key_id)}")


class Members(Resource):
    """`client.members`."""

    def invite(
        self, *, email: str, role: str, organization_id: str | None = None, idempotency_key: str | None = None
    ) -> Member:
        """Invite somebody by email. Repeating it sends a new link, and the old one stops working."""
        body = wire_members({"email": email, "role": role, "organization_id": organization_id})
        return _member(self._transport.post("/members", _wire.dumps(body), idempotency_key=idempotency_key))

    def list(
        self,
        *,
        status: str | None = None,
        organization_id: str | None = None,
        sort: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> Page[Member]:
        """Return one page of members and invitations; status: 'active' or 'invited'."""
        parameters = {"status": status, "organizationId": organization_id, "sort": sort, "limit": limit}
        return self._page("/members", "members", Member, {**parameters, "offset": offset, "cursor": cursor})

    def get(self, member_id: str) -> Member:
        """Return one member."""
        return _member(self._transport.get(f"/members/{segment(member_id)}"))

    def update(self, member_id: str, *, role: str) -> Member:
        """Give a member another role, by name or id."""
        return _member(self._transport.patch(f"/members/{segment(member_id)}", _wire.dumps({"role": role})))

    def remove(self, member_id: str) -> None:
        """Remove a member and revoke their keys, or withdraw an invitation."""
        self._transport.delete(f"/members/{segment(member_id)}")


class Roles(Resource):
    """`client.roles`."""

    def create(
        self,
        *,
        name: str,
        permissions: Sequence[Mapping[str, Any]],
        description: str | None = None,
        idempotency_key: str | None = None,
    ) -> Role:
        """Create a role of the organization. permissions: {'resource', 'actions', 'scope'} each."""
        body = wire_members({"name": name, "permissions": list(permissions), "description": description})
        return _role(self._transport.post("/roles", _wire.dumps(body), idempotency_key=idempotency_key))

    def list(
        self,
        *,
        sort: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> Page[Role]:
        """Return one page of roles: the built-in ones and the organization's own."""
        return self._page("/roles", "roles", Role, {"sort": sort, "limit": limit, "offset": offset, "cursor": cursor})

    def get(self, role_id: str) -> Role:
        """Return one role."""
        return _role(self._transport.get(f"/roles/{segment(role_id)}"))

    def update(self, role_id: str, **changes: Unpack[RoleChanges]) -> Role:
        """Change a role for all who have it."""
        return _role(self._transport.patch(f"/roles/{segment(role_id)}", _wire.dumps(dict(changes))))

    def delete(self, role_id: str) -> None:
        """Delete a role. Raises ConflictError while somebody has it."""
        self._transport.delete(f"/roles/{segment(role_id)}")


def _key(answer: Any) -> ApiKey:
    return _wire.decode(ApiKey, member(answer, "apiKey"))


def _issued(answer: Any) -> IssuedKey:
    return IssuedKey(_key(answer), member(answer, "secret"))


def _member(answer: Any) -> Member:
    return _wire.decode(Member, member(answer, "member"))


def _role(answer: Any) -> Role:
    return _wire.decode(Role, member(answer, "role"))
