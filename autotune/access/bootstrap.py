"""Create the first organization with its admin and API key, without a browser and without default credentials."""

import secrets
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet

from autotune.access.audit import trail
from autotune.access.keys import tokens
from autotune.access.models import ApiKey, Membership, Organization, Role, User
from autotune.access.roles import builtin
from autotune.core import ids


@dataclass(frozen=True)
class Bootstrapped:
    """What `bootstrap` created or found. `password` and `api_key` are None if they existed: only digests are stored."""

    organization: Organization
    admin: User
    password: str | None
    api_key: str | None


@transaction.atomic
def bootstrap(*, organization_name: str, admin_email: str) -> Bootstrapped:
    """Create what is missing of an organization, its admin and a key; never change an existing password.

    The row of the built-in role is the lock: of two processes, the second waits and finds what the first created.
    """
    Role.objects.select_for_update().get(organization=None, name=builtin.ADMIN)
    organization = Organization.objects.filter(name=organization_name).first()
    fresh = organization is None
    if organization is None:
        first = not Organization.objects.exists()
        organization = Organization.objects.create(name=organization_name, operating=first)
    role = Role.objects.get(
        organization=None, name=builtin.ADMIN if organization.operating else builtin.ORGANIZATION_ADMIN
    )
    user, password = _admin(organization, role, admin_email)
    Membership.objects.get_or_create(organization=organization, user=user, defaults={"role": role})
    api_key = None
    if fresh or not ApiKey.objects.filter(organization=organization).exists():
        _, api_key = tokens.issue(organization=organization, role=role, user=user, name="bootstrap")
    trail.record(
        action="organizations.bootstrap",
        resource="organizations",
        organization=organization,
        actor="manage.py bootstrap",
        object_id=ids.encode("org", organization.pk),
    )
    return Bootstrapped(organization, user, password, api_key)


def _admin(organization: Organization, role: Role, email: str) -> tuple[User, str | None]:
    """Return the organization's first admin, whatever `email` says; else the person with that email, created if new."""
    if there := _holders(organization, role).first():
        return there, None
    staff = organization.operating
    if user := User.objects.filter(email=email.strip().lower()).first():
        return user, None
    password = secrets.token_urlsafe(18)
    return User.objects.create_user(email, password, is_staff=staff, is_superuser=staff), password


def _holders(organization: Organization, role: Role) -> QuerySet[User]:
    """Return the members with the role, the oldest membership first. Invited people are not members."""
    return User.objects.filter(membership__organization=organization, membership__role=role).order_by("membership__pk")
