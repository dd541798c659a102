"""The base class of every API view, which checks the caller's role before it reads anything."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http.response import HttpResponseBase

from autotune.access import commits, idempotency, policy
from autotune.access.audit import current_call, trail
from autotune.access.policy import ScopedQuerySet
from autotune.access.principal import Principal
from autotune.access.throttling.throttles import ThrottledView
from autotune.core.api.operations import SAFE_METHODS, Operation, OperationView
from autotune.core.errors import Forbidden, NotFound

__all__ = ["ApiView", "find", "find_for"]


class ApiView(ThrottledView, OperationView):
    """Base of API views. The caller's role must allow the operation's `resource` and `action`: else 401 or 403.

    Every POST accepts an `Idempotency-Key` (autotune/access/idempotency). A change and its event in the audit log
    (autotune/access/audit) are written in one transaction.
    """

    keyed_methods = frozenset({"POST"})

    @property
    def principal(self) -> Principal:
        return self.request.auth  # type: ignore[return-value]

    def authorize(self, operation: Operation) -> None:
        other = operation.or_resource
        if other and policy.reach(self.principal, other, operation.action) is not None:
            return
        if operation.resource:
            policy.require(self.principal, operation.resource, operation.action)

    def heard(self, operation: Operation, body: Any) -> None:
        if isinstance(body, dict) and operation.body is not None:
            field_names = operation.body.__struct_encode_fields__  # any other name is unchecked input
            current_call.set_members([name for name in field_names if name in body])

    def perform(self, operation: Operation, work: Callable[[], HttpResponseBase]) -> HttpResponseBase:
        request = self.request._request
        if request.method in SAFE_METHODS:
            return current_call.note_response(work())
        is_keyed = request.method in self.keyed_methods and idempotency.META_NAME in request.META
        key = idempotency.key_of(request) if is_keyed else None
        audited = self._opened(work) if operation.calls_out else self._recorded(work)
        if key is not None:
            own = policy.reach(self.principal, operation.resource, operation.action) == "own"
            person = self.principal.user.pk if own else None
            keyed_request = idempotency.KeyedRequest.of(request, key, self.principal.organization.pk, person=person)
            return idempotency.once(keyed_request, audited, secrets=operation.secrets, calls_out=operation.calls_out)
        return audited() if operation.calls_out else commits.whole(audited)

    def _recorded(self, work: Callable[[], HttpResponseBase]) -> Callable[[], HttpResponseBase]:
        """Return the work followed by its event, for one transaction. The middleware records a returned error later."""

        def audited() -> HttpResponseBase:
            response = current_call.note_response(work())
            if response.status_code < 400:
                trail.within(response.status_code)
            return response

        return audited

    def _opened(self, work: Callable[[], HttpResponseBase]) -> Callable[[], HttpResponseBase]:
        """Return the work preceded by its event, which the middleware closes."""

        def audited() -> HttpResponseBase:
            if (call := current_call.current()) is not None:
                trail.opened(call)
            return current_call.note_response(work())

        return audited


def find(queryset: ScopedQuerySet, pk: UUID, what: str) -> Any:
    """Return the object with this key in a queryset that is already scoped.

    raises NotFound, the same for an object that does not exist and for one out of scope
    """
    instance = queryset.filter(pk=pk).first()
    if instance is None:
        raise NotFound(f"There is no such {what}.")
    return instance


def find_for(queryset: ScopedQuerySet, principal: Principal, pk: UUID, action: str, what: str) -> Any:
    """Return the object with this key if the principal may do `action` on it.

    raises NotFound for an object that the principal may not read, Forbidden for one that it may only read
    """
    allowed = queryset.visible_to(principal) if action == "read" else queryset.allowed(principal, action)
    instance = allowed.filter(pk=pk).first()
    if instance is not None:
        return instance
    if action != "read" and queryset.visible_to(principal).filter(pk=pk).exists():
        raise Forbidden(f"The role {principal.role.label} may not {action} this {what}.")
    raise NotFound(f"There is no such {what}.")
