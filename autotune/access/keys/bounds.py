"""Check the bounds of a new key: its networks and its end, within those of the key that creates it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import IPv4Network, IPv6Network, ip_network

from django.utils import timezone

from autotune.access.models import ApiKey
from autotune.access.principal import Principal
from autotune.core import clock
from autotune.core.api.parsing import invalid
from autotune.core.errors import FieldError, Forbidden, Invalid

Network = IPv4Network | IPv6Network


class BeyondOwnKey(Forbidden):
    code, title = "beyond_own_key", "Beyond your own key"


@dataclass(frozen=True, slots=True)
class KeyBounds:
    """The kind, end and networks of a key, which limit it in addition to its role."""

    kind: str
    expires_at: datetime | None
    networks: list[str]

    @classmethod
    def of(cls, key: ApiKey) -> "KeyBounds":
        return cls(key.kind, key.expires_at, list(key.networks))


def require_within_own(principal: Principal, bounds: KeyBounds) -> None:
    """Check that a key creates no key with wider bounds than its own.

    Otherwise a stolen key could outlive its end or leave its networks.

    raises  BeyondOwnKey
    """
    if principal.key is None:
        return
    own = KeyBounds.of(principal.key)
    if own.kind == ApiKey.Kind.TEST and bounds.kind != own.kind:
        raise BeyondOwnKey("A test key can create and change only test keys.")
    if own.expires_at is not None and (bounds.expires_at is None or bounds.expires_at > own.expires_at):
        raise BeyondOwnKey(f"Your key ends at {clock.wire(own.expires_at)}. A key that it creates must end by then.")
    if own.networks and not (bounds.networks and all(_inside(network, own.networks) for network in bounds.networks)):
        raise BeyondOwnKey("Your key works only from its networks. A key that it creates must be limited to them too.")


def networks_of(ranges: Sequence[str], pointer: str = "/networks") -> list[str]:
    """Return the address ranges in normalized form; a single address is a range of one.

    raises  Invalid that names each invalid range
    """
    networks: list[str] = []
    errors: list[FieldError] = []
    for place, text in enumerate(ranges):
        try:
            network = ip_network(text)
        except ValueError:
            detail = "Enter a network such as 192.0.2.0/24 or 2001:db8::/32, without bits after its prefix."
            errors.append(FieldError(f"{pointer}/{place}", "invalid_format", detail))
            continue
        if _mapped(network):
            detail = "Enter the IPv4 network itself: Autotune compares mapped addresses as IPv4."
            errors.append(FieldError(f"{pointer}/{place}", "invalid_format", detail))
        elif "%" in text:
            errors.append(FieldError(f"{pointer}/{place}", "invalid_format", "Enter the network without a zone."))
        elif str(network) not in networks:
            networks.append(str(network))
    if errors:
        raise invalid(errors)
    return networks


def end_of(text: str | None, pointer: str = "/expiresAt") -> datetime | None:
    """Return the end of a key from its text; None without one.

    raises  Invalid if the text is no date or date-time, or not in the future
    """
    if text is None:
        return None
    try:
        moment = clock.parse_filter(text, end=True).astimezone(UTC)
    except (ValueError, OverflowError):
        raise Invalid.field(pointer, "invalid_date", "give a date or a date-time of ISO 8601.") from None
    if moment <= timezone.now():
        raise Invalid.field(pointer, "out_of_range", "enter a time in the future.")
    return moment


def _inside(text: str, networks: Sequence[str]) -> bool:
    inner = ip_network(text)
    return any(_holds(ip_network(outer), inner) for outer in networks)


def _holds(outer: Network, inner: Network) -> bool:
    if isinstance(outer, IPv4Network):
        return isinstance(inner, IPv4Network) and inner.subnet_of(outer)
    return isinstance(inner, IPv6Network) and inner.subnet_of(outer)


def _mapped(network: Network) -> bool:
    return isinstance(network, IPv6Network) and network.subnet_of(IPv6Network("::ffff:0:0/96"))
