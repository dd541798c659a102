"""Build signed requests to a grader. Bodies are serialized as in ECMAScript: see `autotune.core.ecmajson`."""

from collections.abc import Iterable, Sequence
from typing import Final

from autotune.core import clock, ecmajson
from autotune.core.outbound.calls import OutboundRequest
from graders.gateway import signing
from graders.gateway.types import (
    MAX_BATCH_TIMEOUT_MS,
    MAX_SCORE_TIMEOUT_MS,
    CallbackAddress,
    GraderCall,
    GraderTarget,
    Kind,
    SharedSecret,
)
from graders.verdicts import GraderItem, GraderOptions

PROTOCOL: Final = "1"
MAX_ANSWER: Final[dict[Kind, int]] = {"health": 64 << 10, "score": 1 << 20, "batch": 8 << 20}
HEALTH_CONNECT_MS: Final = 1_000
HEALTH_TIMEOUT_MS: Final = 2_000
BODY_TARGET: Final = 10 << 20  # batches are made smaller to stay below this where they can
_ENVELOPE: Final = 512  # upper limit for the bytes around the items of a batch, or around the strings of an item
_LONGEST_ESCAPE: Final = 6  # bytes that one character may take
_PATHS: Final[dict[Kind, str]] = {"health": "/health", "score": "/score", "batch": "/score/batch"}
_OPTIONS: Final = {
    (dimensions, explanation): b',"options":{"includeDimensions":%b,"includeExplanation":%b}'
    % (str(dimensions).lower().encode(), str(explanation).lower().encode())
    for dimensions in (True, False)
    for explanation in (True, False)
}


def build_score(
    target: GraderTarget,
    item: GraderItem,
    options: GraderOptions,
    attempt: int,
    *,
    secret: SharedSecret | None = None,
    callback: CallbackAddress | None = None,
    now: float | None = None,
) -> GraderCall:
    """Build a signed POST /score.

    attempt   from 1; a hint to the grader
    secret    the secret to sign with; by default the target's first
    callback  where the grader may answer later, if it supports that
    """
    request_id = signing.new_request_id()
    body = b'{"requestId":"%b","completion":%b%b%b}' % (
        request_id.encode(), encode_item(item), _options(options), _later(callback),
    )  # fmt: skip
    timeout_ms = min(target.timeout_ms, MAX_SCORE_TIMEOUT_MS)
    ids = (item.completion_id,)
    return _call(target, "score", request_id, body, ids, options, attempt, timeout_ms, secret, callback, now)


def build_batch(
    target: GraderTarget,
    items: Sequence[GraderItem],
    options: GraderOptions,
    attempt: int,
    *,
    secret: SharedSecret | None = None,
    callback: CallbackAddress | None = None,
    now: float | None = None,
) -> GraderCall:
    """Build a signed POST /score/batch; see `build_score`. The caller has split the items by count and size."""
    request_id = signing.new_request_id()
    listed = b",".join(map(encode_item, items))
    body = b'{"requestId":"%b","completions":[%b]%b%b}' % (
        request_id.encode(), listed, _options(options), _later(callback),
    )  # fmt: skip
    ids = tuple(item.completion_id for item in items)
    timeout_ms = min(target.batch_timeout_ms, MAX_BATCH_TIMEOUT_MS)
    return _call(target, "batch", request_id, body, ids, options, attempt, timeout_ms, secret, callback, now)


def build_health(target: GraderTarget, *, secret: SharedSecret | None = None, now: float | None = None) -> GraderCall:
    """Build a signed GET /health."""
    request_id = signing.new_request_id()
    return _call(target, "health", request_id, b"", (), GraderOptions(), 1, HEALTH_TIMEOUT_MS, secret, None, now)


def encode_item(item: GraderItem) -> bytes:
    """Encode one completion for a request body."""
    string = ecmajson.string
    system_prompt = b"" if item.system_prompt is None else b',"systemPrompt":' + string(item.system_prompt)
    messages = b"" if item.messages is None else b',"messages":' + ecmajson.dumps(item.messages)
    return b'{"id":%b,"taskId":%b%b,"prompt":%b%b,"response":%b,"metadata":%b}' % (
        string(item.completion_id),
        string(item.task_id),
        system_prompt,
        string(item.prompt),
        messages,
        string(item.response),
        ecmajson.dumps(item.metadata) if item.metadata else b"{}",
    )


def split_by_size(items: Iterable[GraderItem], limit: int = BODY_TARGET) -> list[list[GraderItem]]:
    """Split items, in order, into groups whose bodies stay below `limit` bytes; a larger item is its own group."""
    listed = list(items)
    if sum(map(_most, listed)) + _ENVELOPE <= limit:
        return [listed] if listed else []
    groups: list[list[GraderItem]] = []
    room = 0
    for item in listed:
        size = len(encode_item(item)) + 1
        if not groups or size > room:
            groups.append([])
            room = limit - _ENVELOPE
        groups[-1].append(item)
        room -= size
    return groups


def _most(item: GraderItem) -> int:
    """Return an upper limit for the bytes of an encoded item, without encoding its long strings."""
    free = (len(ecmajson.dumps(item.metadata)) if item.metadata else 0) + (
        len(ecmajson.dumps(item.messages)) if item.messages is not None else 0
    )
    characters = len(item.prompt) + len(item.response) + len(item.system_prompt or "")
    return _LONGEST_ESCAPE * characters + free + _ENVELOPE


def _options(options: GraderOptions) -> bytes:
    return _OPTIONS[options.include_dimensions, options.include_explanation]


def _later(callback: CallbackAddress | None) -> bytes:
    """Encode the members that let a grader answer later."""
    if callback is None:
        return b""
    until = clock.wire(callback.expires_at).encode()
    return b',"callbackUrl":%b,"callbackExpiresAt":"%b"' % (ecmajson.string(callback.url), until)


def _call(
    target: GraderTarget,
    kind: Kind,
    request_id: str,
    body: bytes,
    items: tuple[str, ...],
    options: GraderOptions,
    attempt: int,
    timeout_ms: int,
    secret: SharedSecret | None,
    callback: CallbackAddress | None,
    now: float | None,
) -> GraderCall:
    key = secret or target.signing[0]
    timestamp = str(int(clock.shared_time() if now is None else now))
    signature = signing.sign(key.value, timestamp, request_id, body)
    headers = [
        ("Accept", "application/json"),
        (signing.TIMESTAMP, timestamp),
        (signing.REQUEST_ID, request_id),
        (signing.SIGNATURE, signature),
        ("X-Autotune-Protocol", PROTOCOL),
        ("X-Autotune-Attempt", str(attempt)),
        ("X-Autotune-Key-Id", key.key_id),
    ]
    if kind != "health":
        headers.append(("Content-Type", "application/json"))
    request = OutboundRequest(
        method="GET" if kind == "health" else "POST",
        url=target.base_url + _PATHS[kind],
        headers=headers,
        body=body,
        connect_timeout_ms=HEALTH_CONNECT_MS if kind == "health" else target.connect_timeout_ms,
        timeout_ms=timeout_ms,
        max_body=MAX_ANSWER[kind],
        pins=target.pins,
    )
    return GraderCall(request, request_id, timestamp, signature, items, kind, key, options, callback)
