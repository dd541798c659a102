"""Request bodies and queries of the grader API. Structs state types and bounds; `check` has all other rules."""

from base64 import b64decode, b64encode
from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from autotune.core.api.operations import BodyStruct, QueryStruct
from autotune.core.api.pagination import PageQuery
from autotune.core.api.parsing import check_line, invalid
from autotune.core.errors import FieldError
from graders.credentials import MAX_GRACE_HOURS

MAX_DOMAINS: Final = 32
MAX_PINS: Final = 8
PIN_CHARACTERS: Final = 44
PIN_BYTES: Final = 32

Name = Annotated[str, Meta(min_length=1, max_length=200)]
Description = Annotated[str, Meta(max_length=10_000)]
Domain = Annotated[str, Meta(min_length=1, max_length=64)]
Rate = Annotated[int, Meta(ge=1, le=10_000_000)]
Concurrency = Annotated[int, Meta(ge=1, le=1024)]
Timeout = Annotated[int, Meta(ge=100, le=30_000)]
BatchTimeout = Annotated[int, Meta(ge=100, le=120_000)]
Latency = Annotated[int, Meta(ge=0, le=600_000)]
Pin = Annotated[str, Meta(min_length=PIN_CHARACTERS, max_length=PIN_CHARACTERS)]
Pins = Annotated[list[Pin], Meta(max_length=MAX_PINS)]


class CapabilitiesIn(BodyStruct):
    """The grader's capabilities; a member that is absent or null has its default."""

    max_batch_size: Annotated[int, Meta(ge=1, le=1000)] | None = None
    supports_dimensions: bool | None = None
    supports_explanations: bool | None = None
    supports_async: bool | None = None
    avg_latency_ms: Latency | None = None
    domains: Annotated[list[Domain], Meta(max_length=MAX_DOMAINS)] | None = None


class LimitsIn(BodyStruct):
    """Limits for calls to the grader. Absent: the default at registration, later unchanged. Null: the default.

    `ratePerMinute` counts completions, not calls: a batch of 10 counts as 10. `maxConcurrency` counts open calls.
    """

    rate_per_minute: Rate | UnsetType | None = UNSET
    max_concurrency: Concurrency | UnsetType | None = UNSET
    timeout_ms: Timeout | UnsetType | None = UNSET
    batch_timeout_ms: BatchTimeout | UnsetType | None = UNSET


class RedactionIn(BodyStruct):
    """What only the grader's own organization may read of its scores. Absent: false at first, later unchanged."""

    reasoning: bool | UnsetType | None = UNSET
    dimensions: bool | UnsetType | None = UNSET


class GraderIn(BodyStruct):
    """`endpoint` is the base URL: /score, /score/batch and /health are appended to it. `pins`: SHA-256 of public keys
    (SPKI) in base64; its certificate must have one of them."""

    name: Name
    endpoint: str
    capabilities: CapabilitiesIn
    description: Description | None = None
    limits: LimitsIn | None = None
    visibility: Literal["private", "listed"] | None = None
    pins: Pins | None = None
    redaction: RedactionIn | None = None


class GraderPatch(BodyStruct):
    """`limits` and `redaction` are merged member by member; everything else is replaced. Null clears what can be
    cleared."""

    name: Name | UnsetType = UNSET
    endpoint: str | UnsetType = UNSET
    capabilities: CapabilitiesIn | UnsetType = UNSET
    description: Description | UnsetType | None = UNSET
    limits: LimitsIn | UnsetType | None = UNSET
    visibility: Literal["private", "listed"] | UnsetType | None = UNSET
    pins: Pins | UnsetType | None = UNSET
    redaction: RedactionIn | UnsetType | None = UNSET
    status: Literal["active", "inactive"] | UnsetType = UNSET


class SecretRotationIn(BodyStruct):
    """`graceHours`: how long the previous secret stays valid; 24 by default, 0 ends it at once. `force`: rotate even
    inside a grace period."""

    force: bool | None = None
    grace_hours: Annotated[float, Meta(ge=0, le=MAX_GRACE_HOURS)] | None = None


class GraderQuery(PageQuery):
    """`search` matches a part of a name or description; `domain` must be exactly one of the grader's domains."""

    search: Annotated[str, Meta(max_length=200)] | None = None
    kind: Literal["endpoint", "rubric"] | None = None
    status: Literal["active", "inactive", "degraded"] | None = None
    domain: Annotated[str, Meta(max_length=64)] | None = None
    visibility: Literal["private", "listed"] | None = None


class StatsQuery(QueryStruct):
    window: Literal["1h", "24h", "7d", "30d", "all"] = "all"


def check(body: GraderIn | GraderPatch) -> None:
    """Check names, domains and pins. raises Invalid that names each text of several lines and each invalid pin"""
    lines = [check_line(body.name, "/name")] if isinstance(body.name, str) else []
    if isinstance(body.capabilities, CapabilitiesIn):
        for place, domain in enumerate(body.capabilities.domains or ()):
            lines.append(check_line(domain, f"/capabilities/domains/{place}"))
    errors = [error for error in lines if error]
    for place, pin in enumerate(body.pins or ()):
        errors += _pin(pin, f"/pins/{place}")
    if errors:
        raise invalid(errors)


def _pin(text: str, pointer: str) -> list[FieldError]:
    """Check that a pin is 32 bytes in canonical base64; return an error otherwise."""
    try:
        digest = b64decode(text, validate=True)
    except ValueError:
        digest = b""
    if len(digest) == PIN_BYTES and b64encode(digest).decode() == text:
        return []
    message = "Enter the SHA-256 of a public key (SPKI) in base64: 44 characters that encode 32 bytes."
    return [FieldError(pointer, "invalid_pin", message)]
