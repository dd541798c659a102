"""Every code that a run, a reward or a completion can end with: who is responsible, and what must change.

Those of calls to graders are in graders/failure_codes.py. A test reads the source for codes that are missing, and
docs/api/failure-codes.md for rows that differ.
"""

from collections.abc import Mapping
from typing import Final

from graders.failure_codes import GRADER, PLATFORM, UNKNOWN_ADVICE, FailureCode, Fault, listed

__all__ = ["CANCELLED", "CODES", "REVIEW_REJECTED", "UNKNOWN_ADVICE", "FailureCode", "Fault", "advice", "fault", "of"]
CANCELLED: Final = "cancelled"
REVIEW_REJECTED: Final = "review_rejected"  # a person's decision, which no failure rate, alert or threshold counts
_CALLER: Final = {
    CANCELLED: "It was cancelled on request: retry the run to have it scored.",
    "erased text_erased": "The text was erased: submit the completion again to have it scored.",
    "score_deleted": "The score was deleted: score the completion again to get a new one.",
    "review_expired": "Nobody decided the review in time: retry the run, and decide its review before it expires.",
    REVIEW_REJECTED: "A reviewer rejected the preliminary score. Score the completion again if the grader has changed.",
}
_PLATFORM: Final = {
    **PLATFORM,
    "text_unreadable": "The server cannot decrypt the text: its operator must restore the key that encrypted it.",
    "model_expired": "The model's provider did not answer in time: retry the run.",
    "no_score": "The server stored no reason for the missing score: report it to its operator.",
}
CODES: Final[Mapping[str, FailureCode]] = dict(listed({"grader": GRADER, "caller": _CALLER, "platform": _PLATFORM}))


def fault(code: str) -> Fault:
    """Return the party that is responsible for a code. A code that is not listed is a fault of the platform."""
    failure_code = CODES.get(code)
    return failure_code.fault if failure_code else "platform"


def advice(code: str) -> str:
    """Return what must change, in one sentence."""
    failure_code = CODES.get(code)
    return failure_code.advice if failure_code else UNKNOWN_ADVICE


def of(fault_: Fault) -> tuple[str, ...]:
    """Return the codes that belong to the grader, the caller or the platform."""
    return tuple(code for code, failure_code in CODES.items() if failure_code.fault == fault_)
