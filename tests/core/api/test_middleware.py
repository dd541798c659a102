"""What every request passes: its id, the proxies that are believed, the limits on a body, the names of the host."""

import ipaddress

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory

from autotune.core.api.middleware import TrustedProxyMiddleware
from tests.core.api.test_problems import problem

ROUTE = "/api/v1/tasks"
JSON = "application/json"


class Unread:
    """A body that must not be read."""

    def read(self, *_):
        raise AssertionError("the body was read")

    readline = read


class Cut:
    """A body whose connection breaks."""

    def read(self, *_):
        raise OSError("connection reset by peer")

    readline = read


@pytest.fixture
def client():
    return Client(raise_request_exception=False)


@pytest.fixture
def api(api_for):
    return api_for()


# --- request ids ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("request_id", ["a", "A-b_9", "x" * 64])
def test_a_valid_request_id_is_returned(client, request_id):
    for path in ("/", "/api/v1/health", "/api/v1/nowhere", "/nowhere", "/static/css/site.css"):
        assert client.get(path, headers={"X-Request-Id": request_id})["X-Request-Id"] == request_id


@pytest.mark.parametrize("request_id", ["", " ", "x" * 65, "a b", "a\nb", "a;b", "é", "a.b", "<script>"])
def test_any_other_request_id_is_replaced(client, request_id):
    answer = client.get("/api/v1/nowhere", headers={"X-Request-Id": request_id})
    assert answer["X-Request-Id"] not in ("", request_id)
    assert answer.json()["requestId"] == answer["X-Request-Id"]


def test_each_request_has_an_id_of_its_own(client):
    assert len({client.get("/api/v1/health")["X-Request-Id"] for _ in range(20)}) == 20


# --- bodies ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("headers", [{}, {"CONTENT_LENGTH": "2"}])
def test_a_chunked_body_is_411_with_or_without_a_content_length(client, headers):
    answer = client.generic("POST", ROUTE, HTTP_TRANSFER_ENCODING="chunked", **headers, **{"wsgi.input": Unread()})
    problem(answer, 411, "length_required")
    assert answer["Connection"] == "close"


@pytest.mark.parametrize("length", [32 * 2**20 + 1, 10**9, 10**18])
def test_a_declared_length_over_the_limit_is_413_before_the_body_is_read(client, length):
    answer = client.generic(
        "POST", ROUTE, b"{}", content_type=JSON, CONTENT_LENGTH=str(length), **{"wsgi.input": Unread()}
    )
    assert "32 MiB" in problem(answer, 413, "body_too_large")["detail"]
    assert answer["Connection"] == "close"


@pytest.mark.parametrize("length", ["-1", "1e3", "abc", "+5", "5, 5", "9" * 20, "٥"])
def test_a_length_that_is_no_number_is_400(client, length):
    answer = client.generic("POST", ROUTE, b"{}", content_type=JSON, CONTENT_LENGTH=length)
    problem(answer, 400, "invalid_request")


@pytest.mark.parametrize("coding", ["gzip", "GZIP", "br", "zstd", "deflate", "gzip, gzip", "identity, gzip", "x"])
def test_a_compressed_body_is_415_and_never_inflated(client, coding):
    answer = client.generic(
        "POST", ROUTE, b"{}", content_type=JSON, HTTP_CONTENT_ENCODING=coding, **{"wsgi.input": Unread()}
    )
    problem(answer, 415, "unsupported_media_type")


def test_content_encoding_identity_is_accepted(api):
    assert api.post("/tasks", {}, Content_Encoding="Identity").json()["errors"][0]["code"] == "missing_field"


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain", "", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml",
        "application/jsonp", "application/json; charset=utf-16", "application/json; charset=nonsense",
        'application/json; charset="iso-8859-1"', "nonsense",
    ],
)  # fmt: skip
def test_another_content_type_is_415(api, kind):
    problem(api.post("/tasks", raw=b"{}", content_type=kind), 415, "unsupported_media_type")
    problem(
        api.delete("/tasks/task_01jd0000000000000000000000", raw=b"{}", content_type=kind),
        415,
        "unsupported_media_type",
    )


@pytest.mark.parametrize(
    "kind", [JSON, "Application/JSON", "application/json;charset=UTF-8", 'application/json; charset="utf8"']
)
def test_json_in_utf_8_is_read(api, kind):
    problem(api.post("/tasks", raw=b"{}", content_type=kind), 400, "invalid_request")


def test_a_truncated_body_is_400(api):
    answer = api.client.generic(
        "POST",
        ROUTE,
        content_type=JSON,
        CONTENT_LENGTH="100",
        HTTP_AUTHORIZATION=f"Bearer {api.key}",
        **{"wsgi.input": Cut()},
    )
    assert "ended before" in problem(answer, 400, "invalid_request")["detail"]


def test_a_body_over_the_limit_is_413_even_when_its_length_was_not_checked(api, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10
    problem(api.post("/tasks", {"name": "x" * 100}), 413, "body_too_large")


# --- hosts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["evil", "evil.example:80", "localhost.evil.example", "a b", "<script>", "[::1", "x" * 300]
)
def test_a_host_that_is_not_ours_is_400(client, host):
    body = problem(client.get("/api/v1/health", headers={"Host": host}), 400, "invalid_request")
    assert host not in str(body)
    page = client.get("/", headers={"Host": host})
    assert page.status_code == 400
    assert host not in page.content.decode()


def test_a_forwarded_host_is_ignored(client, settings):
    for peer in ("127.0.0.1", "203.0.113.9"):
        page = client.get("/", headers={"X-Forwarded-Host": "evil.example"}, REMOTE_ADDR=peer)
        assert page.status_code == 200
        assert "evil.example" not in page.content.decode()


def test_the_home_page_names_the_address_of_the_settings(client, settings):
    settings.PUBLIC_URL = "https://autotune.example.org"
    page = client.get("/", headers={"Host": "localhost:9999"}).content.decode()
    assert "https://autotune.example.org/api/v1/tasks" in page
    assert "9999" not in page


# --- proxies --------------------------------------------------------------------------------------------------------


@pytest.fixture
def seen(settings):
    """`seen(peer, **headers)`: the META that a view gets, with 10.0.0.0/8 and one IPv6 network trusted."""
    settings.AUTOTUNE_TRUSTED_PROXIES = ["10.0.0.0/8", "2001:db8:1::/48"]

    def ask(peer, **headers):
        meta = {}

        def view(request):
            meta.update(request.META)
            return HttpResponse()

        TrustedProxyMiddleware(view)(RequestFactory().get("/", REMOTE_ADDR=peer, headers=headers))
        return meta

    return ask


@pytest.mark.parametrize("peer", ["203.0.113.9", "2001:db8:2::1", "::ffff:203.0.113.9", "", "unix:"])
def test_from_an_untrusted_peer_forwarded_headers_are_dropped(seen, peer):
    meta = seen(peer, **{"X-Forwarded-For": "1.2.3.4, evil", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil"})
    assert meta["REMOTE_ADDR"] == peer
    assert [name for name in meta if name.startswith("HTTP_X_FORWARDED")] == []


@pytest.mark.parametrize("peer", ["10.1.2.3", "2001:db8:1::5", "::ffff:10.1.2.3"])
@pytest.mark.parametrize(
    ("forwarded", "client"),
    [
        ("1.2.3.4", "1.2.3.4"),
        ("6.6.6.6, 1.2.3.4", "1.2.3.4"),
        ("evil, 1.2.3.4, 10.9.9.9", "1.2.3.4"),
        ("1.2.3.4,10.9.9.9 ,  2001:db8:1::9", "1.2.3.4"),
        ("2001:db8:9::1", "2001:db8:9::1"),
    ],
)
def test_behind_trusted_proxies_the_nearest_untrusted_address_is_the_client(seen, peer, forwarded, client):
    meta = seen(peer, **{"X-Forwarded-For": forwarded, "X-Forwarded-Proto": "https"})
    assert meta["REMOTE_ADDR"] == client
    assert meta["HTTP_X_FORWARDED_PROTO"] == "https"


@pytest.mark.parametrize(
    "forwarded", ["", "evil", "1.2.3.4, evil", "10.9.9.9", "1.2.3.4:80", "unknown", ",", "1.2.3.4,"]
)
def test_an_invalid_forwarded_address_is_ignored(seen, forwarded):
    assert ipaddress.ip_address(
        seen("10.1.2.3", **{"X-Forwarded-For": forwarded})["REMOTE_ADDR"]
    ) == ipaddress.ip_address("10.1.2.3")


def test_nobody_is_trusted_by_default(client, settings):
    assert settings.AUTOTUNE_TRUSTED_PROXIES == []


def test_only_a_trusted_proxy_can_report_https(settings):
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.SECURE_SSL_REDIRECT = True
    settings.AUTOTUNE_TRUSTED_PROXIES = ["10.0.0.0/8"]
    client = Client()
    headers = {"X-Forwarded-Proto": "https"}
    assert client.get("/", headers=headers, REMOTE_ADDR="10.1.2.3").status_code == 200
    assert client.get("/", headers=headers, REMOTE_ADDR="203.0.113.9").status_code == 301
