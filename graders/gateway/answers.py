"""Parse a grader's verified answer (docs/protocol/README.md, section 4). Values are not clamped, rounded or guessed."""

from collections.abc import Sequence
from math import fsum
from typing import Any, Final, Literal
from unicodedata import is_normalized, normalize

from autotune.core import strictjson
from autotune.core.pages import sentences
from graders.gateway.texts import clean
from graders.gateway.types import Capabilities, HealthReport
from graders.verdicts import Acceptance, Dimension, Failure, GraderOptions, Verdict

MAX_DIMENSIONS: Final = 64
MAX_DIMENSION_NAME: Final = 64
MAX_REASONING: Final = 65_536
WEIGHT_TOLERANCE: Final = 0.001
MAX_VERSION: Final = 64
MAX_DOMAINS: Final = 32

_MISSING: Final = object()


class _Refused(Exception):
    def __init__(self, code: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.failure = Failure(code, message, **more)


def parse_score(
    body: bytes, request_id: str, completion_id: str, options: GraderOptions, secrets: Sequence[str] = ()
) -> Verdict | Failure:
    """Return the verdict in an answer to POST /score.

    request_id  the id that was sent
    secrets     redacted from what the grader wrote in `error`
    """
    try:
        return _result(_envelope(body, request_id), "", options, secrets)
    except _Refused as exc:
        return exc.failure


def parse_batch(
    body: bytes, request_id: str, completion_ids: Sequence[str], options: GraderOptions, secrets: Sequence[str] = ()
) -> dict[str, Verdict | Failure]:
    """Return an entry for every completion of the request, whatever the answer to POST /score/batch contains."""
    try:
        entries = _entries(_envelope(body, request_id), completion_ids)
    except _Refused as exc:
        return dict.fromkeys(completion_ids, exc.failure)
    results: dict[str, Verdict | Failure] = {}
    for completion_id in completion_ids:
        placed_entry = entries.get(completion_id)
        if placed_entry is None:
            results[completion_id] = _NOT_ANSWERED
            continue
        place, entry = placed_entry
        try:
            results[completion_id] = _result(entry, f"/scores/{place}", options, secrets)
        except _Refused as exc:
            results[completion_id] = exc.failure
    return results


def parse_accepted(body: bytes, request_id: str) -> Acceptance | Failure:
    """Parse the acknowledgement in a 202: the grader accepted the work and will send a callback."""
    try:
        status = _text(_envelope(body, request_id), "status", "")
        if status != "accepted":
            raise _Refused("not_accepted", '/status of an answer with 202 must be "accepted".')
    except _Refused as exc:
        return exc.failure
    return Acceptance()


def parse_health(body: bytes) -> HealthReport | Failure:
    """Parse a grader's report about itself in an answer to GET /health. Only `status` is required."""
    try:
        root = _object(body)
        status = _text(root, "status", "")
        if status not in ("healthy", "degraded", "unhealthy"):
            raise _Refused("out_of_range", "/status must be healthy, degraded or unhealthy.")
        version = root.get("version")
        if version is not None and not isinstance(version, str):
            raise _Refused("wrong_type", "/version must be a string.")
        if version is not None and len(version) > MAX_VERSION:
            raise _Refused("too_long", f"/version is longer than {MAX_VERSION} characters.")
        capabilities = root.get("capabilities")
        return HealthReport(status, clean(version) or None if version else None, _capabilities(capabilities))
    except _Refused as exc:
        return exc.failure


def error_text(body: bytes, secrets: Sequence[str] = ()) -> str | None:
    """Return the grader's `error` in any body, cleaned for display; None if there is none."""
    try:
        root = strictjson.loads(body)
    except strictjson.JSONRefused:
        return None
    error = root.get("error") if isinstance(root, dict) else None
    return clean(error, secrets) or None if isinstance(error, str) else None


_NOT_ANSWERED: Final = Failure(
    "missing_item", "The grader's answer does not include this completion. Autotune retries the call.", retryable=True
)


# --- envelopes -------------------------------------------------------------------------------------------------------


def _object(body: bytes) -> dict[str, Any]:
    try:
        root = strictjson.loads(body)
    except strictjson.JSONRefused as exc:
        location = clean(f"At {exc.pointer}", limit=120) if exc.pointer else ""
        message = sentences.joined(f"The answer is not acceptable JSON: {exc.message}", location)
        raise _Refused(exc.code, message) from exc
    if type(root) is not dict:
        raise _Refused("wrong_type", "The answer must be one JSON object.")
    return root


def _envelope(body: bytes, request_id: str) -> dict[str, Any]:
    root = _object(body)
    if _text(root, "requestId", "") != request_id:
        raise _Refused(
            "wrong_request_id", "/requestId must be the id of the request that it answers.", retryable=True, limit=2
        )
    return root


def _entries(root: dict[str, Any], completion_ids: Sequence[str]) -> dict[str, tuple[int, dict[str, Any]]]:
    """Return the entries of a batch answer by completion id, with their positions."""
    scores = root.get("scores", _MISSING)
    if scores is _MISSING:
        raise _Refused("missing_member", "/scores is missing.")
    if type(scores) is not list:
        raise _Refused("wrong_type", "/scores must be a list.")
    if not scores:
        raise _Refused("no_results", "/scores is empty.")
    expected_ids = frozenset(completion_ids)
    entries: dict[str, tuple[int, dict[str, Any]]] = {}
    for place, entry in enumerate(scores):
        if type(entry) is not dict:
            raise _Refused("wrong_type", f"/scores/{place} must be an object with a completionId.")
        completion_id = entry.get("completionId")
        if type(completion_id) is not str:
            completion_id = _text(entry, "completionId", f"/scores/{place}")
        if completion_id not in expected_ids:
            raise _Refused(
                "unknown_item", f"/scores/{place}/completionId names a completion that is not in the request."
            )
        if completion_id in entries:
            raise _Refused("duplicate_item", f"/scores/{place}/completionId appears a second time.")
        entries[completion_id] = (place, entry)
    return entries


# --- one result ------------------------------------------------------------------------------------------------------


def _result(entry: dict[str, Any], pointer: str, options: GraderOptions, secrets: Sequence[str]) -> Verdict:
    error = entry.get("error")
    if error is not None:
        if type(error) is not str:
            raise _Refused("wrong_type", f"{pointer}/error must be a string or null.")
        message = clean(error, secrets) or "The grader reported an error without a reason."
        raise _Refused("grader_error", message, trips=False)
    score = entry.get("score", _MISSING)
    if type(score) is not dict:
        if score is _MISSING:
            raise _Refused("missing_member", f"{pointer}/score is missing.")
        raise _Refused("wrong_type", f"{pointer}/score must be an object.")
    pointer += "/score"
    value = _unit(score, "value", pointer)
    confidence = _unit(score, "confidence", pointer)
    dimensions: tuple[Dimension, ...] | None = None
    warnings: tuple[str, ...] = ()
    if options.include_dimensions and (entries := score.get("dimensions")) is not None:
        dimensions = _dimensions(entries, f"{pointer}/dimensions")
        warnings = _weight_warnings(dimensions)
    reasoning = score.get("reasoning") if options.include_explanation else None
    if reasoning is not None:
        if type(reasoning) is not str:
            raise _Refused("wrong_type", f"{pointer}/reasoning must be a string.")
        if len(reasoning) > MAX_REASONING:
            raise _Refused("too_long", f"{pointer}/reasoning is longer than {MAX_REASONING:,} characters.")
    return Verdict(value, confidence, dimensions, reasoning, warnings)


def _unit(members: dict[str, Any], name: str, pointer: str) -> float:
    """Return a member that must be a number from 0 to 1; -0 becomes 0."""
    value = members.get(name, _MISSING)
    kind = type(value)
    if kind is not float and kind is not int:
        if value is _MISSING:
            raise _Refused("missing_member", f"{pointer}/{name} is missing.")
        raise _Refused("wrong_type", f"{pointer}/{name} must be a number.")
    if not 0 <= value <= 1:
        raise _Refused("out_of_range", f"{pointer}/{name} must be from 0 to 1.")
    return float(value) + 0.0


def _dimensions(entries: Any, pointer: str) -> tuple[Dimension, ...]:
    if type(entries) is not list:
        raise _Refused("wrong_type", f"{pointer} must be a list.")
    if len(entries) > MAX_DIMENSIONS:
        raise _Refused("too_long", f"{pointer} holds more than {MAX_DIMENSIONS} dimensions.")
    dimensions: list[Dimension] = []
    names: set[str] = set()
    for place, entry in enumerate(entries):
        entry_pointer = f"{pointer}/{place}"
        if type(entry) is not dict:
            raise _Refused("wrong_type", f"{entry_pointer} must be an object.")
        name = _text(entry, "name", entry_pointer)
        if not name:
            raise _Refused("out_of_range", f"{entry_pointer}/name must have 1 to {MAX_DIMENSION_NAME} characters.")
        if len(name) > MAX_DIMENSION_NAME:
            raise _Refused("too_long", f"{entry_pointer}/name is longer than {MAX_DIMENSION_NAME} characters.")
        normalized_name = name if is_normalized("NFC", name) else normalize("NFC", name)
        if normalized_name in names:
            raise _Refused("duplicate_dimension", f"{entry_pointer}/name appears a second time.")
        names.add(normalized_name)
        dimensions.append(Dimension(name, _unit(entry, "value", entry_pointer), _unit(entry, "weight", entry_pointer)))
    return tuple(dimensions)


def _weight_warnings(dimensions: tuple[Dimension, ...]) -> tuple[str, ...]:
    total = fsum(dimension.weight for dimension in dimensions)
    if not dimensions or abs(total - 1.0) <= WEIGHT_TOLERANCE + 1e-9:
        return ()
    return (f"The weights of the dimensions sum to {total:.4g} instead of 1.",)


def _text(members: dict[str, Any], name: str, pointer: str) -> str:
    value = members.get(name, _MISSING)
    if type(value) is not str:
        if value is _MISSING:
            raise _Refused("missing_member", f"{pointer}/{name} is missing.")
        raise _Refused("wrong_type", f"{pointer}/{name} must be a string.")
    return value


# --- capabilities ----------------------------------------------------------------------------------------------------


def _capabilities(capabilities: Any) -> Capabilities:
    if capabilities is None:
        return Capabilities()
    if type(capabilities) is not dict:
        raise _Refused("wrong_type", "/capabilities must be an object.")
    size = _member(capabilities, "maxBatchSize", "integer")
    if size is not None and not 1 <= size <= 1_000:
        raise _Refused("out_of_range", "/capabilities/maxBatchSize must be from 1 to 1,000.")
    latency = _member(capabilities, "avgLatencyMs", "number")
    domains = capabilities.get("domains")
    if domains is not None and not (type(domains) is list and all(type(domain) is str for domain in domains)):
        raise _Refused("wrong_type", "/capabilities/domains must be a list of strings.")
    return Capabilities(
        max_batch_size=size,
        supports_dimensions=_member(capabilities, "supportsDimensions", "boolean"),
        supports_explanations=_member(capabilities, "supportsExplanations", "boolean"),
        supports_async=_member(capabilities, "supportsAsync", "boolean"),
        avg_latency_ms=None if latency is None else float(latency),
        domains=None if domains is None else tuple(clean(domain, limit=64) for domain in domains[:MAX_DOMAINS]),
    )


_KINDS: Final = {"integer": (int,), "number": (int, float), "boolean": (bool,)}


def _member(members: dict[str, Any], name: str, kind: Literal["integer", "number", "boolean"]) -> Any:
    value = members.get(name)
    if value is not None and type(value) not in _KINDS[kind]:
        raise _Refused("wrong_type", f"/capabilities/{name} must be a {kind}.")
    return value
