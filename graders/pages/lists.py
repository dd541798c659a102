"""The status board and the marketplace."""

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
from autotune.core.pages import listing
from autotune.core.templatetags import ui
from graders import queued_runs, responses
from graders.api import ORDER
from graders.health import strip as looks
from graders.models import Grader
from graders.querysets import GraderQuerySet
from graders.queued_runs import Queue
from graders.requests import GraderQuery
from graders.states import GraderStatus, Visibility
from graders.statistics import board
from graders.statistics.board import Circuit, Measured

RESOURCE: Final = "endpoint_graders"
STATUSES: Final = tuple(GraderStatus.values)


@dataclass(frozen=True, slots=True)
class Row:
    """A grader in a list. What its owner alone may know is None for others."""

    grader: Grader
    out: responses.GraderOut
    whole: bool
    measured: Measured
    trend: SafeString
    circuit: Circuit | None
    queue: Queue | None
    looks: SafeString | None


@page((RESOURCE, "read"))
def graders(request: PageRequest) -> HttpResponse:
    """How the person's own graders do, at this moment."""
    principal = request.principal
    own = policy.scope(Grader.objects.live(), principal, RESOURCE, "read")
    asked, rows, pagination = _listed(request, own)
    everything = own.exists() if not rows else True
    context = {
        "title": "Graders",
        "rows": rows,
        "asked": asked,
        "statuses": STATUSES,
        "everything": everything,
        "pager": listing.pager(pagination, len(rows)),
        "may_create": policy.reach(principal, RESOURCE, "create") is not None,
        "may_browse": policy.reach(principal, "listed_graders", "read") is not None,
    }
    return render(request, "graders/board.html", context)


@page(("listed_graders", "read"))
def marketplace(request: PageRequest) -> HttpResponse:
    """What organizations list for others, with what was measured of it."""
    principal = request.principal
    found = Grader.objects.live().visible_to(principal).filter(visibility=Visibility.LISTED)
    asked, rows, pagination = _listed(request, found, visibility="listed")
    context = {
        "title": "Marketplace",
        "rows": rows,
        "asked": asked,
        "statuses": STATUSES,
        "everything": found.exists() if not rows else True,
        "pager": listing.pager(pagination, len(rows)),
        "may_open": policy.reach(principal, RESOURCE, "read") is not None,
        "may_use": policy.reach(principal, "tasks", "create") is not None,
        "may_list": policy.reach(principal, RESOURCE, "create") is not None,
    }
    return render(request, "graders/marketplace.html", context)


def _listed(
    request: PageRequest, found: GraderQuerySet, **fixed: Any
) -> tuple[listing.Asked[GraderQuery], list[Row], Any]:
    """What the address asks for, the rows of its page, and where they lie."""
    asked = listing.read(request, GraderQuery, **fixed)
    query = asked.query
    matching = found.matching(
        kind=query.kind, status=query.status, visibility=query.visibility, search=query.search, domain=query.domain
    )
    shown = matching.with_details().select_related("version")
    graders_, pagination = cut(shown, query, ORDER, owner=request.principal.organization.pk)
    return asked, _rows(graders_, request.principal), pagination


def _rows(graders_: list[Grader], principal: Principal) -> list[Row]:
    measured = board.measured([grader.pk for grader in graders_])
    whole = {grader.pk for grader in graders_ if responses.sees_all_of(grader, principal)}
    waiting, seen, now = queued_runs.of(whole), looks.recent(whole), database_now()
    return [
        Row(
            grader=grader,
            out=responses.grader_out(grader, principal),
            whole=grader.pk in whole,
            measured=measured[grader.pk],
            trend=_trend(measured[grader.pk]),
            circuit=board.circuit(grader, now) if grader.pk in whole else None,
            queue=waiting.get(grader.pk),
            looks=_looks(seen[grader.pk]) if seen.get(grader.pk) else None,
        )
        for grader in graders_
    ]


def _trend(found: Measured) -> SafeString:
    label = f"99th percentile of the latency by the hour, last 24 hours: {spark_label(found.trend, 'ms')}."
    return sparkline(found.trend, label=label)


def _looks(seen: list[looks.Look]) -> SafeString:
    failed = [look for look in seen if not look.passed]
    told = f"{len(failed)} failed, the last {ui.ago(failed[-1].at)}" if failed else "all passed"
    return strip([look.passed for look in seen], label=f"The last {len(seen)} looks at its health: {told}.")
