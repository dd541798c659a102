"""How throttling affects the API: headers on every response, 429 for one caller only, by key, session or address."""

from datetime import timedelta

import pytest
from django.test import Client

from autotune.access.models import Throttle
from autotune.access.principal import Principal
from autotune.access.throttling import throttles
from autotune.core.clock import database_now
from tests.factories import ApiKeyFactory, UserFactory

pytestmark = pytest.mark.django_db
HEADERS = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-Policy")


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def limit(settings):
    """`limit(keys=…, failures=…)`: rates a minute; in the database, so that no test knows of another's."""
    settings.REDIS_URL = ""

    def to(keys=0, failures=0):
        settings.KEY_RATE_PER_MINUTE, settings.FAILURE_RATE_PER_MINUTE = keys, failures

    return to


def refused(answer):
    assert (answer.status_code, answer.json()["code"]) == (429, "too_many_requests"), answer.content
    assert answer["Content-Type"] == "application/problem+json"
    assert 1 <= int(answer["Retry-After"]) <= 60
    return answer


def test_the_default_is_6000_a_minute_and_a_tenth_of_it_at_once(api, limit):
    limit(keys=6_000)
    answer = api.get("/tasks")
    assert [answer[name] for name in HEADERS] == ["600", "599", "1", "600;w=6"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/tasks", None, 200),
        ("POST", "/tasks", {"nonsense": 1}, 400),
        ("GET", "/tasks/task_01jd0000000000000000000000", None, 404),
        ("POST", "/graders", {}, 403),
        ("PUT", "/tasks", {}, 405),
        ("OPTIONS", "/tasks", None, 204),
        ("HEAD", "/tasks", None, 200),
    ],
)
def test_every_response_reports_the_remaining_requests(api, limit, method, path, body, status):
    limit(keys=100)
    answer = api.call(method, path, body)
    assert (answer.status_code, answer["RateLimit-Limit"], answer["RateLimit-Remaining"]) == (status, "10", "9")


def test_too_many_requests_of_a_key_are_429_and_other_keys_are_unaffected(api, limit):
    limit(keys=1)
    other = ApiKeyFactory(organization=api.organization, user=api.user, role="training_operator")
    assert api.get("/tasks").status_code == 200
    answer = refused(api.get("/tasks"))
    assert (answer["RateLimit-Limit"], answer["RateLimit-Remaining"]) == ("1", "0")
    assert answer["RateLimit-Policy"] == "1;w=60"
    assert 1 <= int(answer["RateLimit-Reset"]) <= 60
    assert api.get("/tasks", Authorization=f"Bearer {other.text}").status_code == 200


def test_a_refused_request_does_nothing(api, limit):
    limit(keys=1)
    api.get("/tasks")
    refused(api.call("POST", "/tasks", raw=b"\xff not read", Idempotency_Key="k"))


def test_requests_of_a_role_without_permissions_are_counted_too(api, limit):
    limit(keys=1)
    assert api.post("/graders", {}).status_code == 403
    refused(api.post("/graders", {}))


def test_zero_turns_it_off(api, limit):
    limit(keys=0)
    answers = [api.get("/tasks") for _ in range(3)]
    assert {answer.status_code for answer in answers} == {200}
    assert not any(name in answers[-1] for name in HEADERS)
    assert not Throttle.objects.exists()


def test_sessions_of_one_person_are_counted_together(api, limit):
    limit(keys=1)
    browsers = [Client(), Client()]
    for browser in browsers:
        browser.force_login(api.user)
    assert browsers[0].get("/api/v1/tasks").status_code == 200
    refused(browsers[1].get("/api/v1/tasks"))
    assert api.get("/tasks").status_code == 200  # the key has its own


def test_a_session_is_counted_by_person_and_organization(api_for):
    first, second = api_for(role="training_operator"), api_for(role="training_operator")
    names = {
        throttles.subject_of(Principal(organization, first.api_key.role, user))
        for organization in (first.organization, second.organization)
        for user in (first.user, UserFactory())
    }
    assert len(names) == 4
    assert max(map(len, names)) <= Throttle._meta.get_field("subject").max_length


def test_sixty_invalid_keys_a_minute_get_401_and_the_next_429(api, limit):
    limit(failures=60)
    wrong = {"Authorization": "Bearer at_live_nonsense"}
    answer = api.get("/tasks", **wrong)
    assert answer.status_code == 401
    assert [answer[name] for name in HEADERS] == ["60", "59", "1", "60;w=60"]
    Throttle.objects.update(arrives_at=database_now() + timedelta(seconds=90))  # as after the sixtieth, and slow tests
    answer = refused(api.get("/tasks", **wrong))
    assert "WWW-Authenticate" not in answer
    assert api.get("/tasks").status_code == 200  # a right key from the same address


def test_requests_without_any_key_are_failures_too(api, limit):
    limit(failures=2)
    stranger = Client()
    assert [stranger.get("/api/v1/tasks").status_code for _ in range(3)] == [401, 401, 429]
    assert stranger.get("/api/v1/tasks", REMOTE_ADDR="192.0.2.7").status_code == 401


def test_a_header_does_not_change_the_address_of_counted_failures(limit):
    limit(failures=2)
    stranger = Client()
    statuses = [stranger.get("/api/v1/tasks", HTTP_X_FORWARDED_FOR=f"192.0.2.{n}").status_code for n in range(3)]
    assert statuses == [401, 401, 429]


def test_behind_a_trusted_proxy_the_client_is_counted(limit, settings):
    settings.AUTOTUNE_TRUSTED_PROXIES = ["127.0.0.1/32"]
    limit(failures=1)
    stranger = Client()
    forwarded = ["192.0.2.1", "192.0.2.2", "spoofed, 192.0.2.1"]
    statuses = [stranger.get("/api/v1/tasks", HTTP_X_FORWARDED_FOR=text).status_code for text in forwarded]
    assert statuses == [401, 401, 429]


@pytest.mark.parametrize(
    ("address", "subject"),
    [
        ("192.0.2.7", "address:192.0.2.7"),
        ("::ffff:192.0.2.7", "address:192.0.2.7"),
        ("2001:db8:1:2:aaaa::1", "address:2001:db8:1:2::/64"),
        ("2001:db8:1:2:bbbb::2", "address:2001:db8:1:2::/64"),
        ("", "address:"),
        ("nonsense", "address:"),
    ],
)
def test_an_ipv6_address_is_counted_with_its_network(address, subject):
    assert throttles.subject_of_address(address) == subject


def test_open_endpoints_and_callbacks_are_not_counted(limit):
    limit(keys=1, failures=1)
    stranger = Client()
    for path in ("health", "health", "schema", "callbacks/nonsense", "callbacks/nonsense"):
        answer = stranger.generic("POST" if path.startswith("callbacks") else "GET", f"/api/v1/{path}")
        assert answer.status_code != 429
        assert "RateLimit-Limit" not in answer
    assert not Throttle.objects.exists()


@pytest.mark.redis
def test_with_redis_no_query_is_made(api, settings):
    settings.KEY_RATE_PER_MINUTE = 1
    assert [api.get("/tasks").status_code for _ in range(2)] == [200, 429]
    assert not Throttle.objects.exists()
