"""Responses about graders and their secrets. They use only what the caller prefetched and make no queries."""

from msgspec import UNSET, UnsetType

from autotune.access import policy
from autotune.access.principal import Principal
from autotune.core import ids
from autotune.core.api.operations import ApiStruct
from autotune.core.api.pagination import Pagination
from autotune.core.clock import wire
from autotune.core.crypto.fields import is_legible
from graders import credentials
from graders.models import Grader


class CapabilitiesOut(ApiStruct):
    """Other organizations see only the domains; the rest is null for them."""

    max_batch_size: int | None
    supports_dimensions: bool | None
    supports_explanations: bool | None
    supports_async: bool | None
    avg_latency_ms: int | None
    domains: list[str]


class AuthenticationOut(ApiStruct):
    """The public ids of the secrets; never a secret.

    `unreadable` is `["secret"]` if the current secret cannot be decrypted: Autotune cannot call the grader until the
    secret is rotated. Otherwise it is absent.
    """

    scheme: str
    key_id: str | None
    previous_key_id: str | None
    previous_valid_until: str | None
    unreadable: list[str] | UnsetType = UNSET


class LimitsOut(ApiStruct):
    """`ratePerMinute` counts completions, not calls; null: no limit. `maxConcurrency` counts open calls."""

    rate_per_minute: int | None
    max_concurrency: int
    timeout_ms: int
    batch_timeout_ms: int


class RedactionOut(ApiStruct):
    reasoning: bool = False
    dimensions: bool = False


class GraderOut(ApiStruct):
    """`endpoint`, `createdBy`, `authentication`, `version`, `limits`, `pins`, `redaction` and `verifiedAt` are null for
    other organizations."""

    id: str
    name: str
    description: str | None
    kind: str
    endpoint: str | None
    rubric: None
    owner: str
    created_by: str | None
    capabilities: CapabilitiesOut
    authentication: AuthenticationOut | None
    status: str
    visibility: str
    version: str | None
    limits: LimitsOut | None
    pins: list[str] | None
    redaction: RedactionOut | None
    verified_at: str | None
    created_at: str
    updated_at: str


class CredentialsOut(ApiStruct):
    """The secret is shown once: it is null if the response is repeated for an `Idempotency-Key`."""

    grader_id: str
    shared_secret: str | None


class GraderAnswer(ApiStruct):
    grader: GraderOut


class GraderRegistered(ApiStruct):
    """`credentials` is null unless a secret was created."""

    grader: GraderOut
    credentials: CredentialsOut | None


class GraderList(ApiStruct):
    graders: list[GraderOut]
    pagination: Pagination


class RotatedSecret(ApiStruct):
    credentials: CredentialsOut


def sees_all_of(grader: Grader, principal: Principal) -> bool:
    """Return whether the principal's role reaches the grader itself, not only its entry in the marketplace."""
    is_own = grader.organization_id == principal.organization.pk
    match policy.reach(principal, "endpoint_graders", "read"):
        case "all":
            return True
        case "organization":
            return is_own
        case "own":
            return is_own and grader.created_by_id == principal.user.pk
        case _:
            return False


def grader_out(grader: Grader, principal: Principal) -> GraderOut:
    """Return the grader as this principal may see it. The caller prefetches its secrets (`with_details()`)."""
    sees_all = sees_all_of(grader, principal)
    return GraderOut(
        id=grader.public_id,
        name=grader.name,
        description=grader.description or None,
        kind=grader.kind,
        endpoint=grader.endpoint if sees_all else None,
        rubric=None,
        owner=ids.encode("org", grader.organization_id),
        created_by=ids.encode("user", grader.created_by_id) if sees_all else None,
        capabilities=_capabilities(grader) if sees_all else _domains_alone(grader),
        authentication=_authentication(grader) if sees_all else None,
        status=grader.status,
        visibility=grader.visibility,
        version=ids.encode("graderv", grader.version_id) if sees_all and grader.version_id else None,
        limits=_limits(grader) if sees_all else None,
        pins=grader.pins if sees_all else None,
        redaction=RedactionOut(grader.redact_reasoning, grader.redact_dimensions) if sees_all else None,
        verified_at=wire(grader.verified_at) if sees_all and grader.verified_at else None,
        created_at=wire(grader.created_at),
        updated_at=wire(grader.updated_at),
    )


def credentials_out(grader: Grader, secret: str) -> CredentialsOut:
    """Return a new secret for the one response that shows it."""
    return CredentialsOut(grader.public_id, secret)


def _capabilities(grader: Grader) -> CapabilitiesOut:
    return CapabilitiesOut(
        max_batch_size=grader.max_batch_size,
        supports_dimensions=grader.supports_dimensions,
        supports_explanations=grader.supports_explanations,
        supports_async=grader.supports_async,
        avg_latency_ms=grader.avg_latency_ms,
        domains=grader.domains,
    )


def _domains_alone(grader: Grader) -> CapabilitiesOut:
    return CapabilitiesOut(None, None, None, None, None, grader.domains)


def _limits(grader: Grader) -> LimitsOut:
    return LimitsOut(grader.rate_per_minute, grader.max_concurrency, grader.timeout_ms, grader.batch_timeout_ms)


def _authentication(grader: Grader) -> AuthenticationOut:
    active_secrets = credentials.active(grader.secrets.all())
    current = next((secret for secret in active_secrets if secret.current), None)
    previous = next((secret for secret in active_secrets if not secret.current), None)
    return AuthenticationOut(
        scheme="hmac-sha256",
        key_id=current.key_id if current else None,
        previous_key_id=previous.key_id if previous else None,
        previous_valid_until=wire(previous.valid_until) if previous and previous.valid_until else None,
        unreadable=["secret"] if current and not is_legible(current, "secret") else UNSET,
    )
