"""Show who created a task, as far as the reader may know."""

from uuid import UUID

from autotune.access import policy
from autotune.access.frame.people import EmailAddresses
from autotune.access.models import User
from autotune.access.principal import Principal
from autotune.core import ids


def called(principal: Principal, person: User | UUID) -> str:
    """The name to show for a person: `you`, the address if the principal may see it, else the id, as in the API."""
    pk = person if isinstance(person, UUID) else person.pk
    if pk != principal.user.pk and policy.reach(principal, "members", "read") is None:
        return ids.encode("user", pk)
    return EmailAddresses(principal, [pk]).of(pk)
