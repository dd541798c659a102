"""Record and list the versions that graders report of themselves, and read their scales."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Final
from uuid import UUID

from autotune.core.api.pagination import PageQuery, Pagination, SortOrder, page
from autotune.core.clock import database_now, wire
from graders import status
from graders.models import Grader, GraderVersion
from graders.scales import UNIT, Scale
from graders.states import Trouble
from graders.statistics import tallies
from graders.statistics.responses import VersionOut

UNREPORTED: Final = "unreported"  # the label of a grader whose /health names no version
UNLISTED: Final = "unlisted"  # the shared label of versions beyond MAX_NEW: scores cannot say which of them judged
MAX_NEW: Final = 20  # new versions of a grader that Autotune lists within NEW_WITHIN
NEW_WITHIN: Final = timedelta(days=1)
CHANGING_REASON: Final = (
    f"The grader reported more than {MAX_NEW} new versions within a day. Autotune records further ones "
    f'as "{UNLISTED}". Report a version that changes only when the grader does.'
)
STEADY_REASON: Final = "The grader no longer reports new versions too often."
MOST_REMEMBERED: Final = 100_000  # scales of versions
ORDER: Final = SortOrder("versions", {"firstSeenAt": "first_seen_at", "label": "label"}, default="-firstSeenAt")
# The scale of a version never changes, so a process reads it only once.
_scales: dict[UUID, Scale] = {}


def seen(grader: Grader, label: str | None) -> GraderVersion:
    """Make the version with this label the grader's current one and return it; create it if it is new.

    Beyond MAX_NEW new versions within a day, further ones share one row, UNLISTED, and the grader is in trouble. So a
    grader whose version changes with each answer cannot fill the table.

    label  as the grader reports it; None or '' for one that reports none
    """
    version = GraderVersion.objects.filter(grader=grader, label=label or UNREPORTED).first()
    if version is None:
        version = _record(grader, label or UNREPORTED)
    elif Trouble.VERSIONS in grader.troubles and _new_count(grader) < MAX_NEW:
        status.recovered(grader.pk, Trouble.VERSIONS, STEADY_REASON)
    Grader.objects.filter(pk=grader.pk).exclude(version=version).update(version=version)
    grader.version = version
    return version


def _record(grader: Grader, label: str) -> GraderVersion:
    """Record a version at its first appearance: as UNLISTED if the grader reported too many new ones."""
    if label != UNREPORTED and _new_count(grader) >= MAX_NEW:
        status.trouble(grader.pk, Trouble.VERSIONS, CHANGING_REASON)
        label = UNLISTED
    return GraderVersion.objects.get_or_create(grader=grader, label=label)[0]


def _new_count(grader: Grader) -> int:
    since = database_now() - NEW_WITHIN
    return GraderVersion.objects.filter(grader=grader, first_seen_at__gt=since).exclude(label=UNLISTED).count()


def listed(grader: Grader, query: PageQuery, *, hidden: bool = False) -> tuple[list[VersionOut], Pagination]:
    """Return a page of a grader's versions, newest first, each with its number of scores and their mean.

    hidden  list none, for readers who see only the grader's entry in the marketplace
    """
    versions = GraderVersion.objects.none() if hidden else GraderVersion.objects.filter(grader=grader)
    rows, pagination = page(versions, query, ORDER, owner=grader.pk)
    return with_counts(grader, rows), pagination


def newest(grader: Grader, count: int) -> list[VersionOut]:
    """Return the newest versions of a grader, in the form of `listed`."""
    return with_counts(grader, GraderVersion.objects.filter(grader=grader).order_by("-id")[:count])


def with_counts(grader: Grader, versions: Iterable[GraderVersion]) -> list[VersionOut]:
    counted = tallies.by_version(grader.pk)
    return [_out(version, counted) for version in versions]


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


def scale_of(version_id: UUID) -> Scale:
    """Return the scale of a grader version, as `scales_of` does."""
    return scales_of([version_id])[version_id]


def scales_of(version_ids: Iterable[UUID]) -> dict[UUID, Scale]:
    """Return the scales of grader versions, in one query for those that this process has not read before.

    A version that does not exist has the scale from 0 to 1.
    """
    unique_ids = set(version_ids)
    scales = {pk: scale for pk in unique_ids if (scale := _scales.get(pk))}
    if unread := unique_ids - scales.keys():
        rows = GraderVersion.objects.filter(pk__in=unread).values_list("pk", "scale_min", "scale_max")
        stored = {pk: Scale(*ends) for pk, *ends in rows}
        if len(_scales) + len(stored) > MOST_REMEMBERED:
            _scales.clear()
        _scales.update(stored)
        scales |= dict.fromkeys(unread, UNIT) | stored
    return scales
