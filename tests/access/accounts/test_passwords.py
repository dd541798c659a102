"""Passwords: what is taken, changing and forgetting them, and what becomes of sessions."""

import re

import pytest
from django.core import mail

from autotune.access.models import User
from tests.access.accounts.people import PASSWORD, browser, is_in, log_in, logged_in, person
from tests.support.concurrency import until

pytestmark = pytest.mark.django_db
FRESH = "another sentence of mine"
FORGOTTEN = "/account/password/forgotten"


def change(client, new, old=PASSWORD):
    return client.post("/account/password", {"oldpassword": old, "password1": new, "password2": new})


@pytest.mark.parametrize(
    ("password", "fault"),
    [
        ("short of 12", "too short"),
        ("password1234", "too common"),
        ("someone@example", "too similar"),
        ("827364519283746", "entirely numeric"),
        ("x" * 11, "too short"),
    ],
)
def test_a_weak_password_is_refused_with_the_reason(password, fault):
    user = person()
    answer = change(logged_in(user), password)
    assert answer.status_code == 200
    assert fault in answer.content.decode()
    user.refresh_from_db()
    assert user.check_password(PASSWORD)


def test_changing_the_password_ends_every_other_session():
    user = person()
    other, client = logged_in(user), logged_in(user)
    assert change(client, FRESH)["Location"] == "/account"
    assert is_in(client)
    assert not is_in(other)
    assert log_in(browser(), user, FRESH).status_code == 302


def test_changing_the_password_requires_the_current_one():
    client = logged_in(person())
    assert change(client, FRESH, old="not the right one").status_code == 200


def test_a_deactivated_persons_session_ends_at_once():
    user = person()
    client = logged_in(user)
    User.objects.filter(pk=user.pk).update(is_active=False)
    assert not is_in(client)
    assert client.get("/api/v1/tasks").status_code == 401


def test_a_password_set_by_an_admin_ends_the_sessions():
    user = person()
    client = logged_in(user)
    user.set_password(FRESH)
    user.save()
    assert not is_in(client)


def letters():
    return until(lambda: list(mail.outbox))


def test_a_link_to_replace_a_forgotten_password_works_once_and_ends_the_sessions():
    user = person()
    stale = logged_in(user)
    client = browser()
    assert client.post(FORGOTTEN, {"email": "SOMEONE@example.org"}).status_code == 302
    (letter,) = letters()
    assert letter.to == [user.email]
    link = re.search(r"http://localhost:8000(/account/password/reset/\S+)", letter.body)[1]
    form = client.get(link, follow=True)
    assert "set-password" in form.redirect_chain[-1][0]
    done = client.post(form.redirect_chain[-1][0], {"password1": FRESH, "password2": FRESH})
    assert done["Location"] == "/account/password/done"
    assert not is_in(client)
    assert not is_in(stale)
    assert "no longer works" in browser().get(link).content.decode()
    assert log_in(browser(), user, FRESH).status_code == 302


def test_asking_for_an_unknown_email_gets_the_same_answer_and_no_mail():
    person()
    answer_to_person = browser().post(FORGOTTEN, {"email": "someone@example.org"})
    unknown = browser().post(FORGOTTEN, {"email": "nobody@example.org"})
    assert (answer_to_person.status_code, answer_to_person["Location"]) == (unknown.status_code, unknown["Location"])
    assert [letter.to for letter in letters()] == [["someone@example.org"]]


def test_an_unavailable_mail_server_causes_no_error_page(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    person()
    assert browser().post(FORGOTTEN, {"email": "someone@example.org"}).status_code == 302


def test_the_link_uses_the_public_address_whatever_host_the_request_named(settings):
    settings.ALLOWED_HOSTS = ["*"]
    person()
    browser().post(FORGOTTEN, {"email": "someone@example.org"}, headers={"Host": "evil.example"})
    (letter,) = letters()
    assert "evil.example" not in letter.body
    assert f"{settings.PUBLIC_URL}/account/password/reset/" in letter.body


def test_one_mailbox_gets_three_links_an_hour():
    person()
    statuses = [browser().post(FORGOTTEN, {"email": "someone@example.org"}).status_code for _ in range(4)]
    assert statuses == [302, 302, 302, 429]


def test_a_first_password_is_set_by_a_mailed_link_and_not_by_a_session():
    user = person()
    User.objects.filter(pk=user.pk).update(password="!")
    client = browser()
    client.force_login(User.objects.get(pk=user.pk), backend="allauth.account.auth_backends.AuthenticationBackend")
    assert client.get("/account/password")["Location"] == "/account/password/new"
    assert client.post("/account/password/new", {"password1": FRESH, "password2": FRESH})["Location"] == FORGOTTEN
    assert not User.objects.get(pk=user.pk).has_usable_password()
    client.post(FORGOTTEN, {"email": user.email})
    assert letters()[0].to == [user.email]
