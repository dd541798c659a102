"""Register, verify and manage graders."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, Unpack

from .. import _wire
from ..models.graders import (
    Capabilities,
    Credentials,
    Grader,
    GraderRegistration,
    GraderStats,
    GraderVersion,
    Limits,
    Redaction,
    Verification,
)
from ..models.pages import Page
from ._base import Resource, member, segment, wire_members


class GraderFields(TypedDict, total=False):
    """The optional members of a grader. Structures take snake_case mappings or the client's dataclasses."""

    description: str | None
    endpoint: str | None
    rubric: Mapping[str, Any] | None
    capabilities: Capabilities | Mapping[str, Any] | None
    limits: Limits | Mapping[str, Any] | None
    visibility: str | None
    pins: Iterable[str] | None
    redaction: Redaction | Mapping[str, Any] | None


class GraderChanges(GraderFields, total=False):
    """The parameters of `update`. status: 'inactive' switches the grader off, 'active' on again."""

    name: str
    status: str


class Graders(Resource):
    """`client.graders`."""

    def create(
        self, *, name: str, idempotency_key: str | None = None, **fields: Unpack[GraderFields]
    ) -> GraderRegistration:
        """Register a grader by `endpoint` (its base URL) or `rubric`. The secret in the response is shown once."""
        body = wire_members({"name": name, **_structures(fields)})
        answer = self._transport.post("/graders", _wire.dumps(body), idempotency_key=idempotency_key)
        return _registration(answer)

    def list(
        self,
        *,
        search: str | None = None,
        kind: str | None = None,
        status: str | None = None,
        domain: str | None = None,
        visibility: str | None = None,
        sort: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> Page[Grader]:
        """Return one page of graders."""
        parameters = {
            "search": search,
            "kind": kind,
            "status": status,
            "domain": domain,
            "visibility": visibility,
            "sort": sort,
            "limit": limit,
            "offset": offset,
            "cursor": cursor,
        }
        return self._page("/graders", "graders", Grader, parameters)

    def get(self, grader_id: str) -> Grader:
        """Return one grader."""
        return _wire.decode(Grader, member(self._transport.get(f"/graders/{segment(grader_id)}"), "grader"))

    def update(self, grader_id: str, **changes: Unpack[GraderChanges]) -> GraderRegistration:
        """Change the given members. A new scheme, host or port of the endpoint creates a secret: see `credentials`."""
        body = {_wire.camel(name): value for name, value in _structures(changes).items()}
        return _registration(self._transport.patch(f"/graders/{segment(grader_id)}", _wire.dumps(body)))

    def delete(self, grader_id: str) -> None:
        """Delete a grader; its scores stay. Raises ConflictError while a task's panel names it."""
        self._transport.delete(f"/graders/{segment(grader_id)}")

    def verify(self, grader_id: str) -> Verification:
        """Ask the server to verify the grader; only a verified one becomes active."""
        answer = self._transport.post(f"/graders/{segment(grader_id)}/verify", b"{}", safe=True)
        return _wire.decode(Verification, answer)

    def rotate_secret(
        self,
        grader_id: str,
        *,
        force: bool | None = None,
        grace_hours: float | None = None,
        idempotency_key: str | None = None,
    ) -> Credentials:
        """Create a new secret. The old one works for `grace_hours` (24); another rotation before needs `force`."""
        body = _wire.dumps(wire_members({"force": force, "grace_hours": grace_hours}))
        path = f"/graders/{segment(grader_id)}/rotate-secret"
        answer = self._transport.post(path, body, idempotency_key=idempotency_key)
        return _wire.decode(Credentials, member(answer, "credentials"))

    def stats(self, grader_id: str, *, window: str | None = None) -> GraderStats:
        """Return statistics over '1h', '24h', '7d', '30d' or 'all' (the default)."""
        answer = self._transport.get(f"/graders/{segment(grader_id)}/stats", {"window": window})
        return _wire.decode(GraderStats, answer)

    def health(self, grader_id: str) -> dict[str, Any]:
        """Return recent checks and changes of status with reasons, in the API's form."""
        answer = self._transport.get(f"/graders/{segment(grader_id)}/health")
        return dict(answer)

    def check_health(self, grader_id: str) -> dict[str, Any]:
        """Ask the server to call the grader's /health now; returns the same as `health`."""
        answer = self._transport.post(f"/graders/{segment(grader_id)}/health", b"", safe=True)
        return dict(answer)

    def versions(self, grader_id: str) -> tuple[GraderVersion, ...]:
        """Yield all versions of a grader, the newest first, from as many pages as needed."""
        versions: builtins.list[GraderVersion] = []
        parameters: dict[str, Any] = {"limit": 1000}
        while True:
            answer = self._transport.get(f"/graders/{segment(grader_id)}/versions", parameters)
            versions += [_wire.decode(GraderVersion, v) for v in member(answer, "versions")]
            cursor = answer.get("pagination", {}).get("nextCursor")
            if not cursor:
                return tuple(versions)
            parameters["cursor"] = cursor


def _registration(answer: Any) -> GraderRegistration:
    credentials = answer.get("credentials") if isinstance(answer, dict) else None
    return GraderRegistration(
        _wire.decode(Grader, member(answer, "grader")),
        _wire.decode(Credentials, credentials) if credentials else None,
    )


def _structures(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the API's own structures to camelCase; omit empty members of the dataclasses."""
    out = dict(fields)
    for name in ("capabilities", "limits", "redaction"):
        value = out.get(name)
        if isinstance(value, Mapping):
            out[name] = {_wire.camel(k): v for k, v in value.items()}
        elif value is not None:
            out[name] = {k: v for k, v in _wire.camel_members(value).items() if v is not None}
            if "domains" in out[name]:
                out[name]["domains"] = list(out[name]["domains"])
    if out.get("pins") is not None:
        out["pins"] = list(out["pins"])
    return out
