"""Who asks: an API key as a bearer, or the web session with its CSRF token. Nothing else lets anybody in."""

import http.client
import logging
from urllib.parse import urlsplit

import pytest
from django.middleware.csrf import get_token
from django.test import Client, RequestFactory

from autotune.access.models import Membership, Organization, Role, User
from tests.factories import GraderFactory, OrganizationFactory, TaskFactory, UserFactory

pytestmark = pytest.mark.django_db
ROUTE = "/api/v1/tasks"


@pytest.fixture
def api(api_for):
    return api_for()


def refused(answer, status=401, code="unauthenticated"):
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.content
    assert answer["Content-Type"] == "application/problem+json"
    if status == 401:
        assert answer["WWW-Authenticate"] == 'Bearer realm="autotune"'
    return answer.json()


def test_a_bearer_key_is_accepted(api):
    for scheme in ("Bearer", "bearer", "BEARER"):
        assert api.get("/tasks", Authorization=f"{scheme} {api.key}").status_code == 200


def test_without_a_key_it_is_401(api):
    api.key = None
    refused(api.get("/tasks"))
    refused(api.post("/tasks", {"nonsense": 1}))
    refused(api.delete("/tasks/task_01jd0000000000000000000000"))


HEADERS = {
    "empty": "",
    "spaces": "   ",
    "only the scheme": "Bearer",
    "empty key": "Bearer ",
    "no scheme": "{key}",
    "another scheme": "Basic {key}",
    "a made-up scheme": "Token {key}",
    "two spaces": "Bearer  {key}",
    "a tab": "Bearer\t{key}",
    "a space behind": "Bearer {key} ",
    "twice in one": "Bearer {key},Bearer {key}",
    "two keys": "Bearer {key} {key}",
    "NUL": "Bearer {key}\x00",
    "other case": "Bearer {upper}",
    "not ASCII": "Bearer \xe9\xe9",
    "not ASCII digits": "Bearer at_live_\u0660",
    "long": "Bearer " + "x" * 2**20,
    "long and like a key": "Bearer {key}" + "a" * 2**20,
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS.keys())
def test_any_other_header_is_401_and_never_echoed(api, header):
    text = header.replace("{key}", api.key).replace("{upper}", api.key.upper())
    body = refused(api.get("/tasks", Authorization=text))
    assert api.key not in str(body)


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_two_authorization_headers_are_401(live_server, api):
    connection = http.client.HTTPConnection(urlsplit(live_server.url).netloc)
    for first, second in ((api.key, api.key), (api.key, "other"), ("other", api.key)):
        connection.putrequest("GET", ROUTE)
        connection.putheader("Authorization", f"Bearer {first}")
        connection.putheader("Authorization", f"Bearer {second}")
        connection.endheaders()
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 401
    connection.close()


@pytest.mark.parametrize("name", ["key", "api_key", "apiKey", "token", "access_token", "authorization"])
def test_a_key_in_the_query_is_not_accepted_nor_logged(api, caplog, name):
    key, api.key = api.key, None
    with caplog.at_level(logging.DEBUG):
        body = refused(api.get(f"/tasks?{name}={key}"))
        assert key not in str(body)
        api.key = key
        body = refused(api.get(f"/tasks?{name}={key}"), 400, "invalid_request")
        assert key not in str(body)
    assert key not in caplog.text


def test_a_key_in_another_header_or_a_cookie_is_not_accepted(api):
    key, api.key = api.key, None
    refused(api.get("/tasks", X_API_Key=key))
    refused(api.get("/tasks", Cookie=f"key={key}; sessionid={key}"))


def test_basic_authentication_with_a_password_is_not_accepted(api):
    User.objects.create_user("basic@example.org", "a-long-password-of-mine")
    refused(api.get("/tasks", Authorization="Basic YmFzaWNAZXhhbXBsZS5vcmc6YS1sb25nLXBhc3N3b3JkLW9mLW1pbmU="))


def test_the_migrations_create_no_user():
    assert (User.objects.count(), Organization.objects.count()) == (0, 0)
    assert set(Role.objects.values_list("organization", flat=True)) == {None}


# --- the web session ------------------------------------------------------------------------------------------------


@pytest.fixture
def person():
    membership = Membership.objects.create(
        organization=OrganizationFactory(),
        user=UserFactory(),
        role=Role.objects.get(organization=None, name="organization_admin"),
    )
    membership.user.organization = membership.organization
    return membership.user


@pytest.fixture
def browser(person):
    client = Client(enforce_csrf_checks=True)
    client.force_login(person)
    return client


@pytest.fixture
def token():
    """A CSRF token with its cookie."""
    request = RequestFactory().get("/")
    get_token(request)
    return request.META["CSRF_COOKIE"]


@pytest.fixture
def body(person):
    grader = GraderFactory(organization=person.organization)
    return {"name": "T", "promptTemplate": "{{q}}", "graderId": grader.public_id}


def test_a_session_reads_without_a_token(browser, person):
    task = TaskFactory(organization=person.organization)
    TaskFactory()
    assert [row["id"] for row in browser.get(ROUTE).json()["tasks"]] == [task.public_id]


def test_a_session_writes_only_with_the_csrf_token(browser, body, token):
    refused(browser.post(ROUTE, body, content_type="application/json"), 403, "forbidden")
    browser.cookies["csrftoken"] = token
    refused(browser.post(ROUTE, body, content_type="application/json"), 403, "forbidden")
    wrong = {"X-CSRFToken": "x" * 32}
    refused(browser.post(ROUTE, body, content_type="application/json", headers=wrong), 403, "forbidden")
    right = {"X-CSRFToken": token}
    assert browser.post(ROUTE, body, content_type="application/json", headers=right).status_code == 201


@pytest.mark.parametrize("kind", ["multipart/form-data; boundary=x", "application/x-www-form-urlencoded"])
def test_a_form_with_a_session_is_415_and_not_read_as_a_body(browser, token, kind):
    browser.cookies["csrftoken"] = token
    form = b'--x\r\nContent-Disposition: form-data; name="csrfmiddlewaretoken"\r\n\r\n%b\r\n--x--\r\n' % token.encode()
    answer = browser.post(ROUTE, form, content_type=kind, headers={"X-CSRFToken": token})
    refused(answer, 415, "unsupported_media_type")


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil.example"])
def test_a_session_of_another_origin_is_refused_even_with_the_token(browser, body, token, origin):
    browser.cookies["csrftoken"] = token
    headers = {"X-CSRFToken": token, "Origin": origin}
    refused(browser.post(ROUTE, body, content_type="application/json", headers=headers), 403, "forbidden")
    assert not any(name.startswith("Access-Control") for name in browser.get(ROUTE, headers=headers).headers)


def test_a_key_needs_neither_session_nor_token(api):
    client = Client(enforce_csrf_checks=True)
    headers = {"Authorization": f"Bearer {api.key}", "Origin": "https://anywhere.example"}
    answer = client.post(ROUTE, {}, content_type="application/json", headers=headers)
    assert answer.status_code == 400  # read, not refused


def test_a_key_takes_precedence_over_a_session(browser, person, api):
    mine, theirs = TaskFactory(organization=api.organization), TaskFactory(organization=person.organization)
    tasks = browser.get(ROUTE, headers={"Authorization": f"Bearer {api.key}"}).json()["tasks"]
    assert [task["id"] for task in tasks] == [mine.public_id] != [theirs.public_id]


def test_a_session_does_not_replace_an_invalid_key(browser):
    refused(browser.get(ROUTE, headers={"Authorization": "Bearer nonsense"}))


def test_a_session_without_a_membership_is_403():
    client = Client()
    client.force_login(UserFactory())
    refused(client.get(ROUTE), 403, "forbidden")


def test_a_session_ends_with_its_person_membership_or_organization(browser, person):
    assert browser.get(ROUTE).status_code == 200
    Organization.objects.update(suspended=True)
    refused(browser.get(ROUTE), 403, "forbidden")
    Organization.objects.update(suspended=False)
    Membership.objects.all().delete()
    refused(browser.get(ROUTE), 403, "forbidden")
    User.objects.update(is_active=False)
    refused(browser.get(ROUTE))


def test_a_session_has_the_role_of_the_membership(browser, person, token):
    Membership.objects.update(role=Role.objects.get(organization=None, name="reviewer"))
    browser.cookies["csrftoken"] = token
    assert browser.get(ROUTE).status_code == 200
    answer = browser.post(ROUTE, {}, content_type="application/json", headers={"X-CSRFToken": token})
    assert "reviewer" in refused(answer, 403, "forbidden")["detail"]


def test_a_superuser_has_no_more_rights_in_the_api_than_the_role(browser, person):
    User.objects.update(is_superuser=True, is_staff=True)
    TaskFactory()
    assert browser.get(ROUTE).json()["tasks"] == []
