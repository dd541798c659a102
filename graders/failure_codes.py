"""Every code that a call to a grader can end with: who is responsible, and what must change, for its owner and others.

scores/results/failure_codes.py adds what a run, a reward or a completion can end with besides.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

Fault = Literal["grader", "caller", "platform"]
UNKNOWN_ADVICE: Final = "Report the code to the operator of the server."


@dataclass(frozen=True, slots=True)
class FailureCode:
    """fault: who is responsible. advice: one sentence for those responsible."""

    fault: Fault
    advice: str


GRADER: Final = {
    "timeout": "Answer within the grader's time limit, or raise its timeoutMs or batchTimeoutMs.",
    "connect_failed connection_reset": "Keep the grader reachable, and each connection open until the answer is sent.",
    "name_not_resolved": "Let the host name of the registered endpoint resolve in the public DNS.",
    "malformed_answer": "Answer in well-formed HTTP/1.1.",
    "outbound_failed": "Check the grader's server and every proxy before it.",
    "rate_limited": "Set the grader's ratePerMinute or maxConcurrency to what it bears, or let it bear more.",
    "grader_unavailable": "Mend what makes the grader, or a proxy before it, answer 5xx.",
    "try_again": "Answer 408, 409 and 425 only where another attempt helps.",
    "missing_item": "Answer a batch with an entry for every completion in it.",
    "request_too_large": "Let the grader take larger requests, or register a smaller maxBatchSize.",
    "missing_header malformed_header": "Send the answer's time and signature headers, once each and in their forms.",
    "bad_signature": "Sign the exact octets of the answer, with the request's id and the whole shared secret.",
    "reflected": "Sign an answer of the grader's own, not the request that came.",
    "stale_timestamp": "Set the grader's clock, and sign each answer when it is sent.",
    "wrong_request_id": "Answer each request with the requestId that it carries.",
    "unsigned_refusal": "Register the URL that the grader itself answers at, and sign refusals too.",
    "auth_failed": "Give the grader its current shared secret, set its clock, and verify it again.",
    "grader_error": "The grader could not judge this completion: its error text says why.",
    "grader_refused": "The grader refused the request: its error text says why.",
    "gone grader_gone": "Bring the grader back and verify it, or take it out of the task's panel.",
    "redirect_refused": "Register the final URL: redirects are not followed.",
    "unexpected_status": "Answer a result with 200.",
    "accepted_without_callback": "Answer 202 only to a request that carries a callbackUrl.",
    "not_accepted": 'Say {"requestId": …, "status": "accepted"} in an answer of 202.',
    "callback_expired": "Send the callback before callbackExpiresAt, again and again until it is answered.",
    "wrong_content_type": "Send the answer as application/json.",
    "content_encoding_refused": "Send the answer uncompressed.",
    "body_too_large headers_too_large": "Keep the answer within the protocol's limits of size.",
    "invalid_json duplicate_key invalid_text number_not_finite too_deep": (
        "Answer with one strict JSON object in UTF-8, as section 4 of the protocol says."
    ),
    "missing_member wrong_type out_of_range too_long": (
        "Answer with the members that section 4 of the protocol names, in their types and ranges."
    ),
    "duplicate_dimension": "Name each dimension once.",
    "no_results unknown_item duplicate_item": (
        "Answer a batch with one entry for each completion that was asked for, and no other."
    ),
    "tls_failed": "Serve TLS 1.2 or later, with a valid certificate for this name from a public authority.",
    "pin_mismatch": "Register the pin of the key that the server uses now.",
    "address_refused": "Let the endpoint's host resolve to public addresses alone.",
    "deadline_exceeded": "Keep the grader active and fast enough for the task's deadlineMs, or raise the deadline.",
    "panel_incomplete": "Retry the failed run of the panel, or choose an aggregation that does without it.",
}
PLATFORM: Final = {
    "secret_unreadable": "The stored shared secret is damaged: rotate it, and give the grader the new one.",
    "invalid_request": "The server could not make the request: report it to its operator.",
}


def listed(tables: Mapping[Fault, Mapping[str, str]]) -> Iterator[tuple[str, FailureCode]]:
    """(code, what is known of it) of tables that name several codes, apart by blanks, for one sentence."""
    for fault_, table in tables.items():
        for codes, sentence in table.items():
            for code in codes.split():
                yield code, FailureCode(fault_, sentence)


CODES: Final[Mapping[str, FailureCode]] = dict(listed({"grader": GRADER, "platform": PLATFORM}))


def fault(code: str) -> Fault:
    """Who is responsible for a code: the platform for a code that is not listed."""
    failure_code = CODES.get(code)
    return failure_code.fault if failure_code else "platform"


def advice(code: str) -> str:
    """One sentence that says what must change."""
    failure_code = CODES.get(code)
    return failure_code.advice if failure_code else UNKNOWN_ADVICE
