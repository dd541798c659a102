"""The queryset of exports, with the rules for who may see which."""

from typing import Self

from django.db.models import Q

from autotune.access import policy
from autotune.access.policy import ScopedQuerySet
from autotune.access.principal import ORDER, Principal
from exports.states import UNFINISHED, ExportStatus

DIMENSION_MEMBERS = ("dimensions", "dimensionColumns")  # flags of the stored query, which has only those that are true


class ExportQuerySet(ScopedQuerySet):
    """Exports. A principal sees only exports that read no more widely than it may: the files hold what the export read.

    An export with dimensions also requires the same reach for `reasoning`, except from its creator.
    """

    resource = "exports"

    def visible_to(self, principal: Principal) -> Self:
        return self.allowed(principal, "read")

    def allowed(self, principal: Principal, action: str) -> Self:
        reach = policy.reach(principal, self.resource, "read")
        if reach is None:
            return self.none()
        exports = policy.scope(self, principal, self.resource, action).filter(reach__in=_within(reach))
        without_dimensions = ~Q(query__has_any_keys=DIMENSION_MEMBERS)
        with_readable_dimensions = Q(reach__in=_within(policy.reach(principal, "reasoning", "read")))
        return exports.filter(without_dimensions | with_readable_dimensions | Q(created_by_id=principal.user.pk))

    def unfinished(self) -> Self:
        return self.filter(status__in=UNFINISHED)

    def with_files(self) -> Self:
        """Return the exports that have files or are writing some."""
        return self.filter(status__in=(*UNFINISHED, ExportStatus.COMPLETED))


def _within(reach: str | None) -> tuple[str, ...]:
    """Return the exports that read no more widely than `reach`."""
    return tuple(ORDER[: ORDER.index(reach) + 1]) if reach else ()
