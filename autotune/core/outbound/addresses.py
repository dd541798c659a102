"""Checks where outbound calls may go: the address of each socket that is opened.

Public https is open to all: global unicast addresses, port 443 and ports from 1024 without those of known databases.
Everything else, plain http included, needs an `AllowedNetwork` for the kind of call (`VARIABLES`): an address that may
be a grader is not open to webhooks. Only an entry for exactly its port allows a port of a known database. This check of
the resolved address is what protects; the check of a URL (`registered_urls.py`) helps the person who registers it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, Literal

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Kind = Literal["grader", "webhook", "identity"]
VARIABLES: Final[dict[Kind, str]] = {
    "grader": "AUTOTUNE_OUTBOUND_ALLOW_GRADERS",
    "webhook": "AUTOTUNE_OUTBOUND_ALLOW_WEBHOOKS",
    "identity": "AUTOTUNE_OUTBOUND_ALLOW_IDENTITY",
}

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
class AllowedNetwork:
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


def parse_allow(text: str) -> tuple[AllowedNetwork, ...]:
    """Parse a comma-separated list of allowances: `127.0.0.1/32:9100-9199`, `[::1]/128:9100`, `10.1.0.0/16` (any port).

    raises  ValueError with a sentence that names the entry
    """
    return tuple(_allowance(entry) for part in text.split(",") if (entry := part.strip()))


def _allowance(entry: str) -> AllowedNetwork:
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
        return AllowedNetwork(network, 1, 65535)
    low, high = int(first), int(last or first)
    if not 1 <= low <= high <= 65535:
        raise ValueError(f"'{entry}' does not name ports from 1 to 65535, the lower first.")
    return AllowedNetwork(network, low, high)


def port_is_public(port: int) -> bool:
    """Whether public https may use this port."""
    return port == 443 or (1024 <= port <= 65535 and port not in DATABASE_PORTS)


@lru_cache(maxsize=4096)
def is_public(address: Address) -> bool:
    """Whether an address is global unicast and none of the special ones that lead back inside."""
    if isinstance(address, IPv6Address):
        return address in _GLOBAL_V6 and address.is_global and not any(address in net for net in _REFUSED_V6)
    return address.is_global and not any(address in net for net in _REFUSED_V4)


def address_allowed(ip: str | Address, port: int, *, scheme: str, allow: Sequence[AllowedNetwork]) -> bool:
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


def allowed_by(kind: Kind) -> str:
    """Return the sentence that names the setting in which the operator can allow a refused address."""
    return f"The operator of the server can allow it in {VARIABLES[kind]}."
