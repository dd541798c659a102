"""Failure codes of calls to graders: who is responsible for each, and what must change.

scores/results/failure_codes.py adds the codes of runs, rewards and completions.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

Fault = Literal["grader", "caller", "platform"]
UNKNOWN_ADVICE: Final = "Report the code to the operator of the server."


@dataclass(frozen=True, slots=True)
class FailureCode:
    """Who is responsible for a code (`fault`), and what they must change, for people (`advice`)."""

    fault: Fault
    advice: str


GRADER: Final = {
    "timeout": "Answer within the grader's time limit, or raise its timeoutMs or batchTimeoutMs.",
    "connect_failed connection_reset": "Keep the grader reachable, and its connections open until the answer is sent.",
    "name_not_resolved": "Make sure that the host name of the registered endpoint resolves in public DNS.",
    "malformed_answer": "Answer in well-formed HTTP/1.1.",
    "outbound_failed": "Check the grader's server and any proxy in front of it.",
    "rate_limited": "Lower the grader's ratePerMinute or maxConcurrency to what it can handle, or add capacity.",
    "grader_unavailable": "The grader returned a server error (5xx). Check its logs and any proxy in front of it.",
    "try_again": "Answer 408, 409 or 425 only if another attempt can succeed.",
    "missing_item": "Answer a batch with an entry for every completion in it.",
    "request_too_large": "Let the grader accept larger requests, or register a smaller maxBatchSize.",
    "missing_header malformed_header": "Send the answer's time and signature headers, each once and as documented.",
    "bad_signature": "Sign the exact bytes of the answer, with the request's id and the whole shared secret.",
    "reflected": "Sign the grader's own answer. Do not send the request back.",
    "stale_timestamp": "Set the grader's clock, and sign each answer when you send it.",
    "wrong_request_id": "Answer each request with the requestId that it carries.",
    "unsigned_refusal": "Register the URL at which the grader itself answers, and sign error answers too.",
    "auth_failed": "Give the grader its current shared secret, set its clock, and verify it again.",
    "grader_error": "The grader could not judge this completion: its error text says why.",
    "grader_refused": "The grader refused the request: its error text says why.",
    "gone grader_gone": "Bring the grader back into service and verify it, or remove it from the task's panel.",
    "redirect_refused": "Register the final URL. Autotune does not follow redirects.",
    "unexpected_status": "Send a result with the status 200.",
    "accepted_without_callback": "Answer 202 only to a request that carries a callbackUrl.",
    "not_accepted": 'Answer 202 with the body {"requestId": …, "status": "accepted"}.',
    "callback_expired": "Send the callback before callbackExpiresAt, and retry until Autotune answers it.",
    "wrong_content_type": "Send the answer as application/json.",
    "content_encoding_refused": "Send the answer uncompressed.",
    "body_too_large headers_too_large": "Keep the answer within the size limits of the protocol.",
    "invalid_json duplicate_key invalid_text number_not_finite too_deep": (
        "Answer with one strict JSON object in UTF-8, as section 4 of the protocol describes."
    ),
    "missing_member wrong_type out_of_range too_long": (
        "Answer with the members that section 4 of the protocol lists, with their types and ranges."
    ),
    "duplicate_dimension": "Give each dimension a different name.",
    "no_results unknown_item duplicate_item": (
        "Answer a batch with exactly one entry for each completion in the request."
    ),
    "tls_failed": "Serve TLS 1.2 or later, with a valid certificate for the host name from a public authority.",
    "pin_mismatch": "Register the pin of the key that the server uses now.",
    "address_refused": "Make sure that the endpoint's host resolves only to public addresses.",
    "deadline_exceeded": "Keep the grader active and fast enough for the task's deadlineMs, or raise the deadline.",
    "judge_out_of_memory": "Change the grader so that judging one completion needs less memory.",
    "judge_died judge_failed": "Correct the grader: its error text or the server's log says what happened.",
    "version_gone": "Score the completion again, so that the grader's current version judges it.",
    "panel_incomplete": "Retry the failed run of the panel, or choose an aggregation that does not need every score.",
}
PLATFORM: Final = {
    "secret_unreadable": "Rotate the grader's shared secret, and give the grader the new one.",
    "invalid_request": "Autotune could not build the request. Report the code to the operator of the server.",
}


def listed(tables: Mapping[Fault, Mapping[str, str]]) -> Iterator[tuple[str, FailureCode]]:
    """Yield each code and its FailureCode; a key of the tables names several codes, separated by spaces."""
    for fault_, table in tables.items():
        for codes, sentence in table.items():
            for code in codes.split():
                yield code, FailureCode(fault_, sentence)


_CHECKS: Final = {
    "The connection": (
        "timeout connect_failed connection_reset name_not_resolved malformed_answer outbound_failed tls_failed "
        "pin_mismatch address_refused body_too_large headers_too_large content_encoding_refused"
    ),
    "The HTTP status": (
        "rate_limited grader_unavailable try_again request_too_large auth_failed grader_refused gone redirect_refused "
        "unexpected_status accepted_without_callback"
    ),
    "The signature": "missing_header malformed_header bad_signature reflected stale_timestamp unsigned_refusal",
    "The content type": "wrong_content_type",
    "The JSON": "invalid_json duplicate_key invalid_text number_not_finite too_deep",
    "The request id": "wrong_request_id",
    "The entries of the batch": "missing_item no_results unknown_item duplicate_item",
    "The result": "missing_member wrong_type out_of_range too_long duplicate_dimension grader_error not_accepted",
}
_CHECK_BY_CODE: Final[Mapping[str, str]] = {code: check for check, codes in _CHECKS.items() for code in codes.split()}
ERROR_TEXT_CODES: Final = ("grader_error", "grader_refused", "judge_failed", "judge_died")  # advice refers to the text

CODES: Final[Mapping[str, FailureCode]] = dict(listed({"grader": GRADER, "platform": PLATFORM}))


def fault(code: str) -> Fault:
    """Return who is responsible for a code; for a code that is not listed, the platform."""
    failure_code = CODES.get(code)
    return failure_code.fault if failure_code else "platform"


def advice(code: str) -> str:
    """Return what must change, for people."""
    failure_code = CODES.get(code)
    return failure_code.advice if failure_code else UNKNOWN_ADVICE


def check(code: str) -> str:
    """Return which check of an answer ends with this code; '' for codes that no answer causes."""
    return _CHECK_BY_CODE.get(code, "")
