"""Admin pages of people, roles and keys."""

import json

import pytest
from django.test import Client
from django.urls import reverse

from autotune.access.models import ApiKey, Membership, Role, User
from tests.factories import ApiKeyFactory, OrganizationFactory, UserFactory

PASSWORD = "a-long-password-of-mine"
ADMIN_URL = "admin:access_{}_{}"


def url(model, view, *args):
    return reverse(ADMIN_URL.format(model, view), args=args)


@pytest.fixture
def boss(db):
    return User.objects.create_user("boss@example.org", PASSWORD, is_staff=True, is_superuser=True)


@pytest.fixture
def site(boss):
    client = Client()
    client.force_login(boss)
    return client


def test_login_accepts_the_email_in_any_case(boss):
    client = Client()
    page = url("user", "changelist")
    door = client.get(page, follow=True)
    assert door.redirect_chain[-1][0] == f"{reverse('account_login')}?next={page.replace('/', '%2F')}"
    answer = client.post(reverse("account_login"), {"login": "BOSS@Example.org", "password": PASSWORD, "next": page})
    assert (answer.status_code, answer["Location"]) == (302, page)
    assert client.get(url("user", "changelist")).status_code == 200


def test_a_person_is_added_by_email(site):
    body = {"email": "New.Person@Example.org", "name": "New", "usable_password": "true"}
    answer = site.post(url("user", "add"), {**body, "password1": PASSWORD, "password2": PASSWORD})
    assert answer.status_code == 302, answer.context["errors"]
    person = User.objects.get(email="new.person@example.org")
    assert person.check_password(PASSWORD)
    assert (person.is_staff, person.is_superuser) == (False, False)


def test_the_same_email_twice_is_an_error_on_the_page(site, boss):
    body = {"email": "BOSS@example.org", "usable_password": "true", "password1": PASSWORD, "password2": PASSWORD}
    answer = site.post(url("user", "add"), body)
    assert answer.status_code == 200
    assert "already exists" in answer.content.decode()


def test_a_weak_password_is_refused(site):
    body = {"email": "x@example.org", "usable_password": "true", "password1": "short", "password2": "short"}
    assert site.post(url("user", "add"), body).status_code == 200
    assert not User.objects.filter(email="x@example.org").exists()


def test_a_person_is_changed_and_keeps_the_password(site, boss):
    person = User.objects.create_user("p@example.org", PASSWORD)
    answer = site.post(url("user", "change", person.pk), {"email": "q@example.org", "name": "Q", "is_active": "on"})
    assert answer.status_code == 302
    person.refresh_from_db()
    assert (person.email, person.name) == ("q@example.org", "Q")
    assert person.check_password(PASSWORD)


def test_a_password_is_changed(site):
    person = User.objects.create_user("p@example.org", PASSWORD)
    page = reverse("admin:auth_user_password_change", args=[person.pk])
    assert site.get(page).status_code == 200
    other = "another-long-password"
    answer = site.post(page, {"usable_password": "true", "password1": other, "password2": other, "set-password": "1"})
    assert answer.status_code == 302
    person.refresh_from_db()
    assert person.check_password(other)


def test_people_are_not_deleted(site):
    person = UserFactory()
    assert site.post(url("user", "delete", person.pk), {"post": "yes"}).status_code == 403
    assert User.objects.filter(pk=person.pk).exists()


def test_limited_staff_cannot_grant_powers_or_change_superusers(boss):
    from django.contrib.auth.models import Permission

    clerk = User.objects.create_user("clerk@example.org", PASSWORD, is_staff=True)
    clerk.user_permissions.add(*Permission.objects.filter(codename__in=["view_user", "change_user"]))
    client = Client()
    client.force_login(clerk)
    body = {"email": "clerk@example.org", "name": "me", "is_active": "on", "is_superuser": "on"}
    assert client.post(url("user", "change", clerk.pk), body).status_code == 302
    clerk.refresh_from_db()
    assert (clerk.name, clerk.is_superuser) == ("me", False)
    assert client.post(url("user", "change", boss.pk), {**body, "email": "boss@example.org"}).status_code == 403
    assert client.get(reverse("admin:auth_user_password_change", args=[boss.pk])).status_code == 403


def test_keys_can_be_revoked_but_not_created(site):
    key = ApiKeyFactory()
    assert site.get(url("apikey", "add")).status_code == 403
    body = {"action": "revoke", "_selected_action": [str(key.pk)], "index": 0}
    confirmation = site.post(url("apikey", "changelist"), body)
    assert "A revoked key never works again." in confirmation.content.decode()
    assert ApiKey.objects.get().revoked_at is None
    answer = site.post(url("apikey", "changelist"), {**body, "confirmed": "yes"})
    assert answer.status_code == 302
    first = ApiKey.objects.get().revoked_at
    assert first is not None
    again = site.post(url("apikey", "changelist"), {**body, "confirmed": "yes"}, follow=True)
    assert "0 revoked; 1 refused: It is already revoked." in again.content.decode()
    assert ApiKey.objects.get().revoked_at == first


def test_staff_that_only_views_cannot_revoke(db):
    from django.contrib.auth.models import Permission

    clerk = User.objects.create_user("clerk@example.org", PASSWORD, is_staff=True)
    clerk.user_permissions.add(Permission.objects.get(codename="view_apikey"))
    client = Client()
    client.force_login(clerk)
    key = ApiKeyFactory()
    page = client.get(url("apikey", "changelist"))
    assert page.status_code == 200
    body = {"action": "revoke", "_selected_action": [str(key.pk)], "index": 0, "confirmed": "yes"}
    client.post(url("apikey", "changelist"), body)
    assert ApiKey.objects.get().revoked_at is None


def test_a_built_in_role_is_shown_and_not_changed(site):
    role = Role.objects.get(organization=None, name="reviewer")
    assert site.get(url("role", "change", role.pk)).status_code == 200
    assert site.post(url("role", "change", role.pk), {"name": "x"}).status_code == 403
    assert site.post(url("role", "delete", role.pk), {"post": "yes"}).status_code == 403


GOOD = [{"resource": "tasks", "actions": ["read"], "scope": "organization"}]


@pytest.mark.parametrize(
    ("permissions", "status"),
    [
        (GOOD, 302),
        ([], 200),  # an empty list counts as nothing given
        ({}, 200),
        ([1], 200),
        ([{"resource": "tasks"}], 200),
        ([{**GOOD[0], "resource": "everything"}], 200),
        ([{**GOOD[0], "resource": ["tasks"]}], 200),
        ([{**GOOD[0], "actions": "read"}], 200),
        ([{**GOOD[0], "actions": ["fly"]}], 200),
        ([{**GOOD[0], "actions": [["read"]]}], 200),
        ([{**GOOD[0], "scope": "world"}], 200),
        ([{**GOOD[0], "more": 1}], 200),
        ([{**GOOD[0], "resource": "runs"}], 200),
        ([{**GOOD[0], "resource": "graders"}] * 101, 200),  # are two each
    ],
)
def test_a_custom_role_has_permissions_that_the_policy_can_read(site, permissions, status):
    organization = OrganizationFactory()
    body = {"organization": str(organization.pk), "name": "mine", "permissions": json.dumps(permissions)}
    assert site.post(url("role", "add"), body).status_code == status
    assert Role.objects.filter(name="mine").exists() is (status == 302)


def test_a_short_name_is_stored_as_the_resources_that_it_is_for(site):
    organization = OrganizationFactory()
    permissions = json.dumps([{**GOOD[0], "resource": "graders"}])
    site.post(url("role", "add"), {"organization": str(organization.pk), "name": "mine", "permissions": permissions})
    stored = Role.objects.get(name="mine").permissions
    assert stored == [{**GOOD[0], "resource": kind} for kind in ("endpoint_graders", "rubric_graders")]


def test_an_old_resource_name_is_refused_with_the_new_one(site):
    permissions = json.dumps([{**GOOD[0], "resource": "runs"}])
    body = {"organization": str(OrganizationFactory().pk), "name": "mine", "permissions": permissions}
    assert "The resource runs is now called workflow_runs" in site.post(url("role", "add"), body).content.decode()


def test_a_role_without_an_organization_cannot_be_made(site):
    body = {"organization": "", "name": "mine", "permissions": json.dumps(GOOD)}
    assert site.post(url("role", "add"), body).status_code == 200
    assert not Role.objects.filter(name="mine").exists()


def test_a_membership_takes_no_role_of_another_organization(site):
    organization, person = OrganizationFactory(), UserFactory()
    foreign = Role.objects.create(name="theirs", organization=OrganizationFactory(), permissions=GOOD)
    body = {"organization": str(organization.pk), "user": str(person.pk), "role": str(foreign.pk)}
    assert site.post(url("membership", "add"), body).status_code == 200
    body["role"] = str(Role.objects.get(organization=None, name="reviewer").pk)
    assert site.post(url("membership", "add"), body).status_code == 302
    assert Membership.objects.get().role.name == "reviewer"


def test_a_membership_changes_its_role_and_never_its_person(site):
    key, other = ApiKeyFactory(role="reviewer"), UserFactory()
    member = Membership.objects.get(user=key.user)
    operator = Role.objects.get(organization=None, name="training_operator")
    body = {"organization": str(OrganizationFactory().pk), "user": str(other.pk), "role": str(operator.pk)}
    assert site.post(url("membership", "change", member.pk), body).status_code == 302
    changed = Membership.objects.get(pk=member.pk)
    assert (changed.user, changed.organization, changed.role) == (key.user, key.organization, operator)


def test_an_invitation_is_seen_and_withdrawn_but_not_changed(site):
    role = Role.objects.get(organization=None, name="reviewer")
    invited = Membership.objects.create(organization=OrganizationFactory(), email="new@example.org", role=role)
    page = site.get(url("membership", "changelist"))
    assert "new@example.org" in page.content.decode()
    assert site.post(url("membership", "change", invited.pk), {"role": str(role.pk)}).status_code == 403
    assert site.post(url("membership", "delete", invited.pk), {"post": "yes"}).status_code == 302
    assert not Membership.objects.exists()


@pytest.mark.parametrize("how", ["one", "selected"])
def test_removing_a_membership_ends_its_keys_permanently(site, how):
    key = ApiKeyFactory(role="reviewer")
    member = Membership.objects.get(user=key.user)
    if how == "one":
        site.post(url("membership", "delete", member.pk), {"post": "yes"})
    else:
        chosen = {"action": "delete_selected", "_selected_action": [str(member.pk)], "post": "yes"}
        site.post(url("membership", "changelist"), chosen)
    assert not Membership.objects.exists()
    assert ApiKey.objects.get().revoked_at is not None


def test_a_returning_member_starts_without_keys(site):
    key = ApiKeyFactory(role="reviewer")
    Membership.objects.all().delete()
    body = {"organization": str(key.organization_id), "user": str(key.user_id), "role": str(key.role_id)}
    assert site.post(url("membership", "add"), body).status_code == 302
    assert ApiKey.objects.get().revoked_at is not None


def test_an_organization_is_suspended_and_not_deleted(site):
    organization = OrganizationFactory()
    body = {"name": "Renamed", "suspended": "on", "operating": "on"}
    assert site.post(url("organization", "change", organization.pk), body).status_code == 302
    organization.refresh_from_db()
    assert (organization.name, organization.suspended, organization.operating) == ("Renamed", True, False)
    assert site.post(url("organization", "delete", organization.pk), {"post": "yes"}).status_code == 403


def test_the_name_of_another_organization_is_an_error_on_the_page(site):
    OrganizationFactory(name="Taken")
    assert site.post(url("organization", "add"), {"name": "Taken"}).status_code == 200
