"""Show people by email address to those who may see the members, and by id to others, as the API does."""

from collections.abc import Iterable
from uuid import UUID

from autotune.access import querysets
from autotune.access.principal import Principal
from autotune.core import ids


class EmailAddresses:
    """The email addresses of people that the principal may see, read by one query."""

    def __init__(self, principal: Principal, people: Iterable[UUID | None]) -> None:
        user_ids = {user_id for user_id in people if user_id is not None} - {principal.user.pk}
        self._addresses = {principal.user.pk: "you"}
        if user_ids:
            members = querysets.members().visible_to(principal).filter(user_id__in=user_ids)
            self._addresses |= dict(members.order_by().values_list("user_id", "user__email"))

    def of(self, person: UUID | None) -> str:
        """Return a person's email, `you`, or the id if the principal may not see them or they left; '' for None."""
        if person is None:
            return ""
        return self._addresses.get(person) or ids.encode("user", person)
