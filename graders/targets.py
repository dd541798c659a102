"""Load what the gateway needs to call graders: addresses, limits and active secrets."""

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from autotune.core.crypto.fields import is_damaged
from autotune.core.errors import Conflict, Unreadable
from graders import credentials
from graders.gateway.types import GraderTarget, SharedSecret
from graders.models import Grader, GraderSecret

SECRET_UNREADABLE: Final = "Autotune cannot decrypt the grader's shared secret, so it cannot sign calls."  # noqa: S105


def load(grader: Grader) -> GraderTarget:
    """Return what the gateway needs to call `grader`.

    raises  Conflict `no_secret` for a deleted grader, Unreadable `secret_unreadable` if its secret is damaged
    """
    secrets = list(GraderSecret.objects.filter(grader=grader))
    if not secrets:
        raise Conflict("Autotune cannot call the grader: it has no shared secret.", code="no_secret")
    target = _target(grader, secrets)
    if target is None:
        raise Unreadable(SECRET_UNREADABLE, code="secret_unreadable")
    return target


def load_many(graders: Iterable[Grader]) -> dict[UUID, GraderTarget]:
    """Load many targets in one query, except those of graders whose secret is missing or damaged."""
    by_id = {grader.pk: grader for grader in graders}
    secrets: dict[UUID, list[GraderSecret]] = {}
    for secret in GraderSecret.objects.filter(grader_id__in=by_id):
        secrets.setdefault(secret.grader_id, []).append(secret)
    targets = {pk: _target(by_id[pk], grader_secrets) for pk, grader_secrets in secrets.items()}
    return {pk: target for pk, target in targets.items() if target is not None}


def _target(grader: Grader, secrets: list[GraderSecret]) -> GraderTarget | None:
    """None if the current secret cannot be decrypted. A damaged previous one only ends its grace period early."""
    usable = [secret for secret in credentials.active(secrets) if not is_damaged(secret, "secret")]
    if not any(secret.current for secret in usable):
        return None
    signing = tuple(SharedSecret(secret.key_id, str(secret.secret), secret.current) for secret in usable)
    return GraderTarget(
        grader_id=grader.public_id,
        base_url=grader.endpoint,
        signing=signing,
        max_batch_size=grader.max_batch_size,
        timeout_ms=grader.timeout_ms,
        batch_timeout_ms=grader.batch_timeout_ms,
        supports_dimensions=grader.supports_dimensions,
        supports_explanations=grader.supports_explanations,
        pins=tuple(f"sha256//{pin}" for pin in grader.pins),
    )
