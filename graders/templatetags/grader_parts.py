"""How what is known of graders is written on pages."""

from datetime import datetime
from typing import Final

from django import template

from graders import failure_codes, pauses
from graders.states import Trouble

register = template.Library()

TROUBLES: Final[dict[str, str]] = {
    Trouble.HEALTH: "Its /health was not well twice in a row. This ends after two looks that find it healthy.",
    Trouble.SECRET: "Autotune cannot read its shared secret, so it cannot call the grader. Rotate the secret and give "
    "the grader the new one.",
    Trouble.CIRCUIT: "Calls failed in a row, so the circuit opened. This ends after three calls that go well.",
    Trouble.AUTH: "It refuses the platform's signature. Give it its current secret, set its clock, and verify it.",
    Trouble.VERSIONS: "It reports new versions too often, so scores name its version only as unlisted. Report a "
    "version that changes only when the grader does. This ends a day later.",
    Trouble.VERIFICATION: "Its last verification failed. Mend what the check list names, and verify it again.",
}
HOLDS: Final[dict[str, str]] = {
    pauses.RATE_LIMITED: "it has had as many calls as its limit or its own answer allows",
    pauses.CIRCUIT_OPEN: "its circuit is open",
    pauses.UNHEALTHY: "its /health says that it is down, or does not answer",
}
CHECKS: Final[dict[str, str]] = {
    "health": "It answers GET /health, signed",
    "clock": "Its clock agrees with ours",
    "capabilities": "What it says of itself agrees with the registration",
    "score": "It scores a sample, and signs the answer",
}
VISIBILITIES: Final[dict[str, str]] = {
    "private": "Only your organization",
    "listed": "Every organization, by the marketplace",
}


@register.filter
def moment(text: str | None) -> datetime | None:
    """A time of the wire, for `when`."""
    return datetime.fromisoformat(text) if text else None


@register.filter
def advice(code: str) -> str:
    """What must change where calls end with this code."""
    return failure_codes.advice(code)


@register.filter
def fault(code: str) -> str:
    """Whose affair a code is."""
    return failure_codes.fault(code)


@register.filter
def advice_for(detail: str | None) -> str:
    """What must change by the detail of a failed check, `code: sentence`; '' where it names no code."""
    code = (detail or "").partition(":")[0]
    return failure_codes.CODES[code].advice if code in failure_codes.CODES else ""


@register.filter
def trouble(name: str) -> str:
    """Why a grader is degraded, and how that ends."""
    return TROUBLES.get(name, name)


@register.filter
def hold(reason: str) -> str:
    """Why no call goes out."""
    return HOLDS.get(reason, reason)


@register.filter
def check_name(name: str) -> str:
    """What a check looks at."""
    return CHECKS.get(name, name)


@register.filter
def visibility(name: str) -> str:
    """Who may use a grader."""
    return VISIBILITIES.get(name, name)
