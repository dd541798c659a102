"""The first organization, its admin and its key: made once, headless, with no default login and no default key."""

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
    """`password` and `api_key` are None when they were made before: they cannot be told again."""

    organization: Organization
    admin: User
    password: str | None
    api_key: str | None


@transaction.atomic
def bootstrap(*, organization_name: str, admin_email: str) -> Bootstrapped:
    """Make what is missing of an organization, its admin and a key; never change a password that exists.

    The row of the built-in role is the lock: of two that run at once, the second finds what the first made.
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
    """The organization's first admin, whatever `email` says now; else the person with that address, made if need be."""
    if there := _holders(organization, role).first():
        return there, None
    staff = organization.operating
    if user := User.objects.filter(email=email.strip().lower()).first():
        return user, None
    password = secrets.token_urlsafe(18)
    return User.objects.create_user(email, password, is_staff=staff, is_superuser=staff), password


def _holders(organization: Organization, role: Role) -> QuerySet[User]:
    """The members with the role, the first of them first. Who is merely invited is none."""
    return User.objects.filter(membership__organization=organization, membership__role=role).order_by("membership__pk")
