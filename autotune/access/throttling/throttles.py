"""Throttle API requests, and set the rate limit headers of every response.

Each key has its own rate, and so has each person in an organization for web sessions. Failed authentications count
by address, after they have failed: wrong keys therefore never use up the rate of a valid one.
"""

import ipaddress
from typing import Any, Final

from django.conf import settings
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated
from rest_framework.request import Request
from rest_framework.views import APIView

from autotune.access.principal import Principal
from autotune.access.throttling import rates
from autotune.access.throttling.rates import Rate, ThrottleDecision
from autotune.core.errors import TooManyRequests

BURSTS_A_MINUTE: Final = 10  # a client may send a tenth of its minute at once, and the rest evenly
IPV6_PREFIX: Final = 64  # the network that a provider assigns to one subscriber


class ThrottledView(APIView):
    """A view that counts its callers after authentication and before it reads anything else."""

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
        """Count the request and set the headers, or raise TooManyRequests."""
        if rate is None:
            return
        allowance = rates.check(subject, rate)
        self.headers.update(headers(rate, allowance))
        if not allowance.admitted:
            raise TooManyRequests(refusal, headers={"Retry-After": str(allowance.retry_after_s)})


def admit(subject: str, rate: Rate, refusal: str) -> ThrottleDecision:
    """Count a request of `subject`, and return its allowance.

    raises TooManyRequests with the time after which to retry
    """
    allowance = rates.check(subject, rate)
    if not allowance.admitted:
        raise TooManyRequests(refusal, headers={"Retry-After": str(allowance.retry_after_s)})
    return allowance


def principal_rate() -> Rate | None:
    """Return the rate of a key or session; None if throttling is off."""
    per_minute: int = settings.KEY_RATE_PER_MINUTE
    return Rate(per_minute, max(1, per_minute // BURSTS_A_MINUTE)) if per_minute else None


def failure_rate() -> Rate | None:
    """Return the rate at which one address may fail to authenticate; None if throttling is off.

    All of it may come at once, so that a few mistyped keys get a clear error.
    """
    per_minute: int = settings.FAILURE_RATE_PER_MINUTE
    return Rate(per_minute, per_minute) if per_minute else None


def subject_of(principal: Principal) -> str:
    """Return the subject that counts a caller: each key by itself, a person's sessions in an organization together."""
    if principal.key is not None:
        return f"key:{principal.key.pk}"
    return f"session:{principal.user.pk}:{principal.organization.pk}"


def subject_of_address(address: str) -> str:
    """Return the subject that counts an address: IPv4 by address, IPv6 by network, since a subscriber has all of it."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:  # a socket without addresses
        return "address:"
    if ip.version == 4:
        return f"address:{ip}"
    if ip.ipv4_mapped:
        return f"address:{ip.ipv4_mapped}"
    return f"address:{ipaddress.ip_network((int(ip), IPV6_PREFIX), strict=False)}"


def headers(rate: Rate, allowance: ThrottleDecision) -> dict[str, str]:
    """Return the rate limit headers. The limit is the burst; the policy adds the seconds in which it is refilled."""
    window_s = -(-rate.burst * 60 // rate.per_minute)
    return {
        "RateLimit-Limit": str(allowance.limit),
        "RateLimit-Remaining": str(allowance.remaining),
        "RateLimit-Reset": str(allowance.reset_s),
        "RateLimit-Policy": f"{allowance.limit};w={window_s}",
    }
