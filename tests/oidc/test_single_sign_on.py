"""Single sign-on against a real provider: who gets in, who does not and why, and what is not believed."""

import hashlib
from datetime import timedelta

import pytest
from allauth.socialaccount.models import SocialAccount, SocialToken
from django.utils import timezone

from autotune.access.models import Membership, Role, User
from tests.access.accounts.people import browser, code_of, is_in, logged_in, person, set_up
from tests.factories import OrganizationFactory, UserFactory
from tests.oidc.conftest import consent, depart

pytestmark = [pytest.mark.processes, pytest.mark.django_db]


def invite(email):
    organization, inviter = OrganizationFactory(), UserFactory()
    roles = {name: Role.objects.get(organization=None, name=name) for name in ("organization_admin", "reviewer")}
    Membership.objects.create(organization=organization, user=inviter, role=roles["organization_admin"])
    return Membership.objects.create(
        organization=organization, email=email, role=roles["reviewer"], invited_by=inviter,
        token_digest=hashlib.sha256(email.encode()).digest(), expires_at=timezone.now() + timedelta(days=7),
    )  # fmt: skip


def test_a_verified_email_leads_to_the_person_who_has_it(arrive):
    user = person("ada@example.org")
    client, answer = arrive("ada")
    assert (answer.status_code, answer["Location"]) == (302, "/")
    page = client.get("/account").content.decode()
    assert user.email in page
    assert "Example ID" in page
    account = SocialAccount.objects.get()
    assert (account.user, account.uid, account.extra_data) == (user, "ada", {})
    assert not SocialToken.objects.exists()


def test_after_the_first_login_the_subject_identifies_the_person(arrive):
    user = person("ada@example.org")
    arrive("ada")
    User.objects.filter(pk=user.pk).update(email="ada.new@example.org")
    person("ada@example.org")
    client, _ = arrive("ada")
    assert "ada.new@example.org" in client.get("/account").content.decode()


def test_an_invited_person_becomes_a_member_and_others_learn_what_to_do(arrive):
    client, answer = arrive("ada")
    assert answer.status_code == 403
    assert "not invited yet" in answer.content.decode()
    assert not User.objects.filter(email="ada@example.org").exists()
    invited = invite("ada@example.org")
    client, answer = arrive("ada")
    assert answer["Location"] == "/"
    invited.refresh_from_db()
    assert (invited.user.email, invited.user.name, invited.token_digest) == ("ada@example.org", "Ada Example", None)
    assert not invited.user.has_usable_password()
    assert invited.organization.name in client.get("/account").content.decode()


@pytest.mark.parametrize(("subject", "email"), [("uma", "uma@example.org"), ("sly", "victim@example.org"), ("nil", "")])
def test_an_unverified_email_is_refused(arrive, subject, email):
    if email:
        person(email)
        invite("x@example.org")
    client, answer = arrive(subject)
    assert answer.status_code == 403
    assert "not confirmed" in answer.content.decode()
    assert not is_in(client)
    assert not SocialAccount.objects.exists()


def test_a_deactivated_person_cannot_log_in(arrive):
    user = person("ada@example.org")
    arrive("ada")
    User.objects.filter(pk=user.pk).update(is_active=False)
    client, answer = arrive("ada")
    assert answer.status_code == 403
    assert "deactivated" in answer.content.decode()
    assert not is_in(client)


def test_it_does_not_bypass_the_second_factor(arrive):
    user = person("ada@example.org")
    secret = set_up(logged_in(user))
    client, answer = arrive("ada")
    assert answer["Location"] == "/account/code"
    assert not is_in(client)
    client.post("/account/code", {"code": code_of(secret)})
    assert is_in(client)


def test_a_person_without_a_password_can_set_up_a_second_factor(arrive):
    invite("ada@example.org")
    client, _ = arrive("ada")
    assert client.get("/account/second-factor/on").status_code == 200
    set_up(client)
    assert arrive("ada")[1]["Location"] == "/account/code"


def test_next_leads_only_to_own_pages(arrive):
    person("ada@example.org", is_staff=True)
    assert arrive("ada", next="/admin/")[1]["Location"] == "/admin/"
    assert arrive("ada", next="https://evil.example/")[1]["Location"] == "/"


def test_the_callback_works_once_and_only_in_the_same_browser(provider):
    person("ada@example.org")
    client = browser()
    back = consent(depart(client), "ada")
    thief = browser()
    assert thief.get(back).status_code == 401
    assert not is_in(thief)
    assert client.get(back).status_code == 302
    client.post("/account/logout")
    assert client.get(back).status_code == 401
    assert not is_in(client)


def test_an_invented_state_or_code_is_refused(provider):
    for query in ("", "?code=x", "?state=x&code=y", "?error=access_denied&state=x", "?state=%00&code=%00"):
        assert browser().get(f"/account/sso/callback{query}").status_code == 401, query
    client = browser()
    depart(client)
    state = next(iter(client.session["socialaccount_states"]))
    assert client.get(f"/account/sso/callback?state={state}&code=made-up").status_code == 401


def test_cancelling_at_the_provider_is_explained(provider):
    client = browser()
    depart(client)
    state = next(iter(client.session["socialaccount_states"]))
    answer = client.get(f"/account/sso/callback?state={state}&error=access_denied", follow=True)
    assert "cancelled" in answer.content.decode()


def test_starting_a_login_requires_a_post_with_fixed_parameters(provider):
    assert browser().get("/account/sso/login").status_code == 405
    url = depart(browser(), process="connect", scope="admin", auth_params="prompt=none")
    assert "prompt" not in url
    assert "admin" not in url
    assert "code_challenge_method=S256" in url


def test_a_wrong_secret_and_another_issuer_are_an_error_page(provider, trust, settings):
    person("ada@example.org")
    client = browser()
    url = depart(client)
    trust(provider, secret="wrong")
    assert client.get(consent(url, "ada")).status_code == 401
    settings.AUTOTUNE_OIDC_ISSUER = "https://another.example"
    assert browser().post("/account/sso/login").status_code == 401


def test_an_unavailable_or_forbidden_provider_causes_an_error_page(start, provider, settings):
    settings.AUTOTUNE_OUTBOUND_ALLOW_IDENTITY = ()
    assert browser().post("/account/sso/login").status_code == 401
    start.process.kill()
    start.process.wait()
    assert browser().post("/account/sso/login").status_code == 401


def test_without_configuration_single_sign_on_is_absent(db):
    assert browser().post("/account/sso/login").status_code == 404
    assert browser().get("/account/sso/callback?code=x").status_code == 404
    assert "Log in with" not in browser().get("/account/login").content.decode()
