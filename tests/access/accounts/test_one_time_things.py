"""A thing for one use is used once, also by two clients at once, each with a thread and a connection of its own."""

import hashlib
import re
from datetime import timedelta

import pytest
from django.core import mail
from django.utils import timezone

from autotune.access.models import Membership, Role, User
from autotune.webhooks import endpoints
from tests.access.accounts.people import browser, code_of, is_in, log_in, logged_in, person, set_up
from tests.factories import OrganizationFactory, UserFactory, WebhookFactory
from tests.support.concurrency import together, until
from tests.support.markup import compact

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)
FRESH = "quite another four words"
OTHER = "yet another set of words"


def reset_forms(user, count):
    """`count` browsers that have opened the link of one mail: (client, address of the form)."""
    browser().post("/account/password/forgotten", {"email": user.email})
    [letter] = until(lambda: mail.outbox)
    link = re.search(r"http://localhost:8000(/account/password/reset/\S+)", letter.body)[1]
    clients = [browser() for _ in range(count)]
    return [(client, client.get(link)["Location"]) for client in clients]


def send(client, path, password):
    return lambda: client.post(path, {"password1": password, "password2": password})


def test_c34_a_password_link_works_in_one_of_two_browsers():
    user = person()
    (first, path), (second, _) = reset_forms(user, 2)
    answers = together(send(first, path, FRESH), send(second, path, OTHER))
    assert sorted(answer.status_code for answer in answers) == [200, 302]
    winner, loser = (FRESH, OTHER) if answers[0].status_code == 302 else (OTHER, FRESH)
    refused = next(answer for answer in answers if answer.status_code == 200)
    assert "no longer works" in refused.content.decode()
    stored = User.objects.get(pk=user.pk)
    assert (stored.check_password(winner), stored.check_password(loser)) == (True, False)


def test_c34_one_browser_that_sends_the_form_twice_sets_one_password():
    user = person()
    [(client, path)] = reset_forms(user, 1)
    other = browser()
    other.cookies = client.cookies
    answers = together(send(client, path, FRESH), send(other, path, FRESH))
    assert 302 in {answer.status_code for answer in answers}
    assert User.objects.get(pk=user.pk).check_password(FRESH)


def test_an_invalid_form_does_not_use_up_the_link():
    user = person()
    [(client, path)] = reset_forms(user, 1)
    assert client.post(path, {"password1": "short", "password2": "short"}).status_code == 200
    assert send(client, path, FRESH)().status_code == 302
    assert User.objects.get(pk=user.pk).check_password(FRESH)


def test_c34_the_code_that_confirmed_the_setup_cannot_log_in():
    user = person()
    client = logged_in(user)
    client.post("/account/confirm", {"password": "four words make sense"})
    page = client.get("/account/second-factor/on").content.decode()
    secret = re.search(r'class="secret">([A-Z2-7]+)<', page)[1]
    code = code_of(secret)
    assert client.post("/account/second-factor/on", {"code": code}).status_code == 302
    thief = browser()
    log_in(thief, user)
    thief.post("/account/code", {"code": code})
    assert not is_in(thief)
    thief.post("/account/code", {"code": code_of(secret, steps=1)})  # the next code is still valid
    assert is_in(thief)


def test_c34_a_code_logs_in_one_of_two_browsers():
    user = person()
    secret = set_up(logged_in(user))
    clients = [browser(), browser()]
    for client in clients:
        log_in(client, user)
    code = code_of(secret, steps=1)
    together(*[lambda client=client: client.post("/account/code", {"code": code}) for client in clients])
    assert sorted(is_in(client) for client in clients) == [False, True]


def test_c34_a_recovery_code_logs_in_one_of_two_browsers():
    user = person()
    client = logged_in(user)
    set_up(client)
    [code, *_] = re.findall(r"<li>([0-9]{8})</li>", compact(client.get("/account/recovery-codes").content.decode()))
    clients = [browser(), browser()]
    for client in clients:
        log_in(client, user)
    together(*[lambda client=client: client.post("/account/code", {"code": code}) for client in clients])
    assert sorted(is_in(client) for client in clients) == [False, True]


def test_c34_one_of_two_concurrent_acceptances_creates_the_account():
    token = "t" * 43
    organization, inviter = OrganizationFactory(), UserFactory()
    roles = {name: Role.objects.get(organization=None, name=name) for name in ("organization_admin", "reviewer")}
    Membership.objects.create(organization=organization, user=inviter, role=roles["organization_admin"])
    Membership.objects.create(
        organization=organization, email="new@example.org", role=roles["reviewer"], invited_by=inviter,
        token_digest=hashlib.sha256(token.encode()).digest(), expires_at=timezone.now() + timedelta(days=7),
    )  # fmt: skip
    path = f"/invitations/{token}"
    forms = [{"name": name, "password": word} for name, word in (("A", FRESH), ("B", OTHER))]
    answers = together(*[lambda form=form: browser().post(path, form) for form in forms])
    assert all(answer.status_code in (302, 404) for answer in answers)
    [user] = User.objects.filter(email="new@example.org")
    assert Membership.objects.filter(user=user).count() == 1
    assert [user.check_password(FRESH), user.check_password(OTHER)].count(True) == 1


def test_c34_one_of_two_concurrent_rotations_of_a_webhook_secret_is_refused():
    webhook = WebhookFactory()

    def rotate():
        try:
            return endpoints.rotate(webhook.pk).secret
        except endpoints.Conflict as exc:
            return exc.code

    outcomes = together(rotate, rotate)
    assert outcomes.count("rotation_in_progress") == 1
