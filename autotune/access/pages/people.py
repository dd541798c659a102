"""Who somebody is, for those who may see the members; the id for others, as in the API's answers."""

from collections.abc import Iterable
from uuid import UUID

from autotune.access import querysets
from autotune.access.principal import Principal
from autotune.core import ids


class Names:
    """The addresses of some people as the principal may see them, by one query."""

    def __init__(self, principal: Principal, people: Iterable[UUID | None]) -> None:
        user_ids = {user_id for user_id in people if user_id is not None} - {principal.user.pk}
        self._addresses = {principal.user.pk: "you"}
        if user_ids:
            members = querysets.members().visible_to(principal).filter(user_id__in=user_ids)
            self._addresses |= dict(members.order_by().values_list("user_id", "user__email"))

    def of(self, person: UUID | None) -> str:
        """An email address, `you`, or the id of whom the principal may not see or who has left; '' for nobody."""
        if person is None:
            return ""
        return self._addresses.get(person) or ids.encode("user", person)
