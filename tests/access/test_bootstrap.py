"""`manage.py bootstrap`: creates what is missing, prints secrets once, and never changes what exists."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from autotune.access.models import ApiKey, Membership, Organization, User
from autotune.core import ids
from tests.conftest import Api
from tests.support.concurrency import together

MEMBERS = {"organizationId", "adminEmail", "adminPassword", "apiKey"}
EMAIL = "boss@example.org"


def bootstrap(organization="First", email=EMAIL, *more):
    out = StringIO()
    call_command("bootstrap", "--organization", organization, "--admin-email", email, *(more or ["--json"]), stdout=out)
    return out.getvalue() if more else json.loads(out.getvalue())


def organization_of(report):
    return Organization.objects.get(pk=ids.decode("org", report["organizationId"]))


@pytest.mark.django_db
class TestOnce:
    def test_the_first_run_prints_credentials_that_work(self):
        report = bootstrap()
        assert set(report) == MEMBERS
        organization, admin = organization_of(report), User.objects.get()
        assert (organization.name, organization.operating) == ("First", True)
        assert (admin.email, admin.is_staff, admin.is_superuser) == (report["adminEmail"], True, True)
        assert admin.check_password(report["adminPassword"])
        assert len(report["adminPassword"]) >= 20
        assert (ApiKey.objects.get().role.name, Membership.objects.get().role.name) == ("admin", "admin")
        assert Api(report["apiKey"]).get("/tasks").status_code == 200

    def test_it_prints_one_line_of_json_and_nothing_else(self):
        out = StringIO()
        call_command("bootstrap", "--organization", "A", "--admin-email", EMAIL, "--json", stdout=out)
        assert out.getvalue().count("\n") == 1

    def test_a_later_run_prints_the_same_with_nulls_and_creates_nothing(self):
        first = bootstrap()
        before = ApiKey.objects.get(), User.objects.get().password
        for _ in range(2):
            assert bootstrap() == first | {"adminPassword": None, "apiKey": None}
        assert (ApiKey.objects.get(), User.objects.get().password) == before
        assert Membership.objects.count() == 1

    def test_a_later_organization_is_run_by_its_own_admin_who_is_no_staff(self):
        bootstrap()
        report = bootstrap("Second", "other@example.org")
        organization, admin = organization_of(report), User.objects.get(email="other@example.org")
        assert organization.operating is False
        assert (admin.is_staff, admin.is_superuser) == (False, False)
        assert admin.check_password(report["adminPassword"])
        assert ApiKey.objects.get(organization=organization).role.name == "organization_admin"
        assert Membership.objects.get(organization=organization).role.name == "organization_admin"

    def test_a_key_of_a_later_organization_sees_nothing_of_the_first(self):
        from tests.factories import TaskFactory

        first, second = bootstrap(), bootstrap("Second", "other@example.org")
        task = TaskFactory(organization=organization_of(first))
        assert Api(second["apiKey"]).get("/tasks").json()["tasks"] == []
        assert [row["id"] for row in Api(first["apiKey"]).get("/tasks").json()["tasks"]] == [task.public_id]

    @pytest.mark.parametrize("spelling", ["boss@example.org", "BOSS@Example.org", " boss@example.org "])
    def test_an_existing_persons_password_stays_unchanged(self, spelling):
        User.objects.create_user(EMAIL, "a-password-of-long-ago")
        report = bootstrap("First", spelling)
        assert (report["adminEmail"], report["adminPassword"]) == (EMAIL, None)
        assert report["apiKey"]
        assert User.objects.get().check_password("a-password-of-long-ago")

    def test_a_person_may_run_two_organizations(self):
        bootstrap()
        report = bootstrap("Second", EMAIL)
        assert report["adminPassword"] is None
        assert report["apiKey"]
        assert Membership.objects.count() == 2

    def test_a_membership_that_exists_keeps_its_role(self):
        report = bootstrap()
        from autotune.access.models import Role

        Membership.objects.update(role=Role.objects.get(organization=None, name="reviewer"))
        bootstrap()
        assert Membership.objects.get().role.name == "reviewer"
        assert report["apiKey"]

    @pytest.mark.parametrize(
        "email", ["", " ", "boss", "boss@", "@example.org", "a@b@c.org", "a b@example.org", "x" * 250 + "@example.org"]
    )
    def test_an_invalid_email_address_is_refused_and_creates_nothing(self, email):
        with pytest.raises(CommandError, match="--admin-email"):
            bootstrap("First", email)
        assert (Organization.objects.count(), User.objects.count(), ApiKey.objects.count()) == (0, 0, 0)

    @pytest.mark.parametrize("name", ["", "  ", "x" * 201])
    def test_an_invalid_name_is_refused(self, name):
        with pytest.raises(CommandError, match="--organization"):
            bootstrap(name)
        assert not Organization.objects.exists()

    def test_both_options_are_needed(self):
        with pytest.raises(CommandError, match="--admin-email"):
            call_command("bootstrap", "--organization", "A")

    def test_without_json_it_prints_lines(self):
        text = bootstrap("First", EMAIL, "--verbosity=1")
        assert "at_live_" in text
        assert "not shown again" in bootstrap("First", EMAIL, "--verbosity=1")


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True, serialized_rollback=True)
class TestAtOnce:
    def test_of_concurrent_runs_only_one_prints_the_secrets(self):
        reports = together(*[bootstrap] * 5)
        assert len({report["organizationId"] for report in reports}) == 1
        assert sorted(report["apiKey"] is None for report in reports) == [False] + [True] * 4
        assert sorted(report["adminPassword"] is None for report in reports) == [False] + [True] * 4
        assert (Organization.objects.count(), User.objects.count(), ApiKey.objects.count()) == (1, 1, 1)

    def test_of_organizations_created_concurrently_one_is_operating(self):
        reports = together(*(lambda n=n: bootstrap(f"Organization {n}", f"boss{n}@example.org") for n in range(5)))
        assert all(report["apiKey"] for report in reports)
        assert sorted(Organization.objects.values_list("operating", flat=True)) == [False] * 4 + [True]
        assert User.objects.filter(is_staff=True).count() == 1


def test_another_email_later_creates_no_second_admin(db):
    bootstrap("One", "first@example.org")
    later = bootstrap("One", "second@example.org")
    assert (later["adminEmail"], later["adminPassword"], later["apiKey"]) == ("first@example.org", None, None)
    assert not User.objects.filter(email="second@example.org").exists()
