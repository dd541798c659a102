"""The overview, the first page after login: what needs attention now, and charts, depending on the role."""

from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone

from autotune.access import policy
from autotune.access.frame.entry import PageRequest, page
from autotune.access.principal import Principal
from autotune.site.overviews import counted, grader_states, needs, newest, periods, queue, scored, steps
from autotune.site.overviews.grader_states import GraderState
from autotune.site.overviews.periods import OverviewPeriod


@page()
def overview(request: PageRequest) -> HttpResponse:
    """Show what needs attention, and charts of throughput, latency and scores. htmx refreshes only the first part."""
    principal, now = request.principal, timezone.now()
    graders = grader_states.of(principal)
    context: dict[str, Any] = {
        "title": "Overview",
        "now": now,
        "needs": needs.of(principal, graders, now),
        "queue": queue.of(principal, now),
    }
    if request.headers.get("HX-Target") != "needs":
        period = periods.chosen(request.GET.get("period", ""))
        context |= {"period": period, "periods": periods.PERIODS, "steps": steps.of(principal, graders)}
        context |= _over_time(principal, graders, period, now)
        context["has_scores"] = any(chart.svg for chart in context["charts"])
    return render(request, "site/overviews/overview.html", context)


def _over_time(
    principal: Principal, graders: list[GraderState], period: OverviewPeriod, now: datetime
) -> dict[str, Any]:
    """Return the charts and the rows of graders.

    Principals who read only the scores of their own graders see the counters of those graders.
    """
    counters = counted.read([grader.pk for grader in graders], period, now)
    return {
        **_charts(principal, counters, bool(graders), period, now),
        "graders": grader_states.rows(graders, counters, period, now),
        "graders_in_all": len(graders),
    }


def _charts(
    principal: Principal, counters: counted.Counted, has_graders: bool, period: OverviewPeriod, now: datetime
) -> dict[str, Any]:
    reach = policy.reach(principal, "scores", "read")
    latency = [counted.latency(counters, period, now)] if has_graders else []
    if reach is None or reach == "own":
        return {"charts": [counted.throughput(counters, period, now), *latency] if has_graders else []}
    score_sums = scored.read(principal, period, now)
    failed = scored.failed(principal, period, now) if policy.reach(principal, "workflow_runs", "read") else {}
    charts = [
        scored.throughput(scored.numbers(score_sums), failed, period, now),
        *latency,
        scored.by_model(score_sums, principal, period, now),
        *([scored.by_task(score_sums, principal, period, now)] if policy.reach(principal, "tasks", "read") else ()),
    ]
    return {"charts": charts, "sampled": newest.NEWEST if scored.sampled(score_sums) else 0}
