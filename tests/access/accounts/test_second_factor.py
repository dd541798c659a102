"""The second factor: set up, required at every login, stored encrypted, removed."""

import re
from datetime import timedelta

import pytest
from allauth.mfa.models import Authenticator
from django.test import override_settings

from autotune.access.models import SecondFactorSecret
from autotune.core.crypto import reencryption
from autotune.core.models import DataKey
from tests.access.accounts.people import browser, code_of, confirm, is_in, log_in, logged_in, person, set_up
from tests.factories import ApiKeyFactory
from tests.support.markup import compact

pytestmark = pytest.mark.django_db


def test_with_a_second_factor_the_password_is_not_enough():
    user = person(is_staff=True, is_superuser=True)
    secret = set_up(logged_in(user))
    client = browser()
    assert log_in(client, user)["Location"] == "/account/code"
    assert not is_in(client)
    assert client.get("/admin/").status_code == 302
    assert client.get("/api/v1/tasks").status_code == 401
    assert client.post("/account/code", {"code": code_of(secret)})["Location"] == "/"
    assert is_in(client)
    assert client.get("/admin/").status_code == 200


def test_a_code_works_once():
    user = person()
    secret = set_up(logged_in(user))
    code = code_of(secret)
    first, second = browser(), browser()
    log_in(first, user)
    log_in(second, user)
    assert first.post("/account/code", {"code": code}).status_code == 302
    assert "Incorrect code" in second.post("/account/code", {"code": code}).content.decode()


def test_a_recovery_code_works_once():
    user = person()
    client = logged_in(user)
    set_up(client)
    codes = re.findall(r"<li>([0-9]{8})</li>", compact(client.get("/account/recovery-codes").content.decode()))
    assert len(codes) == 10
    for expected in (True, False):
        other = browser()
        log_in(other, user)
        other.post("/account/code", {"code": codes[0]})
        assert is_in(other) is expected


def test_its_secrets_are_encrypted_and_bound_to_the_person():
    user, rival = person(), person("rival@example.org")
    secret = set_up(logged_in(user))
    set_up(logged_in(rival))
    stored = {row.type: row for row in Authenticator.objects.filter(user=user)}
    assert secret not in str([row.data for row in stored.values()])
    kept = {str(pk): bytes(sealed) for pk, sealed in SecondFactorSecret.objects.values_list("pk", "secret")}
    assert stored["recovery_codes"].data["seed"].removeprefix("secret.") in kept
    assert all(secret.encode() not in sealed for sealed in kept.values())
    moved = Authenticator.objects.get(user=rival, type="totp")
    moved.data = stored["totp"].data
    moved.save()
    client = browser()
    log_in(client, rival)
    assert "Incorrect code" in client.post("/account/code", {"code": code_of(secret)}).content.decode()


@pytest.mark.usefixtures("committed_keys_only")
def test_reencryption_includes_its_secrets():
    user = person()
    secret = set_up(logged_in(user))
    before = {bytes(sealed)[1:17] for sealed in SecondFactorSecret.objects.values_list("secret", flat=True)}
    reencryption.start(settles_after=timedelta(0))
    while reencryption.work(share_s=30):
        pass
    after = {bytes(sealed)[1:17] for sealed in SecondFactorSecret.objects.values_list("secret", flat=True)}
    assert before & after == set()
    assert not DataKey.objects.exclude(retired_at=None).exists()
    client = browser()
    log_in(client, user)
    assert client.post("/account/code", {"code": code_of(secret)}).status_code == 302
    assert is_in(client)


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_turning_it_on_ends_the_sessions_that_were_opened_without_it():
    user = person()
    thief, client = logged_in(user), logged_in(user)
    set_up(client)
    assert is_in(client)
    assert not is_in(thief)


def test_changing_it_requires_the_password_again():
    client = logged_in(person())
    for path in ("/account/second-factor/on",):
        assert client.get(path)["Location"].startswith("/account/confirm?next=")
    set_up(client)
    fresh = logged_in(person("other@example.org"))
    assert fresh.get("/account/recovery-codes").status_code == 404


def test_its_owner_removes_it_with_the_password_or_a_code():
    user = person()
    client = logged_in(user)
    set_up(client)
    assert client.get("/account/second-factor/off").status_code == 200
    assert client.post("/account/second-factor/off").status_code == 302
    assert not Authenticator.objects.exists()
    assert not SecondFactorSecret.objects.exists()
    assert log_in(browser(), user)["Location"] == "/"


def test_an_admin_removes_it_on_the_admin_site():
    user = person()
    set_up(logged_in(user))
    boss = logged_in(person("boss@example.org", is_staff=True, is_superuser=True))
    for row in Authenticator.objects.filter(user=user):
        assert boss.post(f"/admin/mfa/authenticator/{row.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not SecondFactorSecret.objects.exists()
    assert log_in(browser(), user)["Location"] == "/"


# --- where it is required ---------------------------------------------------------------------------------------------


@override_settings(AUTOTUNE_REQUIRE_SECOND_FACTOR="all")
def test_where_it_is_required_pages_and_sessions_do_nothing_without_it():
    key = ApiKeyFactory()
    user = person()
    key.organization.membership_set.create(user=user, role=key.role)
    client = logged_in(user)
    for path in ("/account", "/account/password", "/admin/", "/reviews/rev_01jd0000000000000000000000"):
        assert client.get(path)["Location"].startswith("/account/second-factor/on?next="), path
    answer = client.get("/api/v1/tasks")
    assert (answer.status_code, answer.json()["code"]) == (403, "second_factor_required")
    assert client.get("/api/v1/tasks", headers={"Authorization": f"Bearer {key.text}"}).status_code == 200
    assert client.get("/")["Location"].startswith("/account/second-factor/on")
    set_up(client)
    assert is_in(client)
    assert client.get("/api/v1/tasks").status_code == 200


@override_settings(AUTOTUNE_REQUIRE_SECOND_FACTOR="admins")
def test_where_admins_need_it_that_means_staff_and_those_who_manage_members():
    reviewer, manager, staff = person(), person("m@example.org"), person("s@example.org", is_staff=True)
    ApiKeyFactory(user=reviewer, role="reviewer")
    ApiKeyFactory(user=manager, role="organization_admin")
    assert is_in(logged_in(reviewer))
    assert not is_in(logged_in(manager))
    assert not is_in(logged_in(staff))


def test_by_default_it_is_optional():
    assert is_in(logged_in(person(is_staff=True)))


def test_confirming_with_a_wrong_password_changes_nothing():
    client = logged_in(person())
    assert confirm(client, "not the right one").status_code == 200
    assert client.get("/account/second-factor/on").status_code == 302
