"""Who opens the administration: a superuser, and staff with some permissions; also in a browser."""

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from tests.factories import UserFactory
from tests.pages.conftest import browse  # noqa: F401 - a fixture


def client_of(user):
    client = Client()
    client.force_login(user)
    client.user = user
    return client


@pytest.fixture
def boss(db):
    return client_of(UserFactory(email="boss@example.org", is_staff=True, is_superuser=True))


@pytest.fixture
def staff(db):
    """`staff("view_grader", …)`: a client of a person with only these permissions."""

    def make(*codenames):
        user = UserFactory(is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
        return client_of(user)

    return make
