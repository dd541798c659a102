"""Within which bounds a key may be made: its networks and its end, and those of the key that asks for it."""

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
class Bounds:
    """What a key is bound to, beside its role."""

    kind: str
    expires_at: datetime | None
    networks: list[str]

    @classmethod
    def of(cls, key: ApiKey) -> "Bounds":
        return cls(key.kind, key.expires_at, list(key.networks))


def require_within_own(principal: Principal, bounds: Bounds) -> None:
    """A key reaches no further by a key that it makes: a stolen one must not outlive its end or leave its networks.

    raises  BeyondOwnKey
    """
    if principal.key is None:
        return
    own = Bounds.of(principal.key)
    if own.kind == ApiKey.Kind.TEST and bounds.kind != own.kind:
        raise BeyondOwnKey("A test key makes and changes test keys alone.")
    if own.expires_at is not None and (bounds.expires_at is None or bounds.expires_at > own.expires_at):
        raise BeyondOwnKey(f"Your key ends at {clock.wire(own.expires_at)}: no key of its making may end later.")
    if own.networks and not (bounds.networks and all(_inside(network, own.networks) for network in bounds.networks)):
        raise BeyondOwnKey("Your key is bound to networks: a key of its making must be bound to them too.")


def networks_of(ranges: Sequence[str], pointer: str = "/networks") -> list[str]:
    """Return the address ranges in one spelling; a single address is a range of one.

    raises  Invalid that names each invalid range
    """
    networks: list[str] = []
    errors: list[FieldError] = []
    for place, text in enumerate(ranges):
        try:
            network = ip_network(text)
        except ValueError:
            detail = "Give a network such as 192.0.2.0/24 or 2001:db8::/32, without bits behind its prefix."
            errors.append(FieldError(f"{pointer}/{place}", "invalid_format", detail))
            continue
        if _mapped(network):
            detail = "Write the IPv4 network itself: addresses of this form are compared as IPv4."
            errors.append(FieldError(f"{pointer}/{place}", "invalid_format", detail))
        elif "%" in text:
            errors.append(FieldError(f"{pointer}/{place}", "invalid_format", "Give it without a zone."))
        elif str(network) not in networks:
            networks.append(str(network))
    if errors:
        raise invalid(errors)
    return networks


def end_of(text: str | None, pointer: str = "/expiresAt") -> datetime | None:
    """When a key ends.

    raises  Invalid for what is no date-time, and for one that is past
    """
    if text is None:
        return None
    try:
        moment = clock.parse_filter(text, end=True).astimezone(UTC)
    except (ValueError, OverflowError):
        raise Invalid.field(pointer, "invalid_date", "give a date or a date-time of ISO 8601.") from None
    if moment <= timezone.now():
        raise Invalid.field(pointer, "out_of_range", "give a time to come.")
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
