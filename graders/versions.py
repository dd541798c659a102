"""What a grader was when it judged: the versions that it reported, in order of appearance."""

from typing import Final
from uuid import UUID

from autotune.core.clock import wire
from graders import tallies
from graders.models import Grader, GraderVersion
from graders.shapes import VersionOut

UNREPORTED: Final = "unreported"  # the label of a grader whose /health names no version


def seen(grader: Grader, label: str | None) -> GraderVersion:
    """The version with this label, made at its first appearance; it is the grader's current one from now on.

    label  as the grader reports it; None or '' for one that reports none
    """
    version, _ = GraderVersion.objects.get_or_create(grader=grader, label=label or UNREPORTED)
    Grader.objects.filter(pk=grader.pk).exclude(version=version).update(version=version)
    grader.version = version
    return version


def listed(grader: Grader) -> list[VersionOut]:
    """The grader's versions, the newest first, each with how many completions it scored and their mean."""
    counted = tallies.by_version(grader.pk)
    return [_out(version, counted) for version in GraderVersion.objects.filter(grader=grader).order_by("-id")]


def _out(version: GraderVersion, counted: dict[UUID, tuple[int, float]]) -> VersionOut:
    scored, value_sum = counted.get(version.pk, (0, 0.0))
    return VersionOut(
        id=version.public_id,
        label=version.label,
        digest=version.digest or None,
        first_seen_at=wire(version.first_seen_at),
        scored=scored,
        avg_score=value_sum / scored if scored else None,
    )
