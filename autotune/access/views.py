"""The base of every API view: the principal, and the check of its role before anything is read."""

from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

from django.http.response import HttpResponseBase

from autotune.access import commits, idempotency, policy
from autotune.access.audit import current_call, response_subjects, trail
from autotune.access.policy import ScopedQuerySet
from autotune.access.principal import Principal
from autotune.access.throttling.throttles import Throttled
from autotune.core.api.operations import SAFE_METHODS, Operation, OperationView
from autotune.core.errors import Forbidden, NotFound

__all__ = ["ApiView", "find", "find_for"]
Q_ = TypeVar("Q_", bound="ScopedQuerySet[Any]")


class ApiView(Throttled, OperationView):
    """An operation's `resource` and `action` are what the caller's role must allow: 401 without a caller, else 403.

    Every POST takes an `Idempotency-Key` (autotune/access/idempotency). What changes something is one transaction with
    its event of the audit trail (autotune/access/audit).
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
            field_names = operation.body.__struct_encode_fields__  # other names are whatever somebody sent
            current_call.set_members([name for name in field_names if name in body])

    def perform(self, operation: Operation, work: Callable[[], HttpResponseBase]) -> HttpResponseBase:
        request = self.request._request
        if request.method in SAFE_METHODS:
            return response_subjects.noted(work())
        key = idempotency.key_of(request) if request.method in self.keyed_methods else None
        audited = self._opened(work) if operation.calls_out else self._recorded(work)
        if key is not None:
            own = policy.reach(self.principal, operation.resource, operation.action) == "own"
            person = self.principal.user.pk if own else None
            keyed_request = idempotency.KeyedRequest.of(request, key, self.principal.organization.pk, person=person)
            return idempotency.once(keyed_request, audited, secrets=operation.secrets, calls_out=operation.calls_out)
        return audited() if operation.calls_out else commits.whole(audited)

    def _recorded(self, work: Callable[[], HttpResponseBase]) -> Callable[[], HttpResponseBase]:
        """The work and its event, for one transaction. A refusal that is no exception is noted after it, as others."""

        def audited() -> HttpResponseBase:
            response = response_subjects.noted(work())
            if response.status_code < 400:
                trail.within(response.status_code)
            return response

        return audited

    def _opened(self, work: Callable[[], HttpResponseBase]) -> Callable[[], HttpResponseBase]:
        """The work after its event, which the middleware closes."""

        def audited() -> HttpResponseBase:
            if (call := current_call.current()) is not None:
                trail.opened(call)
            return response_subjects.noted(work())

        return audited


def find(queryset: ScopedQuerySet, pk: UUID, what: str) -> Any:
    """The object with this key in an already scoped queryset.

    raises NotFound, the same for what does not exist and for what is out of scope
    """
    instance = queryset.filter(pk=pk).first()
    if instance is None:
        raise NotFound(f"There is no such {what}.")
    return instance


def find_for(queryset: ScopedQuerySet, principal: Principal, pk: UUID, action: str, what: str) -> Any:
    """The object with this key on which the principal may do `action`.

    raises NotFound for what the principal may not even read, Forbidden for what it may read and no more
    """
    allowed = queryset.visible_to(principal) if action == "read" else queryset.allowed(principal, action)
    instance = allowed.filter(pk=pk).first()
    if instance is not None:
        return instance
    if action != "read" and queryset.visible_to(principal).filter(pk=pk).exists():
        raise Forbidden(f"The role {principal.role.name} may not {action} this {what}.")
    raise NotFound(f"There is no such {what}.")
