"""Read the audit log, and manage erasures and legal holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import _wire
from ..models.access import AuditEvent
from ..models.pages import Page
from ..models.retention import Erasure, LegalHold
from ._base import Resource, member, segment, wire_members


class AuditEvents(Resource):
    """`client.audit_events`."""

    def list(
        self,
        *,
        actor: str | None = None,
        action: str | None = None,
        resource: str | None = None,
        person: str | None = None,
        object_id: str | None = None,
        kind: str | None = None,
        outcome: str | None = None,
        start_date: str | None = None,
        end_date: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> Page[AuditEvent]:
        """Return one page of events, the newest first. actor: a `user_` or `key_` id, or the displayed name.

        person: part of the actor or of a person's name; kind: `changes`, `views` or `all`, the default.
        """
        parameters = {"actor": actor, "action": action, "resource": resource, "outcome": outcome, "limit": limit}
        period = {"startDate": start_date, "endDate": end_date, "offset": offset, "cursor": cursor}
        subject = {"person": person, "objectId": object_id, "kind": kind}
        return self._page("/audit-events", "auditEvents", AuditEvent, {**parameters, **subject, **period})

    def iterate(self, *, limit: int = 1000, **filters: Any) -> Iterator[AuditEvent]:
        """Iterate over all events, with the filters of `list`, page by page."""
        yield from self.list(limit=limit, **filters)

    def get(self, event_id: str) -> AuditEvent:
        """Return one event."""
        return _wire.decode(AuditEvent, member(self._transport.get(f"/audit-events/{segment(event_id)}"), "auditEvent"))


class Erasures(Resource):
    """`client.erasures`."""

    def create(
        self,
        *,
        completion_id: str | None = None,
        task_id: str | None = None,
        model_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Erasure:
        """Erase the text of one completion, one task or one model, in the background. Scores stay."""
        body = wire_members({"completion_id": completion_id, "task_id": task_id, "model_id": model_id})
        return _erasure(self._transport.post("/erasures", _wire.dumps(body), idempotency_key=idempotency_key))

    def list(
        self,
        *,
        status: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> Page[Erasure]:
        """Return one page of erasures, the newest first."""
        parameters = {"status": status, "limit": limit, "offset": offset, "cursor": cursor}
        return self._page("/erasures", "erasures", Erasure, parameters)

    def get(self, erasure_id: str) -> Erasure:
        """Return one erasure, with its progress."""
        return _erasure(self._transport.get(f"/erasures/{segment(erasure_id)}"))


class LegalHolds(Resource):
    """`client.legal_holds`."""

    def create(
        self,
        *,
        reason: str,
        completion_id: str | None = None,
        task_id: str | None = None,
        model_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> LegalHold:
        """Place a hold on an object or the whole organization, which prevents erasure and deletion until release."""
        scope = {"completion_id": completion_id, "task_id": task_id, "model_id": model_id}
        body = wire_members({"reason": reason, **scope})
        return _hold(self._transport.post("/legal-holds", _wire.dumps(body), idempotency_key=idempotency_key))

    def list(
        self,
        *,
        active: bool | None = None,
        limit: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> Page[LegalHold]:
        """Return one page of legal holds, the newest first."""
        parameters = {"active": active, "limit": limit, "offset": offset, "cursor": cursor}
        return self._page("/legal-holds", "legalHolds", LegalHold, parameters)

    def get(self, hold_id: str) -> LegalHold:
        """Return one legal hold."""
        return _hold(self._transport.get(f"/legal-holds/{segment(hold_id)}"))

    def release(self, hold_id: str) -> None:
        """Release a hold."""
        self._transport.delete(f"/legal-holds/{segment(hold_id)}")


def _erasure(answer: Any) -> Erasure:
    return _wire.decode(Erasure, member(answer, "erasure"))


def _hold(answer: Any) -> LegalHold:
    return _wire.decode(LegalHold, member(answer, "legalHold"))
