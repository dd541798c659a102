"""The base of every API view: the principal, and the check of its role before anything is read."""

from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

from django.http.response import HttpResponseBase

from autotune.access import idempotency, policy
from autotune.access.policy import ScopedQuerySet
from autotune.access.principal import Principal
from autotune.core.api import Operation, OperationView
from autotune.core.errors import Forbidden, NotFound

__all__ = ["ApiView", "find", "find_for"]
Q_ = TypeVar("Q_", bound="ScopedQuerySet[Any]")


class ApiView(OperationView):
    """An operation's `resource` and `action` are what the caller's role must allow: 401 without a caller, else 403.

    Every POST takes an `Idempotency-Key` (autotune/access/idempotency).
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

    def perform(self, operation: Operation, work: Callable[[], HttpResponseBase]) -> HttpResponseBase:
        request = self.request._request
        key = idempotency.key_of(request) if request.method in self.keyed_methods else None
        if key is None:
            return work()
        asked = idempotency.Asked.of(request, key, self.principal.organization.pk)
        return idempotency.once(asked, work, secrets=operation.secrets, calls_out=operation.calls_out)


def find(queryset: ScopedQuerySet, pk: UUID, what: str) -> Any:
    """The object with this key in an already scoped queryset.

    raises NotFound, the same for what does not exist and for what is out of scope
    """
    found = queryset.filter(pk=pk).first()
    if found is None:
        raise NotFound(f"There is no such {what}.")
    return found


def find_for(queryset: ScopedQuerySet, principal: Principal, pk: UUID, action: str, what: str) -> Any:
    """The object with this key on which the principal may do `action`.

    raises NotFound for what the principal may not even read, Forbidden for what it may read and no more
    """
    allowed = queryset.visible_to(principal) if action == "read" else queryset.allowed(principal, action)
    found = allowed.filter(pk=pk).first()
    if found is not None:
        return found
    if action != "read" and queryset.visible_to(principal).filter(pk=pk).exists():
        raise Forbidden(f"The role {principal.role.name} may not {action} this {what}.")
    raise NotFound(f"There is no such {what}.")
