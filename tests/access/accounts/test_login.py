"""Logging in by email and password, and who does not get in."""

import pytest

from autotune.access.models import User
from tests.access.accounts.people import LOGIN, PASSWORD, browser, is_in, log_in, logged_in, person

pytestmark = pytest.mark.django_db


def test_login_accepts_the_email_in_any_case_and_leads_to_the_overview():
    user, client = person(), browser()
    answer = client.post(LOGIN, {"login": "SomeOne@Example.ORG", "password": PASSWORD})
    assert (answer.status_code, answer["Location"]) == (302, "/")
    page = client.get("/account")
    assert user.email in page.content.decode()
    cookie = client.cookies["sessionid"]
    assert (cookie["httponly"], cookie["samesite"], cookie["max-age"]) == (True, "Lax", 12 * 3600)


def test_the_session_gets_a_new_key_at_login():
    client = browser()
    client.get(LOGIN)
    session = client.session
    session["planted"] = "x"
    session.save()
    before = session.session_key
    client.cookies["sessionid"] = before
    log_in(client, person())
    assert client.session.session_key != before


@pytest.mark.parametrize(
    "next_url",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "javascript:alert(1)",
        "http:evil.example",
        "https://testserver/x",
    ],
)
def test_next_never_leads_to_another_site(next_url):
    answer = log_in(browser(), person(), next=next_url)
    assert (answer.status_code, answer["Location"]) == (302, "/")


def test_next_leads_to_a_page_of_ours():
    user = person(is_staff=True)
    client = browser()
    door = client.get("/admin/access/user/", follow=True)
    assert door.redirect_chain[-1][0] == "/account/login?next=%2Fadmin%2Faccess%2Fuser%2F"
    assert 'name="next" value="/admin/access/user/"' in door.content.decode()
    assert log_in(client, user, next="/admin/access/user/")["Location"] == "/admin/access/user/"


def test_the_login_form_of_the_admin_site_is_closed():
    user, client = person(is_staff=True, is_superuser=True), browser()
    body = {"username": user.email, "password": PASSWORD, "next": "/admin/"}
    assert client.post("/admin/login/", body)["Location"].startswith("/account/login?next=")
    assert not is_in(client)
    assert client.get("/admin/password_change/")["Location"] == "/account/password"


def test_a_person_without_access_to_the_administration_gets_an_explanation_and_not_a_login_form():
    answer = logged_in(person()).get("/admin/", follow=True)
    assert answer.status_code == 403
    assert "No access to the administration" in answer.content.decode()


def test_unknown_email_wrong_password_and_no_password_get_the_same_answer():
    member = person()
    person("sso@example.org").set_unusable_password()
    User.objects.filter(email="sso@example.org").update(password="!")
    pages = []
    for email in (member.email, "nobody@example.org", "sso@example.org"):
        answer = browser().post(LOGIN, {"login": email, "password": "a wrong password"})
        assert answer.status_code == 200
        pages.append(without_tokens(answer, email))
    assert pages[0] == pages[1] == pages[2]
    assert "not correct" in pages[0]


def test_only_the_right_password_reveals_that_an_account_is_deactivated():
    user = person(is_active=False)
    assert log_in(browser(), user)["Location"] == "/account/inactive"
    assert "not correct" in log_in(browser(), user, "a wrong password").content.decode()


def test_hostile_logins_are_refused_as_forms():
    for name in ("\0", "a\0@example.org", "x" * 5_000, "' or 1=1--", "a@b\r\nBcc: c@d", "é@é.é", ""):
        answer = browser().post(LOGIN, {"login": name, "password": "p\0"})
        assert answer.status_code == 200, name


def test_nobody_signs_up_without_an_invitation():
    client = browser()
    page = client.get("/account/join")
    assert "needs an invitation" in page.content.decode()
    client.post("/account/join", {"email": "new@example.org", "password1": PASSWORD})
    assert not User.objects.filter(email="new@example.org").exists()


def test_logging_out_takes_a_post_and_ends_the_session():
    client = logged_in(person())
    key = client.session.session_key
    assert client.get("/account/logout").status_code == 200
    assert is_in(client)
    assert client.post("/account/logout").status_code == 302
    client.cookies["sessionid"] = key
    assert not is_in(client)


def test_a_form_without_its_token_is_refused_with_a_page():
    from django.test import Client

    answer = Client(enforce_csrf_checks=True).post(LOGIN, {"login": "a@b.c", "password": "x"})
    assert answer.status_code == 403
    assert "did not come from this site" in answer.content.decode()


def without_tokens(answer, email):
    import re

    html = re.sub(r'name="csrfmiddlewaretoken" value="[^"]+"', "", answer.content.decode())
    return html.replace(email, "(email)")
