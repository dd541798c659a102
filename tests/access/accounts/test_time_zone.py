"""The time zone of a person: chosen on the account page, followed by the pages, and by nothing else."""

from datetime import UTC, datetime

import pytest
from django.utils import timezone

from autotune.access.models import ApiKey, Membership, Role, User
from tests.access.accounts.people import browser, logged_in, person
from tests.factories import OrganizationFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    """An administrator of an organization with an API key that was used on a summer's noon."""
    user, organization = person(), OrganizationFactory()
    role = Role.objects.get(organization=None, name="organization_admin")
    Membership.objects.create(organization=organization, user=user, role=role)
    ApiKey.objects.create(
        organization=organization, user=user, role=role, name="key", digest=b"x" * 32, last_four="abcd",
        last_used_at=datetime(2026, 7, 1, 12, tzinfo=UTC),
    )  # fmt: skip
    return user


def zone_of(user):
    return User.objects.values_list("time_zone", flat=True).get(pk=user.pk)


def test_strangers_are_sent_to_the_login():
    assert browser().post("/account/time-zone", {"time_zone": "UTC"})["Location"].startswith("/account/login")


def test_a_person_begins_with_utc_and_chooses_another_zone(user):
    client = logged_in(user)
    assert zone_of(user) == "UTC"
    answer = client.post("/account/time-zone", {"time_zone": "Europe/Berlin"}, follow=True).content.decode()
    assert zone_of(user) == "Europe/Berlin"
    assert "Pages now show you times in Europe/Berlin." in answer
    assert "<option selected>Europe/Berlin</option>" in answer


@pytest.mark.parametrize(
    "zone", ["", "Mars/Olympus", "../../etc/passwd", "Etc/GMT+3", "europe/berlin", "\0", "x" * 9999]
)
def test_a_zone_that_is_not_in_the_list_is_refused(user, zone):
    answer = logged_in(user).post("/account/time-zone", {"time_zone": zone}, follow=True)
    assert "Choose a time zone from the list." in answer.content.decode()
    assert zone_of(user) == "UTC"


def test_pages_follow_the_zone_and_name_it(user):
    client = logged_in(user)
    assert "1 Jul 2026, 12:00:00 UTC" in client.get("/settings/keys").content.decode()
    client.post("/account/time-zone", {"time_zone": "Europe/Berlin"})
    html = client.get("/settings/keys").content.decode()
    assert "1 Jul 2026, 14:00:00 CEST" in html
    assert "Times in Europe/Berlin" in html
    assert timezone.get_current_timezone_name() == "UTC"  # the next request of this thread may be another person's


def test_the_api_stays_in_utc(user):
    client = logged_in(user)
    client.post("/account/time-zone", {"time_zone": "Asia/Tokyo"})
    assert "2026-07-01T12:00:00.000Z" in client.get("/api/v1/api-keys").content.decode()


def test_a_stored_zone_that_no_longer_exists_is_utc_and_the_page_says_so(user):
    User.objects.filter(pk=user.pk).update(time_zone="Mars/<b>Olympus")
    client = logged_in(user)
    html = client.get("/account").content.decode()
    assert "Mars/&lt;b&gt;Olympus</bdi> no longer exists here" in html
    assert "12:00:00 UTC" in client.get("/settings/keys").content.decode()


def test_one_person_does_not_change_the_zone_of_another(user):
    other = person("other@example.org")
    logged_in(user).post("/account/time-zone", {"time_zone": "Asia/Tokyo", "user": str(other.pk), "id": str(other.pk)})
    assert (zone_of(user), zone_of(other)) == ("Asia/Tokyo", "UTC")
