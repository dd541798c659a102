"""How throttling meets the API: what is counted for whom, and the headers of every answer.

A key has its own rate, a web session one for each person and organization. Who is not let in is counted by address, and
only when that is known: a wrong key never takes a right one's turn.
"""

import ipaddress
from typing import Any, Final

from django.conf import settings
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated
from rest_framework.request import Request
from rest_framework.views import APIView

from autotune.access.principal import Principal
from autotune.access.throttling import rates
from autotune.access.throttling.rates import Allowance, Rate
from autotune.core.errors import TooManyRequests

BURSTS_A_MINUTE: Final = 10  # a client that sends all at once gets a tenth of its minute, and the rest evenly
IPV6_PREFIX: Final = 64  # what one subscriber is given


class Throttled(APIView):
    """A view that counts its callers: after authentication, and before anything else is read."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        try:
            super().initial(request, *args, **kwargs)
        except (AuthenticationFailed, NotAuthenticated):
            subject = subject_of_address(request._request.META.get("REMOTE_ADDR", ""))
            self._count(subject, failure_rate(), "Too many requests from this address had no valid key.")
            raise

    def check_throttles(self, request: Request) -> None:
        rate = principal_rate()
        if rate is not None:
            principal: Principal = request.auth  # type: ignore[assignment]
            self._count(subject_of(principal), rate, f"More than {rate.per_minute} requests a minute.")

    def _count(self, subject: str, rate: Rate | None, refusal: str) -> None:
        """raises TooManyRequests"""
        if rate is None:
            return
        allowance = rates.check(subject, rate)
        self.headers.update(headers(rate, allowance))
        if not allowance.admitted:
            raise TooManyRequests(refusal, headers={"Retry-After": str(allowance.retry_after_s)})


def admit(subject: str, rate: Rate, refusal: str) -> Allowance:
    """Count one more.

    raises TooManyRequests that says when the next may come
    """
    allowance = rates.check(subject, rate)
    if not allowance.admitted:
        raise TooManyRequests(refusal, headers={"Retry-After": str(allowance.retry_after_s)})
    return allowance


def principal_rate() -> Rate | None:
    """The rate of a key or session; None where it is off."""
    per_minute: int = settings.KEY_RATE_PER_MINUTE
    return Rate(per_minute, max(1, per_minute // BURSTS_A_MINUTE)) if per_minute else None


def failure_rate() -> Rate | None:
    """The rate at which one address may fail to authenticate: whoever mistypes a key a few times is told so."""
    per_minute: int = settings.FAILURE_RATE_PER_MINUTE
    return Rate(per_minute, per_minute) if per_minute else None


def subject_of(principal: Principal) -> str:
    """Keys are counted each by itself; sessions of one person in one organization together."""
    if principal.key is not None:
        return f"key:{principal.key.pk}"
    return f"session:{principal.user.pk}:{principal.organization.pk}"


def subject_of_address(address: str) -> str:
    """One IPv4 address, or the network of an IPv6 one: whoever has such an address has all of its network."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:  # a socket without addresses
        return "address:"
    if ip.version == 4:
        return f"address:{ip}"
    if ip.ipv4_mapped:
        return f"address:{ip.ipv4_mapped}"
    return f"address:{ipaddress.ip_network((int(ip), IPV6_PREFIX), strict=False)}"


def headers(rate: Rate, allowance: Allowance) -> dict[str, str]:
    """The limit is what may come at once; the policy also says in how many seconds all of it comes back."""
    window_s = -(-rate.burst * 60 // rate.per_minute)
    return {
        "RateLimit-Limit": str(allowance.limit),
        "RateLimit-Remaining": str(allowance.remaining),
        "RateLimit-Reset": str(allowance.reset_s),
        "RateLimit-Policy": f"{allowance.limit};w={window_s}",
    }
