"""Choose the organization of a person's own event: the one they act in, or else the one they joined first."""

from uuid import UUID

from django.http import HttpRequest

from autotune.access.models import Membership, User
from autotune.core import ids


def home_of(user: User, request: HttpRequest | None = None) -> UUID | None:
    """Return the organization of a person's event; None for a person who is in none.

    request  the request of the act, if there is one
    """
    organization_ids = list(
        Membership.objects.filter(user=user).order_by("pk").values_list("organization_id", flat=True)
    )
    try:
        acting_in = ids.decode("org", str(getattr(request, "session", {}).get("organization", "")))
    except ValueError:
        acting_in = None
    return acting_in if acting_in in organization_ids else next(iter(organization_ids), None)
