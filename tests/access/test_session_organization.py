"""A person of several organizations acts by session in the one they chose."""

import pytest
from django.test import Client

from autotune.access.models import Membership, Role
from autotune.core import ids
from tests.factories import OrganizationFactory, UserFactory


@pytest.fixture
def user(db):
    return UserFactory()


@pytest.fixture
def two(user):
    organizations = []
    for role in ("reviewer", "organization_admin"):
        organization = OrganizationFactory()
        role = Role.objects.get(organization=None, name=role)
        Membership.objects.create(organization=organization, user=user, role=role)
        organizations.append(organization)
    return organizations


@pytest.fixture
def browser(user):
    client = Client()
    client.force_login(user)
    return client


def choose(browser, value):
    session = browser.session
    session["organization"] = value
    session.save()


def acts_in(browser):
    """The organizations that the session may read as an administrator, or the status."""
    answer = browser.get("/api/v1/organizations")
    return (
        [organization["id"] for organization in answer.json()["organizations"]]
        if answer.status_code == 200
        else answer.status_code
    )


def test_the_role_follows_the_chosen_organization(browser, two):
    first, second = (ids.encode("org", organization.pk) for organization in two)
    assert acts_in(browser) == 403  # a reviewer in the first
    choose(browser, second)
    assert acts_in(browser) == [second]
    choose(browser, first)
    assert acts_in(browser) == 403


@pytest.mark.parametrize("value", ["", "org_", "nonsense", 7, None, ["org"], "org_00000000000000000000000000"])
def test_a_choice_outside_their_organizations_is_ignored(browser, two, value):
    choose(browser, value)
    assert acts_in(browser) == 403


def test_a_person_cannot_choose_an_organization_without_membership(browser, two):
    for other in (OrganizationFactory(), OrganizationFactory(operating=True)):
        Membership.objects.create(
            organization=other, email="invited@example.org", role=Role.objects.get(organization=None, name="admin")
        )
        choose(browser, ids.encode("org", other.pk))
        assert acts_in(browser) == 403


def test_an_ended_membership_or_suspended_organization_gives_no_access(browser, two, user):
    second = two[1]
    choose(browser, ids.encode("org", second.pk))
    second.suspended = True
    second.save()
    assert acts_in(browser) == 403
    second.suspended = False
    second.save()
    assert acts_in(browser) == [ids.encode("org", second.pk)]
    Membership.objects.filter(organization=second, user=user).delete()
    assert acts_in(browser) == 403
