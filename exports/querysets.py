"""The named questions about exports."""

from typing import Self

from autotune.access import policy
from autotune.access.policy import ScopedQuerySet
from autotune.access.principal import ORDER, Principal
from exports.states import UNFINISHED, ExportStatus


class ExportQuerySet(ScopedQuerySet):
    """Exports. Whoever reads less widely than an export did, does not see it: its files hold what they may not read."""

    resource = "exports"

    def visible_to(self, principal: Principal) -> Self:
        return self.allowed(principal, "read")

    def allowed(self, principal: Principal, action: str) -> Self:
        reach = policy.reach(principal, self.resource, "read")
        if reach is None:
            return self.none()
        within = ORDER[: ORDER.index(reach) + 1]
        return policy.scope(self, principal, self.resource, action).filter(reach__in=within)

    def unfinished(self) -> Self:
        return self.filter(status__in=UNFINISHED)

    def with_files(self) -> Self:
        """Those that have files, or make some."""
        return self.filter(status__in=(*UNFINISHED, ExportStatus.COMPLETED))
