"""What the tests of the account pages have in common: people who log in, and their codes."""

import re
import time

from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.test import Client

from autotune.access.models import User

PASSWORD = "four words make sense"
LOGIN = "/account/login"


def person(email="someone@example.org", **fields):
    user = User(email=email, name=fields.pop("name", "Some One"), **fields)
    user.set_password(PASSWORD)
    user.save()
    return user


def browser(**headers):
    return Client(raise_request_exception=False, headers=headers or None)


def log_in(client, user, password=PASSWORD, **more):
    return client.post(LOGIN, {"login": user.email, "password": password, **more})


def logged_in(user, **headers):
    client = browser(**headers)
    answer = log_in(client, user)
    assert answer.status_code == 302, answer.content.decode()
    return client


def code_of(secret, *, steps=0):
    """What an authenticator app shows for the secret, `steps` half-minutes from now."""
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30 + steps))


def confirm(client, password=PASSWORD):
    """Enter the password again, as changes of the second factor require."""
    return client.post("/account/confirm", {"password": password})


def set_up(client):
    """Turn the second factor on; its secret."""
    confirm(client)
    page = client.get("/account/second-factor/on")
    assert page.status_code == 200, page.get("Location", page.content[:300])
    secret = re.search(r'class="secret">([A-Z2-7]+)<', page.content.decode())[1]
    previous_code = code_of(secret, steps=-1)  # so that the current one is not used up
    answer = client.post("/account/second-factor/on", {"code": previous_code})
    assert answer.status_code == 302, answer.content.decode()
    return secret


def is_in(client):
    return client.get("/account").status_code == 200
