"""Pages that list graders: the status board and the marketplace."""

from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString

from autotune.access import policy
from autotune.access.frame.entry import PageRequest, page
from autotune.access.principal import Principal
from autotune.charts import spark_label, sparkline, strip
from autotune.core.api.pagination import page as cut
from autotune.core.clock import database_now
from autotune.core.pages import formats, listing
from graders import queued_runs, responses
from graders.api import ORDER
from graders.health import strip as health_strip
from graders.health import thresholds
from graders.health.thresholds import GraderRatings
from graders.models import Grader
from graders.querysets import GraderQuerySet
from graders.queued_runs import QueuedRuns
from graders.requests import GraderQuery
from graders.states import GraderStatus, Visibility
from graders.statistics import board
from graders.statistics.board import Circuit, GraderMeasurements
from graders.statistics.marketplace import PublicFigures

RESOURCE: Final = "endpoint_graders"
STATUSES: Final = tuple(GraderStatus.values)


@dataclass(frozen=True, slots=True)
class GraderListRow:
    """A grader in a list. Values that only its owner may see are None for others."""

    grader: Grader
    out: responses.GraderOut
    whole: bool
    measured: GraderMeasurements
    ratings: GraderRatings
    public: PublicFigures
    trend: SafeString
    circuit: Circuit | None
    queue: QueuedRuns | None
    checks: SafeString | None


@page((RESOURCE, "read"))
def graders(request: PageRequest) -> HttpResponse:
    """Show the status board of the graders that the person's role reaches."""
    principal = request.principal
    own = policy.scope(Grader.objects.live(), principal, RESOURCE, "read")
    list_request, rows, pagination = _listed(request, own)
    everything = own.exists() if not rows else True
    context = {
        "title": "Graders",
        "rows": rows,
        "asked": list_request,
        "statuses": STATUSES,
        "everything": everything,
        "pager": listing.pager(pagination, len(rows)),
        "may_create": policy.reach(principal, RESOURCE, "create") is not None,
        "may_browse": policy.reach(principal, "listed_graders", "read") is not None,
    }
    return render(request, "graders/board.html", context)


@page(("listed_graders", "read"))
def marketplace(request: PageRequest) -> HttpResponse:
    """Show the graders that organizations list for others, with their measured figures."""
    principal = request.principal
    listed_graders = Grader.objects.live().visible_to(principal).filter(visibility=Visibility.LISTED)
    list_request, rows, pagination = _listed(request, listed_graders, visibility="listed")
    context = {
        "title": "Marketplace",
        "rows": rows,
        "asked": list_request,
        "statuses": STATUSES,
        "everything": listed_graders.exists() if not rows else True,
        "pager": listing.pager(pagination, len(rows)),
        "may_open": policy.reach(principal, RESOURCE, "read") is not None,
        "may_use": policy.reach(principal, "tasks", "create") is not None,
        "may_list": policy.reach(principal, RESOURCE, "create") is not None,
    }
    return render(request, "graders/marketplace.html", context)


def _listed(
    request: PageRequest, visible_graders: GraderQuerySet, **fixed: Any
) -> tuple[listing.ListRequest[GraderQuery], list[GraderListRow], Any]:
    """Return the list request in the address, the rows of its page, and the pagination."""
    list_request = listing.read(request, GraderQuery, **fixed)
    query = list_request.query
    matching = visible_graders.matching(
        kind=query.kind, status=query.status, visibility=query.visibility, search=query.search, domain=query.domain
    )
    detailed = matching.with_details().select_related("version")
    graders_, pagination = cut(detailed, query, ORDER, owner=request.principal.organization.pk)
    return list_request, _rows(graders_, request.principal), pagination


def _rows(graders_: list[Grader], principal: Principal) -> list[GraderListRow]:
    measured = board.measured([grader.pk for grader in graders_])
    own_ids = {grader.pk for grader in graders_ if responses.sees_all_of(grader, principal)}
    waiting, checks_by_grader, now = queued_runs.of(own_ids), health_strip.recent(own_ids), database_now()
    return [
        GraderListRow(
            grader=grader,
            out=responses.grader_out(grader, principal),
            whole=grader.pk in own_ids,
            measured=measured[grader.pk],
            ratings=measured[grader.pk].ratings(thresholds.call_limit_ms(grader)),
            public=PublicFigures.of_card(measured[grader.pk]),
            trend=_trend(measured[grader.pk]),
            circuit=board.circuit(grader, now) if grader.pk in own_ids else None,
            queue=waiting.get(grader.pk),
            checks=_checks(checks_by_grader[grader.pk]) if checks_by_grader.get(grader.pk) else None,
        )
        for grader in graders_
    ]


def _trend(measured: GraderMeasurements) -> SafeString:
    label = f"99th percentile of the latency for each of the last 24 hours: {spark_label(measured.trend, 'ms')}."
    return sparkline(measured.trend, label=label)


def _checks(recent_checks: list[health_strip.HealthMark]) -> SafeString:
    failed = [check for check in recent_checks if not check.passed]
    summary = f"{len(failed)} failed, the last {formats.ago(failed[-1].at)}" if failed else "all passed"
    return strip(
        [check.passed for check in recent_checks], label=f"The last {len(recent_checks)} health checks: {summary}."
    )
