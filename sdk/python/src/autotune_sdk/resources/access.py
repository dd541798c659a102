"""Keys, members and roles: who may do what in an organization. Nobody gives more than they have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict, Unpack

from .. import _wire
from ..models import Page
from ..models_access import ApiKey, IssuedKey, Member, Role
from ._base import Resource, member, segment, wire_members


class KeyChanges(TypedDict, total=False):
    """What `update` of a key takes. networks: an empty list frees it of them."""

    name: str
    networks: Iterable[str]


class RoleChanges(TypedDict, total=False):
    """What `update` of a role takes. `permissions` replaces all of them."""

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
        """A new key of one's own with a role by name or id, no higher than one's own. The text is shown once."""
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
        """One page of keys; status: 'usable' or 'ended'."""
        parameters = {"status": status, "sort": sort, "limit": limit, "offset": offset, "cursor": cursor}
        return self._page("/api-keys", "apiKeys", ApiKey, parameters)

    def get(self, key_id: str) -> ApiKey:
        """One key."""
        return _key(self._transport.get(f"/api-keys/{segment(key_id)}"))

    def update(self, key_id: str, **changes: Unpack[KeyChanges]) -> ApiKey:
        """Renames a key, or binds it to other networks."""
        body: dict[str, Any] = dict(changes)
        if "networks" in changes:
            body["networks"] = list(changes["networks"])
        return _key(self._transport.patch(f"/api-keys/{segment(key_id)}", _wire.dumps(body)))

    def rotate(self, key_id: str, *, grace_hours: int | None = None, idempotency_key: str | None = None) -> IssuedKey:
        """A new key in the place of one's own. The old one works on for 24 hours unless said; 0: not at all."""
        body, path = _wire.dumps(wire_members({"grace_hours": grace_hours})), f"/api-keys/{segment(key_id)}/rotate"
        return _issued(self._transport.post(path, body, idempotency_key=idempotency_key))

    def revoke(self, key_id: str) -> None:
        """Ends a key: it is refused at the next request."""
        self._transport.delete(f"/api-keys/{segment(key_id)}")


class Members(Resource):
    """`client.members`."""

    def invite(
        self, *, email: str, role: str, organization_id: str | None = None, idempotency_key: str | None = None
    ) -> Member:
        """Invites somebody by mail; again: with a new link, which ends the one before."""
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
        """One page of members and invitations; status: 'active' or 'invited'."""
        parameters = {"status": status, "organizationId": organization_id, "sort": sort, "limit": limit}
        return self._page("/members", "members", Member, {**parameters, "offset": offset, "cursor": cursor})

    def get(self, member_id: str) -> Member:
        """One member."""
        return _member(self._transport.get(f"/members/{segment(member_id)}"))

    def update(self, member_id: str, *, role: str) -> Member:
        """Gives a member another role, by name or id."""
        return _member(self._transport.patch(f"/members/{segment(member_id)}", _wire.dumps({"role": role})))

    def remove(self, member_id: str) -> None:
        """Removes a member, whose keys end with it; or withdraws an invitation."""
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
        """A role of the organization's own. permissions: {'resource', 'actions', 'scope'} each."""
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
        """One page of roles: the built-in ones and the organization's own."""
        return self._page("/roles", "roles", Role, {"sort": sort, "limit": limit, "offset": offset, "cursor": cursor})

    def get(self, role_id: str) -> Role:
        """One role."""
        return _role(self._transport.get(f"/roles/{segment(role_id)}"))

    def update(self, role_id: str, **changes: Unpack[RoleChanges]) -> Role:
        """Changes a role for all who hold it."""
        return _role(self._transport.patch(f"/roles/{segment(role_id)}", _wire.dumps(dict(changes))))

    def delete(self, role_id: str) -> None:
        """Deletes a role that nobody holds. Raises ConflictError while somebody does."""
        self._transport.delete(f"/roles/{segment(role_id)}")


def _key(answer: Any) -> ApiKey:
    return _wire.decode(ApiKey, member(answer, "apiKey"))


def _issued(answer: Any) -> IssuedKey:
    return IssuedKey(_key(answer), member(answer, "secret"))


def _member(answer: Any) -> Member:
    return _wire.decode(Member, member(answer, "member"))


def _role(answer: Any) -> Role:
    return _wire.decode(Role, member(answer, "role"))
