"""Authenticate API requests by API key or web session, and set `request.auth` to the Principal.

A key is sent as `Authorization: Bearer …`; a web session needs a CSRF token.
"""

from uuid import UUID

from django.db.models import Case, When
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from autotune.access.keys import tokens
from autotune.access.models import Membership, User
from autotune.access.principal import Principal
from autotune.core import ids


class BearerAuthentication(BaseAuthentication):
    """Authenticate by an API key in `Authorization: Bearer at_live_…`."""

    def authenticate(self, request: Request) -> tuple[User, Principal] | None:
        header = request._request.META.get("HTTP_AUTHORIZATION")
        if header is None:
            return None
        scheme, _, text = header.partition(" ")
        if scheme.lower() != "bearer":
            raise AuthenticationFailed("Send the API key as `Authorization: Bearer …`.")
        key = tokens.find(text, request._request.META.get("REMOTE_ADDR", ""))
        if key is None or key.role is None:  # the same for every cause: it hides whether a key exists
            raise AuthenticationFailed("The API key is not valid.")
        return key.user, Principal(key.organization, key.role, key.user, key, key.membership_grants)

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="autotune"'


class WebSessionAuthentication(SessionAuthentication):
    """Authenticate by the session of the web pages, in the organization that the person chose there."""

    def authenticate(self, request: Request) -> tuple[User, Principal] | None:
        user = getattr(request._request, "user", None)
        if not user or not user.is_active:
            return None
        # Check Django's request: DRF's own would look for a body parser, and there is none.
        self.enforce_csrf(request._request)  # type: ignore[arg-type]
        principal = of_session(request._request)
        if principal is None:
            raise PermissionDenied("You belong to no organization.")
        return principal.user, principal


def of_session(request: HttpRequest) -> Principal | None:
    """Return the principal of a logged-in person, in the organization chosen in the session or else their first one.

    Returns None for a person without a membership in an organization that is not suspended.
    """
    membership = next(iter(memberships_of(request, at_most=1)), None)
    if membership is None or membership.user is None:
        return None
    return Principal(membership.organization, membership.role, membership.user)


def memberships_of(request: HttpRequest, *, at_most: int | None = None) -> list[Membership]:
    """Return a person's memberships in organizations that are not suspended; the one in which they act comes first."""
    if not isinstance(request.user, User):
        return []
    chosen_first = Case(When(organization_id=_chosen(request), then=0), default=1)
    memberships = Membership.objects.select_related("organization", "role", "user")
    theirs = memberships.filter(user_id=request.user.pk, organization__suspended=False)
    return list(theirs.order_by(chosen_first, "pk")[:at_most])


def _chosen(request: HttpRequest) -> UUID | None:
    """Return the organization chosen in the session, which holds its public id."""
    try:
        return ids.decode("org", str(request.session.get("organization", "")))
    except ValueError:
        return None
