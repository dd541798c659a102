"""Explain a grader's troubles, pauses, checks, visibility and failure codes in words, for its pages."""

from typing import Final

from graders import failure_codes, pauses
from graders.states import Trouble

TROUBLES: Final[dict[str, str]] = {
    Trouble.HEALTH: "Two health checks in a row failed or reported a problem. This ends after two healthy checks.",
    Trouble.SECRET: "Autotune cannot read its shared secret, so it cannot call the grader. Rotate the secret and give "
    "the grader the new one.",
    Trouble.CIRCUIT: "Too many calls failed, so the circuit opened. This ends after three trial calls that succeed.",
    Trouble.AUTH: "It rejects Autotune's signature. Give it its current secret, set its clock, and verify it.",
    Trouble.VERSIONS: "It reports new versions too often, so scores name its version only as unlisted. Report a "
    "version that changes only when the grader does. This ends a day later.",
    Trouble.VERIFICATION: "Its last verification failed. Fix what the failed checks name, and verify it again.",
}
HOLDS: Final[dict[str, str]] = {
    pauses.RATE_LIMITED: "it reached its rate limit, or asked Autotune to wait",
    pauses.CIRCUIT_OPEN: "its circuit is open",
    pauses.UNHEALTHY: "its health checks fail or report that it is unhealthy",
}
CHECKS: Final[dict[str, str]] = {
    "health": "It answers GET /health with a valid signature",
    "clock": "Its clock agrees with Autotune's clock",
    "capabilities": "Its capabilities are compared with the registration",
    "score": "It scores a sample and signs the answer",
}
VISIBILITIES: Final[dict[str, str]] = {
    "private": "Only your organization",
    "listed": "Every organization, through the marketplace",
}


def advice(code: str) -> str:
    """Return what must change if calls end with this code."""
    return failure_codes.advice(code)


def fault(code: str) -> str:
    """Return who is responsible for a code."""
    return failure_codes.fault(code)


def advice_for(detail: str | None) -> str:
    """Return what must change for the detail of a failed check, `code: sentence`; '' if it names no code."""
    code = (detail or "").partition(":")[0]
    return failure_codes.CODES[code].advice if code in failure_codes.CODES else ""


def trouble(name: str) -> str:
    """Explain why a grader is degraded, and how that ends."""
    return TROUBLES.get(name, name)


def pause(reason: str) -> str:
    """Explain why calls to a grader are paused."""
    return HOLDS.get(reason, reason)


def check_name(name: str) -> str:
    """Return what a check of a grader examines."""
    return CHECKS.get(name, name)


def visibility(name: str) -> str:
    """Return who may use a grader with this visibility."""
    return VISIBILITIES.get(name, name)
