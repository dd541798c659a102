"""Every code that a run, a reward or a completion can end with: who is responsible, and what must change.

Those of calls to graders are in graders/failure_codes.py. A test reads the source for codes that are missing, and
docs/api.md for rows that differ.
"""

from collections.abc import Mapping
from typing import Final

from graders.failure_codes import GRADER, PLATFORM, UNKNOWN_ADVICE, FailureCode, Fault, listed

__all__ = ["CANCELLED", "CODES", "UNKNOWN_ADVICE", "FailureCode", "Fault", "advice", "fault", "of"]
CANCELLED: Final = "cancelled"
_CALLER: Final = {
    CANCELLED: "It was cancelled on request: retry the run to have it scored after all.",
    "erased text_erased": "The text is erased for good: submit the completion anew if it shall be scored.",
    "score_deleted": "The score was deleted: score the completion again if it shall have one.",
    "review_expired": "Retry the run, and have its review decided in time.",
    "review_rejected": "A reviewer rejected the preliminary score: retry the run to ask the grader again.",
}
_PLATFORM: Final = {
    **PLATFORM,
    "text_unreadable": "The server cannot decrypt the text: its operator must give back the key that encrypted it.",
    "no_score": "The server kept no reason for the missing score: report it to its operator.",
}
CODES: Final[Mapping[str, FailureCode]] = dict(listed({"grader": GRADER, "caller": _CALLER, "platform": _PLATFORM}))


def fault(code: str) -> Fault:
    """The party that is responsible for a code. A code that is not listed is a fault of the platform."""
    failure_code = CODES.get(code)
    return failure_code.fault if failure_code else "platform"


def advice(code: str) -> str:
    """What must change, in one sentence."""
    failure_code = CODES.get(code)
    return failure_code.advice if failure_code else UNKNOWN_ADVICE


def of(fault_: Fault) -> tuple[str, ...]:
    """The codes that belong to the grader, the caller or the platform."""
    return tuple(code for code, failure_code in CODES.items() if failure_code.fault == fault_)
