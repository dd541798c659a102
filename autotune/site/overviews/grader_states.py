"""The overview's table of the principal's own graders: state and figures, graders in trouble first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from autotune.access import policy
from autotune.access.principal import Principal
from autotune.site.overviews import counted, links
from autotune.site.overviews.counted import Counted, GraderFigures
from autotune.site.overviews.periods import OverviewPeriod
from graders.health import thresholds
from graders.health.thresholds import GraderRatings
from graders.models import Grader
from graders.states import GraderStatus

SHOWN: Final = 10
WORST_FIRST: Final = (GraderStatus.DEGRADED, GraderStatus.INACTIVE, GraderStatus.ACTIVE)


@dataclass(frozen=True, slots=True)
class GraderState:
    """A grader's state. `troubles` says why it is degraded; no call is sent before
    `held_until`. `limit_ms`: the timeout of its calls."""

    pk: UUID
    name: str
    status: str
    troubles: list[str]
    held_until: datetime | None
    verified: bool
    limit_ms: int

    def is_paused(self, now: datetime) -> bool:
        return self.held_until is not None and self.held_until > now


@dataclass(frozen=True, slots=True)
class GraderOverviewRow:
    """One grader in the overview."""

    grader: GraderState
    url: str
    note: str
    figures: GraderFigures
    ratings: GraderRatings
    trend: str


def of(principal: Principal) -> list[GraderState]:
    """Return the graders that the principal runs: their own, or their organization's, but no listed ones of others."""
    if not runs_graders(principal):
        return []
    graders = Grader.objects.live().allowed(principal, "read").order_by("name", "pk")
    columns = (
        "name", "status", "troubles", "held_until", "verified_at", "max_batch_size", "timeout_ms", "batch_timeout_ms",
    )  # fmt: skip
    return [
        GraderState(
            grader.pk, grader.name, grader.status, grader.troubles, grader.held_until, grader.verified_at is not None,
            thresholds.call_limit_ms(grader),
        )
        for grader in graders.only(*columns)
    ]  # fmt: skip


def runs_graders(principal: Principal) -> bool:
    """Return whether the principal may change graders, or the runs that need them."""
    needs = (("endpoint_graders", "update"), ("workflow_runs", "update"))
    return policy.reach(principal, "endpoint_graders", "read") is not None and any(
        policy.reach(principal, *need) for need in needs
    )


def rows(
    graders: Sequence[GraderState], counters: Counted, period: OverviewPeriod, now: datetime
) -> list[GraderOverviewRow]:
    """Return one row for each grader: those in trouble first, then those with the most calls."""
    of_each = counted.by_grader(counters)
    figures = {grader.pk: counted.figures_of(of_each.get(grader.pk, {}).values()) for grader in graders}
    worst = sorted(
        graders,
        key=lambda grader: (WORST_FIRST.index(GraderStatus(grader.status)), -figures[grader.pk].calls, grader.name),
    )
    return [
        GraderOverviewRow(
            grader, links.to("grader", grader_id=grader.pk), _note(grader, now), figures[grader.pk],
            figures[grader.pk].ratings(grader.limit_ms),
            counted.trend(of_each.get(grader.pk, {}), period, now),
        )
        for grader in worst[:SHOWN]
    ]  # fmt: skip


def _note(grader: GraderState, now: datetime) -> str:
    if not grader.verified:
        return "not verified yet"
    parts = [*grader.troubles, *(["paused"] if grader.is_paused(now) else [])]
    return ", ".join(parts)
