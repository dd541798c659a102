"""Guessing: passwords and codes are locked after some failures, and the lock ends by itself."""

from datetime import timedelta

import pytest
import time_machine
from axes.models import AccessAttempt
from django.core.cache import cache
from django.utils import timezone

from tests.access.accounts.people import LOGIN, PASSWORD, browser, code_of, is_in, log_in, logged_in, person, set_up

pytestmark = pytest.mark.django_db
WRONG = "not the right password"


def test_the_fifth_failure_locks_out_even_the_right_password_for_15_minutes():
    user = person()
    answers = [log_in(browser(), user, WRONG).status_code for _ in range(5)]
    assert answers == [200, 200, 200, 200, 429]
    locked = log_in(browser(), user)
    assert locked.status_code == 429
    assert "15 minutes" in locked.content.decode()
    with time_machine.travel(timezone.now() + timedelta(minutes=14), tick=False):
        assert log_in(browser(), user).status_code == 429
    with time_machine.travel(timezone.now() + timedelta(minutes=16), tick=False):
        assert log_in(browser(), user).status_code == 302


def test_a_lock_applies_to_one_address_so_a_guesser_cannot_lock_the_person_out():
    user = person()
    for _ in range(5):
        log_in(browser(), user, WRONG)
    elsewhere = browser()
    elsewhere.defaults["REMOTE_ADDR"] = "198.51.100.7"
    assert log_in(elsewhere, user).status_code == 302


def test_an_unknown_login_is_locked_in_the_same_way():
    body = {"login": "nobody@example.org", "password": WRONG}
    assert [browser().post(LOGIN, body).status_code for _ in range(5)][-1] == 429


def test_a_different_header_does_not_count_as_another_address():
    user = person()
    for n in range(5):
        log_in(browser(X_Forwarded_For=f"198.51.100.{n}", User_Agent=f"agent {n}"), user, WRONG)
    assert log_in(browser(X_Forwarded_For="203.0.113.9"), user).status_code == 429


def test_from_many_addresses_one_login_is_guessed_twenty_times_an_hour():
    user = person()
    statuses = []
    for n in range(25):
        client = browser()
        client.defaults["REMOTE_ADDR"] = f"198.51.100.{n}"
        statuses.append("Too many failed" in log_in(client, user, WRONG).content.decode())
    assert statuses == [False] * 20 + [True] * 5


def test_success_forgets_the_failures():
    user = person()
    for _ in range(2):
        for _ in range(4):
            log_in(browser(), user, WRONG)
        logged_in(user)
    assert not AccessAttempt.objects.exists()


def test_a_failure_stores_neither_the_password_nor_other_typed_text():
    log_in(browser(), person(), "a-secret-password")
    browser().post(LOGIN, {"login": "a-secret-in-the-wrong-field", "password": "x"})
    kept = str(list(AccessAttempt.objects.values()))
    assert "someone@example.org" in kept
    assert "secret" not in kept


def test_ten_wrong_codes_in_ten_minutes_are_the_limit_across_sessions():
    user = person()
    secret = set_up(logged_in(user))
    for _ in range(10):
        client = browser()
        log_in(client, user)
        assert "Incorrect code" in client.post("/account/code", {"code": "000000"}).content.decode()
    client = browser()
    log_in(client, user)
    answer = client.post("/account/code", {"code": code_of(secret)})
    assert "Too many failed" in answer.content.decode()
    assert not is_in(client)
    with time_machine.travel(timezone.now() + timedelta(minutes=11), tick=False):
        again = browser()
        log_in(again, user)
        again.post("/account/code", {"code": code_of(secret)})
        assert is_in(again)


def test_a_password_is_not_guessed_by_a_session_that_was_left_open():
    client = logged_in(person())
    statuses = [client.post("/account/confirm", {"password": WRONG}).status_code for _ in range(6)]
    assert 429 in statuses
    assert client.post("/account/confirm", {"password": PASSWORD}).status_code == 429


def test_counts_are_kept_where_all_processes_see_them():
    assert type(cache._connections[cache._alias]).__name__ == "DatabaseCache"


def test_c33_failed_logins_of_made_up_names_are_forgotten():
    """Each name that is tried leaves a row; the next failure deletes the rows whose lock is over."""
    for n in range(4):
        browser().post(LOGIN, {"login": f"nobody{n}@example.org", "password": WRONG})
    assert AccessAttempt.objects.count() == 4
    with time_machine.travel(timezone.now() + timedelta(minutes=16), tick=False):
        browser().post(LOGIN, {"login": "somebody@example.org", "password": WRONG})
    assert [row.username for row in AccessAttempt.objects.all()] == ["somebody@example.org"]
