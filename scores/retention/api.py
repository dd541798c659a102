"""API endpoints of erasures and legal holds."""

from uuid import UUID

from rest_framework.request import Request

from autotune.access.views import ApiView, find, find_for
from autotune.core.api import pagination
from autotune.core.api.operations import operation
from scores.models import Erasure, LegalHold
from scores.retention import erasures, legal_holds
from scores.retention.requests import RESOURCE, ErasureQuery, LegalHoldQuery, NewErasure, NewLegalHold, scope_of
from scores.retention.responses import (
    ErasureAnswer,
    ErasurePage,
    LegalHoldAnswer,
    LegalHoldPage,
    erasure_out,
    legal_hold_out,
)

ERASURES = pagination.SortOrder("erasures", {"createdAt": "id"})  # ids are UUIDv7: their order is that of creation
HOLDS = pagination.SortOrder("legal-holds", {"createdAt": "id"})


class ErasuresView(ApiView):
    @operation(
        summary="List erasures", resource=RESOURCE, action="read", query=ErasureQuery, answers={200: ErasurePage}
    )
    def get(self, request: Request, query: ErasureQuery) -> ErasurePage:
        """The newest first."""
        visible_erasures = Erasure.objects.visible_to(self.principal)
        if query.status is not None:
            visible_erasures = visible_erasures.filter(status=query.status)
        rows, page = pagination.page(visible_erasures, query, ERASURES, owner=self.principal.organization.pk)
        return ErasurePage([erasure_out(row) for row in rows], page)

    @operation(
        summary="Erase the text of a completion, a task or a model", resource=RESOURCE, action="create",
        body=NewErasure, answers={202: ErasureAnswer}, errors=(409,),
    )  # fmt: skip
    def post(self, request: Request, body: NewErasure) -> ErasureAnswer:
        """Erases everything that was submitted before, in the background. Completions under a legal hold are kept and
        counted; a request for a single completion under a hold is rejected with 409 `legal_hold`."""
        scope = scope_of(body, self.principal, needs_one=True)
        return ErasureAnswer(erasure_out(erasures.request(scope, self.principal.user)))


class ErasureView(ApiView):
    @operation(summary="Read an erasure", resource=RESOURCE, action="read", answers={200: ErasureAnswer})
    def get(self, request: Request, erasure_id: UUID) -> ErasureAnswer:
        return ErasureAnswer(erasure_out(find(Erasure.objects.visible_to(self.principal), erasure_id, "erasure")))


class LegalHoldsView(ApiView):
    @operation(
        summary="List legal holds", resource=RESOURCE, action="read", query=LegalHoldQuery, answers={200: LegalHoldPage}
    )
    def get(self, request: Request, query: LegalHoldQuery) -> LegalHoldPage:
        """The newest first, released ones too."""
        visible_holds = LegalHold.objects.visible_to(self.principal)
        if query.active is not None:
            visible_holds = visible_holds.filter(released_at__isnull=query.active)
        rows, page = pagination.page(visible_holds, query, HOLDS, owner=self.principal.organization.pk)
        return LegalHoldPage([legal_hold_out(row) for row in rows], page)

    @operation(
        summary="Place a legal hold", resource=RESOURCE, action="create", body=NewLegalHold,
        answers={201: LegalHoldAnswer},
    )  # fmt: skip
    def post(self, request: Request, body: NewLegalHold) -> LegalHoldAnswer:
        """After the response, neither retention nor a request erases or deletes anything that the hold covers."""
        scope = scope_of(body, self.principal, needs_one=False)
        return LegalHoldAnswer(legal_hold_out(legal_holds.place(scope, body.reason, self.principal.user)))


class LegalHoldView(ApiView):
    @operation(summary="Read a legal hold", resource=RESOURCE, action="read", answers={200: LegalHoldAnswer})
    def get(self, request: Request, hold_id: UUID) -> LegalHoldAnswer:
        return LegalHoldAnswer(
            legal_hold_out(find(LegalHold.objects.visible_to(self.principal), hold_id, "legal hold"))
        )

    @operation(summary="Release a legal hold", resource=RESOURCE, action="delete", answers={204: None})
    def delete(self, request: Request, hold_id: UUID) -> None:
        """The hold stays on record. Retention and erasures apply again to what it covered."""
        find_for(LegalHold.objects.all(), self.principal, hold_id, "delete", "legal hold")
        legal_holds.release(hold_id, self.principal.user)
