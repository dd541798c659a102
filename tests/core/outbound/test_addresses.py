"""Where outbound calls may go, by address and by URL."""

import pytest

from autotune.core.outbound.addresses import DATABASE_PORTS, address_allowed, parse_allow
from autotune.core.outbound.registered_urls import AddressRefused, check_url

LOCAL = parse_allow("127.0.0.1/32:9100-9199,[::1]/128:9100")


def refused(url, *, allow=(), kind="grader"):
    with pytest.raises(AddressRefused) as caught:
        check_url(url, allow=allow, kind=kind)
    return caught.value.code


# --- the allowance ---------------------------------------------------------------------------------------------------


def test_an_allowance_names_networks_and_ports():
    v4, v6, any_port, bare = parse_allow(" 127.0.0.1/32:9100-9199 , [::1]/128:9100,10.0.0.0/8,, fd00::/8")
    assert (str(v4.network), v4.first_port, v4.last_port) == ("127.0.0.1/32", 9100, 9199)
    assert (str(v6.network), v6.first_port, v6.last_port) == ("::1/128", 9100, 9100)
    assert (str(any_port.network), any_port.first_port, any_port.last_port) == ("10.0.0.0/8", 1, 65535)
    assert (str(bare.network), bare.first_port) == ("fd00::/8", 1)
    assert parse_allow("") == ()


@pytest.mark.parametrize(
    "text",
    [
        "localhost:1",
        "10.0.0.1/8",
        "1.2.3.4/33",
        "1.2.3.4/32:0",
        "1.2.3.4/32:9-8",
        "1.2.3.4/32:65536",
        "x",
        "[::1/128]:4",
        "1.2.3.4:1:2",
    ],
)
def test_a_bad_allowance_is_named(text):
    with pytest.raises(ValueError, match=r"does not name|is not a network") as caught:
        parse_allow(f"127.0.0.1/32,{text}")
    assert text in str(caught.value)


# --- addresses -------------------------------------------------------------------------------------------------------

INSIDE = [
    *("127.0.0.1", "127.8.9.1", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
    *("168.63.129.16", "100.100.100.200", "192.0.0.192", "192.0.2.1", "198.18.0.1", "203.0.113.9", "192.88.99.1"),
    *("224.0.0.1", "240.0.0.1", "255.255.255.255"),
    *("::1", "::", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::808:808"),
    *("64:ff9b:1::1", "2002:7f00:1::", "2002:808:808::1", "2001:0:4136:e378::1", "2001:db8::1", "fd00:ec2::254"),
    *("fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "5f00::1", "3fff::1", "100::1", "4000::1"),
]


@pytest.mark.parametrize("address", INSIDE)
def test_an_address_that_is_not_public_is_refused(address):
    assert not address_allowed(address, 443, scheme="https", allow=())
    assert not address_allowed(address, 443, scheme="https", allow=LOCAL)


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "2a00:1450:4001::200e"])
def test_a_public_address_allows_only_https(address):
    assert address_allowed(address, 443, scheme="https", allow=())
    assert address_allowed(address, 8443, scheme="https", allow=())
    assert not address_allowed(address, 443, scheme="http", allow=LOCAL)


@pytest.mark.parametrize("port", [0, 22, 25, 80, 1023, 1433, 3306, 5432, 6379, 9200, 11211, 27017, 65536, -1])
def test_ports_below_1024_and_of_databases_are_refused(port):
    assert not address_allowed("1.1.1.1", port, scheme="https", allow=())


def test_an_allowance_opens_its_network_and_ports_to_both_schemes():
    for scheme in ("http", "https"):
        assert address_allowed("127.0.0.1", 9100, scheme=scheme, allow=LOCAL)
        assert address_allowed("::1", 9100, scheme=scheme, allow=LOCAL)
        assert not address_allowed("127.0.0.1", 9099, scheme=scheme, allow=LOCAL)
        assert not address_allowed("127.0.0.2", 9100, scheme=scheme, allow=LOCAL)
        assert not address_allowed("::ffff:127.0.0.1", 9100, scheme=scheme, allow=LOCAL)


@pytest.mark.parametrize("port", sorted(DATABASE_PORTS))
def test_c20_the_port_of_a_database_is_allowed_only_by_its_own_entry(port):
    ranges = parse_allow(f"10.0.0.0/8,127.0.0.0/8:1-65535,127.0.0.1/32:{port}-{port + 1}")
    assert not address_allowed("127.0.0.1", port, scheme="http", allow=ranges)
    assert not address_allowed("10.0.0.9", port, scheme="https", allow=ranges)
    assert address_allowed("127.0.0.1", port, scheme="http", allow=parse_allow(f"127.0.0.1/32:{port}"))
    with pytest.raises(AddressRefused):
        check_url(f"https://db.internal:{port}/", allow=ranges, kind="webhook")


@pytest.mark.parametrize(
    ("kind", "variable"),
    [
        ("grader", "AUTOTUNE_OUTBOUND_ALLOW_GRADERS"),
        ("webhook", "AUTOTUNE_OUTBOUND_ALLOW_WEBHOOKS"),
        ("identity", "AUTOTUNE_OUTBOUND_ALLOW_IDENTITY"),
    ],
)
@pytest.mark.parametrize(
    "url", ["http://a.example", "http://10.0.0.1", "https://10.0.0.1", "https://localhost", "https://a.example:6379"]
)
def test_c20_the_refusal_of_an_address_that_can_be_allowed_names_the_variable(url, kind, variable):
    with pytest.raises(AddressRefused) as refused:
        check_url(url, allow=(), kind=kind)
    assert variable in refused.value.message


def test_c20_the_refusal_of_an_address_that_nobody_can_allow_names_no_variable():
    with pytest.raises(AddressRefused) as refused:
        check_url("ftp://a.example", allow=(), kind="grader")
    assert "AUTOTUNE_" not in refused.value.message


def test_an_invalid_address_is_refused():
    assert not address_allowed("localhost", 443, scheme="https", allow=())


# --- URLs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("https://Grader.Example.COM", "https://grader.example.com"),
        ("HTTPS://grader.example.com:443/v1/", "https://grader.example.com/v1"),
        ("https://grader.example.com:8443//", "https://grader.example.com:8443"),
        ("https://grader.example.com./a%20b/é", "https://grader.example.com/a%20b/%C3%A9"),
        ("https://Bücher.example/v1", "https://xn--bcher-kva.example/v1"),
        ("https://1.1.1.1", "https://1.1.1.1"),
        ("https://[2606:4700:4700:0::1111]:8443", "https://[2606:4700:4700::1111]:8443"),
    ],
)
def test_a_valid_url_is_normalized(url, normal):
    assert check_url(url, allow=(), kind="grader") == normal
    assert check_url(normal, allow=(), kind="grader") == normal


@pytest.mark.parametrize(
    ("url", "code"),
    [
        *[(url, "scheme_refused") for url in ("http://a.example", "ftp://a.example", "file:///etc/passwd", "gopher://a.example/")],
        *[(url, "invalid_url") for url in ("data:text/html,x", "javascript:alert(1)", "a.example", "//a.example", "https:a.example", "")],
        *[(url, "invalid_url") for url in ("https://a\t.example", "https://a.example/\n", " https://a.example", "https://good\\@bad.example/", "https://a.example/\x7f", "https://a.example/%00", "https://a.example/%zz")],
        *[(f"https://{host}", "invalid_host") for host in ("127.1", "0", "0177.0.0.1", "2130706433", "0x7f.1", "0x7f000001", "256.1.1.1", "①②⑦.0.0.1", "1.1.1.1.1")],
        *[(f"https://{host}", "invalid_host") for host in ("a%00.example", "a%2eexample", "localhost%2e", "a．example", "a。example", "ａ.example", "a..example", ".example", "-a.example", "[::1", "[fe80::1%25eth0]", "", "x" * 300 + ".example", "x" * 64 + ".example")],
        *[(f"https://{host}/", "address_refused") for host in ("localhost", "LOCALHOST.", "a.localhost", "metadata.google.internal", "intranet", "db.internal", "printer.local")],
        *[(f"https://[{address}]/" if ":" in address else f"https://{address}/", "address_refused") for address in INSIDE if "%" not in address],
        ("https://good@169.254.169.254/", "userinfo_refused"),
        ("https://good:443@bad.example", "userinfo_refused"),
        ("https://good.example#@bad.example/", "fragment_refused"),
        ("https://a.example/?key=1", "query_refused"),
        ("https://a.example/?", "query_refused"),
        *[(f"https://a.example:{port}", "port_refused") for port in (22, 25, 80, 6379, 5432, 0, 65536, -1, "http", "٤٤٣", 99999999)],
        ("https://1.1.1.1:22", "port_refused"),
        *[(f"https://a.example{path}", "path_refused") for path in ("/a/../b", "/..", "/%2e%2e/b", "/a/%2E./b", "/./a", "/..%2fb", "/%2e%2e%5cb")],
        *[(f"https://a.example{path}", "endpoint_path_refused") for path in ("/score", "/v1/score/batch", "/health/")],
        ("https://a.example/" + "x" * 2048, "url_too_long"),
        ("https://a.example/" + "x" * (1 << 20), "url_too_long"),
    ],
)  # fmt: skip
def test_a_hostile_url_is_refused(url, code):
    assert refused(url) == code


def test_a_webhook_may_have_a_query():
    assert (
        check_url("https://a.example?token=a%20b&x=é", allow=(), kind="webhook")
        == "https://a.example/?token=a%20b&x=%C3%A9"
    )
    assert check_url("https://a.example/score", allow=(), kind="webhook") == "https://a.example/score"


def test_the_allowance_opens_plain_http_to_literals_and_localhost():
    for url in ("http://127.0.0.1:9100", "http://localhost:9199", "http://[::1]:9100", "https://127.0.0.1:9150/v1"):
        assert check_url(url, allow=LOCAL, kind="grader") == url
    assert refused("http://127.0.0.1:9200", allow=LOCAL) == "scheme_refused"
    assert refused("http://localhost:8000", allow=LOCAL) == "address_refused"
    assert refused("http://a.example:9100", allow=LOCAL) == "scheme_refused"
    assert refused("http://a.localhost:9100", allow=LOCAL) == "scheme_refused"


def test_the_refusal_of_a_call_path_names_the_base():
    with pytest.raises(AddressRefused, match="'/v1'"):
        check_url("https://a.example/v1/score", allow=(), kind="grader")
