"""Checks where outbound calls may go: the URL at registration, and the address of each socket that is opened.

Public https is open to all: global unicast addresses, port 443 and ports from 1024 without those of known databases.
Everything else, plain http included, needs an `Allowance` for the kind of call (`VARIABLES`): an address that may be a
grader is not open to webhooks. Only an entry for exactly its port allows a port of a known database. The check of a
URL at registration helps the person who registers it. The check of the resolved address is what protects.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, Literal
from unicodedata import normalize
from urllib.parse import quote

import idna

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

DATABASE_PORTS: Final = frozenset(
    # SQL Server, Oracle, etcd, MySQL, Cassandra's cluster port, PostgreSQL and its poolers, CouchDB, Redis
    {1433, 1434, 1521, 1522, 1526, 1830, 2379, 2380, 3306, 33060, 33061, 4369, 5432, 5433, 5984, 6379, 6380, 6432}
    # Neo4j, InfluxDB, ClickHouse, Cassandra, Elasticsearch, memcached, Sentinel, CockroachDB, MongoDB, RethinkDB, Db2
    | {7474, 7687, 8086, 8123, 9042, 9200, 9300, 11211, 16379, 26257, 26379, 27017, 27018, 27019, 28015, 50000}
    # not databases, yet never graders: NFS, Docker, RabbitMQ, kubelet, X11
    | {2049, 2375, 2376, 5671, 5672, 15672, 10250, 6000}
)

_REFUSED_V4: Final = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",  # shared address space; 100.100.100.200 is a cloud's metadata service
        "127.0.0.0/8",
        "168.63.129.16/32",  # a cloud's host agent, on a public address
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments; 192.0.0.192 is a cloud's metadata service
        "192.0.2.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",
    )
)
_GLOBAL_V6: Final = IPv6Network("2000::/3")  # mapped, compatible, NAT64, ULA, link-local, multicast… all lie outside
_REFUSED_V6: Final = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",
        "2002::/16",  # 6to4
        "3ffe::/16",
        "3fff::/20",
    )
)


@dataclass(frozen=True, slots=True)
class Allowance:
    """A network and its ports that outbound calls may reach besides public https, also with plain http."""

    network: Network
    first_port: int
    last_port: int

    def covers(self, address: Address, port: int) -> bool:
        return self.covers_port(port) and address.version == self.network.version and address in self.network

    def covers_port(self, port: int) -> bool:
        """Whether the entry allows the port. A range that spans a database's port does not allow the database."""
        if port in DATABASE_PORTS:
            return self.first_port == port == self.last_port
        return self.first_port <= port <= self.last_port


_ENTRY = re.compile(r"(?:\[([^\[\]/]*)\]|([^:\[\]/]*))(/[0-9]{1,3})?(?::([0-9]{1,5})(?:-([0-9]{1,5}))?)?", re.ASCII)
_BARE_V6 = re.compile(r"([0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)(/[0-9]{1,3})?", re.ASCII)


def parse_allow(text: str) -> tuple[Allowance, ...]:
    """Parse a comma-separated list of allowances: `127.0.0.1/32:9100-9199`, `[::1]/128:9100`, `10.1.0.0/16` (any port).

    raises  ValueError with a sentence that names the entry
    """
    return tuple(_allowance(entry) for part in text.split(",") if (entry := part.strip()))


def _allowance(entry: str) -> Allowance:
    if bare_match := _BARE_V6.fullmatch(entry):
        host, prefix, first, last = bare_match[1], bare_match[2], None, None
    elif match := _ENTRY.fullmatch(entry):
        host, prefix, first, last = match[1] or match[2], match[3], match[4], match[5]
    else:
        raise ValueError(f"'{entry}' is not a network with optional ports, such as 127.0.0.1/32:9100-9199.")
    try:
        network = ip_network(host + (prefix or ""))
    except ValueError as exc:
        raise ValueError(f"'{entry}' does not name a network: {exc}.") from exc
    if first is None:
        return Allowance(network, 1, 65535)
    low, high = int(first), int(last or first)
    if not 1 <= low <= high <= 65535:
        raise ValueError(f"'{entry}' does not name ports from 1 to 65535, the lower first.")
    return Allowance(network, low, high)


def port_is_public(port: int) -> bool:
    """Whether public https may use this port."""
    return port == 443 or (1024 <= port <= 65535 and port not in DATABASE_PORTS)


@lru_cache(maxsize=4096)
def is_public(address: Address) -> bool:
    """Whether an address is global unicast and none of the special ones that lead back inside."""
    if isinstance(address, IPv6Address):
        return address in _GLOBAL_V6 and address.is_global and not any(address in net for net in _REFUSED_V6)
    return address.is_global and not any(address in net for net in _REFUSED_V4)


def address_allowed(ip: str | Address, port: int, *, scheme: str, allow: Sequence[Allowance]) -> bool:
    """Whether a socket may be opened to this resolved address. Text that is not an address is refused."""
    try:
        address = ip_address(ip) if isinstance(ip, str) else ip
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.scope_id:
        return False
    if any(entry.covers(address, port) for entry in allow):
        return True
    return scheme == "https" and port_is_public(port) and is_public(address)


# --- URLs as they are registered -------------------------------------------------------------------------------------

Kind = Literal["grader", "webhook", "identity"]
VARIABLES: Final[dict[Kind, str]] = {
    "grader": "AUTOTUNE_OUTBOUND_ALLOW_GRADERS",
    "webhook": "AUTOTUNE_OUTBOUND_ALLOW_WEBHOOKS",
    "identity": "AUTOTUNE_OUTBOUND_ALLOW_IDENTITY",
}

MAX_URL: Final = 2048
_LOOPBACK: Final = (ip_address("127.0.0.1"), ip_address("::1"))
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?")
_AUTHORITY = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::([^:]*))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})|%(?:[01][0-9A-Fa-f]|7[Ff])", re.ASCII)
_INNER_SUFFIXES: Final = (".local", ".localdomain", ".internal", ".intranet", ".lan", ".home.arpa", ".corp", ".private")
_NEVER: Final = ("metadata.google.internal", "instance-data.ec2.internal")
MAY_BE_ALLOWED: Final = frozenset({"scheme_refused", "address_refused", "port_refused"})
_CALL_PATHS: Final = ("/score/batch", "/score", "/health")


class AddressRefused(ValueError):
    """A URL that Autotune does not call. `code` is stable, `message` says what is wrong with it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def check_url(url: str, *, allow: Sequence[Allowance], kind: Kind) -> str:
    """Check a URL that was given to Autotune to call, and return it in its normal form.

    allow   the allowances of this kind
    kind    a grader's base URL takes no query and loses its final slashes; the others keep both
    raises  AddressRefused, which names the variable to set where an operator may allow the address
    """
    if not isinstance(url, str) or not url:
        raise AddressRefused("invalid_url", "Give a URL.")
    if len(url) > MAX_URL:
        raise AddressRefused("url_too_long", f"A URL may have at most {MAX_URL:,} characters.")
    if any(char <= " " or "\x7f" <= char <= "\xa0" or char == "\\" or "\ud800" <= char <= "\udfff" for char in url):
        raise AddressRefused("invalid_url", "A URL must not contain spaces, control characters or backslashes.")
    match = _URL.fullmatch(url)
    if match is None:
        raise AddressRefused("invalid_url", "Give a whole URL, such as https://grader.example.com/v1.")
    scheme, authority, path, query = match[1].lower(), match[2], match[3], match[4]
    if scheme not in ("https", "http"):
        raise AddressRefused("scheme_refused", "Only https URLs are allowed.")
    if match[5] is not None:
        raise AddressRefused("fragment_refused", "Remove the fragment (the part after #) from the URL.")
    if "@" in authority:
        raise AddressRefused("userinfo_refused", "Remove the user name and password from the URL.")
    if query is not None and kind == "grader":
        raise AddressRefused("query_refused", "Remove the query (the part after ?) from the grader's endpoint.")
    host_and_port = _AUTHORITY.fullmatch(authority)
    if host_and_port is None or not host_and_port[1]:
        raise AddressRefused("invalid_host", "The URL has no valid host. Enter one such as grader.example.com.")
    port = _port(host_and_port[2], scheme)
    try:
        host = _host(host_and_port[1], port, scheme, allow)
    except AddressRefused as exc:
        if exc.code in MAY_BE_ALLOWED:
            raise AddressRefused(exc.code, f"{exc.message} {allowed_by(kind)}") from exc
        raise
    suffix = "" if port == (443 if scheme == "https" else 80) else f":{port}"
    return f"{scheme}://{host}{suffix}{_path(path, kind)}{_query(query)}"


def allowed_by(kind: Kind) -> str:
    """Return the sentence that names the setting in which the operator can allow a refused address."""
    return f"The operator of the server can allow it in {VARIABLES[kind]}."


def _port(text: str | None, scheme: str) -> int:
    if not text:
        return 443 if scheme == "https" else 80
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 1 <= int(text) <= 65535):
        raise AddressRefused("port_refused", "The port must be a number from 1 to 65535.")
    return int(text)


def _host(text: str, port: int, scheme: str, allow: Sequence[Allowance]) -> str:
    if text.startswith("["):
        return _literal_host(text[1:-1], port, scheme, allow, IPv6Address)
    name = _name(text)
    last = name.rpartition(".")[2]
    if _NUMERIC_LABEL.fullmatch(last):
        return _literal_host(name, port, scheme, allow, IPv4Address)
    if name == "localhost":
        if any(entry.covers(address, port) for entry in allow for address in _LOOPBACK):
            return name
        raise AddressRefused("address_refused", "localhost is this server itself, which Autotune does not call.")
    if scheme == "http":
        raise AddressRefused("scheme_refused", "Only https URLs are allowed: plain http would expose every answer.")
    inner = "." not in name or name.endswith(_INNER_SUFFIXES)
    if name.endswith((".localhost", ".onion")) or name in _NEVER or (inner and not allow):
        raise AddressRefused("address_refused", f"{name} is not a public name.")
    if not port_is_public(port) and not any(entry.covers_port(port) for entry in allow):
        raise AddressRefused(
            "port_refused", f"Port {port} is not allowed. Use 443, or a port from 1024 that no common database uses."
        )
    return name


def _literal_host(
    text: str, port: int, scheme: str, allow: Sequence[Allowance], family: type[IPv4Address] | type[IPv6Address]
) -> str:
    try:
        if "%" in text:
            raise ValueError("zone")
        address = family(text)
    except ValueError as exc:
        raise AddressRefused(
            "invalid_host", "The host is not an IP address in the usual form, such as 192.0.2.10 or [2001:db8::10]."
        ) from exc
    if address_allowed(address, port, scheme=scheme, allow=allow):
        return str(address) if address.version == 4 else f"[{address}]"
    if scheme == "http":
        raise AddressRefused("scheme_refused", "Only https URLs are allowed: plain http would expose every answer.")
    if is_public(address):
        raise AddressRefused(
            "port_refused", f"Port {port} is not allowed. Use 443, or a port from 1024 that no common database uses."
        )
    raise AddressRefused("address_refused", f"{address} is not a public address.")


def _name(text: str) -> str:
    """Return a host name in its ASCII form, lower case, without a final full stop."""
    name = text.lower().removesuffix(".")
    if not name.isascii():
        if any(mark in name for mark in "\u3002\uff0e\uff61"):
            raise AddressRefused(
                "invalid_host", "The host contains a full stop that is not ASCII. Replace it with a plain one."
            )
        try:
            name = idna.encode(normalize("NFC", name), std3_rules=True).decode("ascii")
        except (idna.IDNAError, UnicodeError) as exc:
            raise AddressRefused("invalid_host", "The host is not a valid international name.") from exc
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in name.split(".")):
        raise AddressRefused(
            "invalid_host", "The host is not a valid name: labels of 1 to 63 letters, digits and hyphens."
        )
    return name


def _path(path: str, kind: Kind) -> str:
    if _BAD_ESCAPE.search(path):
        raise AddressRefused("invalid_url", "The path contains a malformed or forbidden % escape.")
    plain = re.sub("%2[eE]", ".", path)
    if any(part in (".", "..") for part in re.split(r"/|%2[fF]|%5[cC]", plain)):
        raise AddressRefused("path_refused", "Remove the segments . and .. from the path.")
    normal_path = quote(plain, safe="/%:@!$&'()*+,;=~-._")
    if kind != "grader":
        return normal_path or "/"
    normal_path = normal_path.rstrip("/")
    for ending in _CALL_PATHS:
        if normal_path.endswith(ending):
            base = normal_path.removesuffix(ending)
            raise AddressRefused(
                "endpoint_path_refused",
                f"Enter the base URL only: Autotune appends {ending}. Here the base ends in '{base or '/'}'.",
            )
    return normal_path


def _query(query: str | None) -> str:
    if not query:
        return ""
    if _BAD_ESCAPE.search(query):
        raise AddressRefused("invalid_url", "The query contains a malformed or forbidden % escape.")
    return quote(query, safe="?/%:@!$&'()*+,;=~-._[]")
