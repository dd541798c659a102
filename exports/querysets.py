"""The named questions about exports."""

from typing import Self

from django.db.models import Q

from autotune.access import policy
from autotune.access.policy import ScopedQuerySet
from autotune.access.principal import ORDER, Principal
from exports.states import UNFINISHED, ExportStatus

TELLING = ("dimensions", "dimensionColumns")  # members of the stored query, which are there if they are true


class ExportQuerySet(ScopedQuerySet):
    """Exports. Whoever reads less widely than an export did, does not see it: its files hold what they may not read.

    So it is with one that tells dimensions and whoever may not read `reasoning` as widely, unless they made it.
    """

    resource = "exports"

    def visible_to(self, principal: Principal) -> Self:
        return self.allowed(principal, "read")

    def allowed(self, principal: Principal, action: str) -> Self:
        reach = policy.reach(principal, self.resource, "read")
        if reach is None:
            return self.none()
        found = policy.scope(self, principal, self.resource, action).filter(reach__in=_within(reach))
        silent = ~Q(query__has_any_keys=TELLING)
        told = Q(reach__in=_within(policy.reach(principal, "reasoning", "read")))
        return found.filter(silent | told | Q(created_by_id=principal.user.pk))

    def unfinished(self) -> Self:
        return self.filter(status__in=UNFINISHED)

    def with_files(self) -> Self:
        """Those that have files, or make some."""
        return self.filter(status__in=(*UNFINISHED, ExportStatus.COMPLETED))


def _within(reach: str | None) -> tuple[str, ...]:
    """What is not wider than `reach`."""
    return tuple(ORDER[: ORDER.index(reach) + 1]) if reach else ()
