"""A grader's row as the gateway's own small value, with its active secrets."""

from collections.abc import Iterable
from uuid import UUID

from autotune.core.errors import Conflict
from graders import credentials
from graders.gateway.types import GraderTarget, Secret
from graders.models import Grader, GraderSecret


def load(grader: Grader) -> GraderTarget:
    """What the gateway needs to call `grader`.

    raises  Conflict `no_secret` for one that was deleted
    """
    target = load_many([grader]).get(grader.pk)
    if target is None:
        raise Conflict("The grader has no secret and cannot be called.", code="no_secret")
    return target


def load_many(graders: Iterable[Grader]) -> dict[UUID, GraderTarget]:
    """The same for many, in one query; those without a secret are left out."""
    by_id = {grader.pk: grader for grader in graders}
    secrets: dict[UUID, list[GraderSecret]] = {}
    for secret in GraderSecret.objects.filter(grader_id__in=by_id):
        secrets.setdefault(secret.grader_id, []).append(secret)
    return {pk: _target(by_id[pk], held) for pk, held in secrets.items()}


def _target(grader: Grader, held: list[GraderSecret]) -> GraderTarget:
    signing = tuple(Secret(secret.key_id, str(secret.secret), secret.current) for secret in credentials.active(held))
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
