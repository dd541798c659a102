"""What is believed of a provider's claims: an email is verified by who names it."""

import pytest

from autotune.access.accounts.oidc import profile

CLAIMS = {"sub": "1", "email": "ada@example.org", "email_verified": True}


@pytest.mark.parametrize(
    ("userinfo", "email", "verified"),
    [
        ({}, "ada@example.org", True),
        ({"email": "ada@example.org"}, "ada@example.org", True),
        ({"email": "victim@example.org"}, "victim@example.org", False),
        ({"email": "ada.new@example.org", "email_verified": True}, "ada.new@example.org", True),
        ({"email": "ada@example.org", "email_verified": False}, "ada@example.org", False),
    ],
)
def test_an_email_is_verified_by_the_answer_that_names_it(userinfo, email, verified):
    claims = profile(CLAIMS, {"sub": "1", **userinfo})
    assert (claims["email"], claims["email_verified"]) == (email, verified)
