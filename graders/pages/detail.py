"""Pages that show a grader's figures, health and settings."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from autotune.access import policy
from autotune.access.frame import acting, people
from autotune.access.frame.entry import PageRequest, page
from autotune.access.principal import Principal
from autotune.charts import Bar, Chart, Series, bars, columns, histogram, lines
from autotune.core.clock import database_now
from autotune.core.errors import NotFound
from graders import failure_codes, responses, versions
from graders.health import reports
from graders.health import responses as health_responses
from graders.models import Grader
from graders.pages import finding
from graders.signals import grader_error_texts
from graders.statistics import reports as statistics_reports
from graders.statistics.marketplace import PublicFigures
from graders.statistics.responses import GraderStatsOut

READS: Final = (finding.RESOURCE, "read")  # as in the API: `listed_graders` adds to it and does not replace it
WINDOWS: Final = {"1h": "1 hour", "24h": "24 hours", "7d": "7 days", "30d": "30 days", "all": "All time"}
BARS: Final = 8
SHOWN_VERSIONS: Final = 50
LIVE: Final = "state"  # the part of the page that refreshes itself


@page(READS)
def grader(request: PageRequest, grader_id: UUID) -> HttpResponse:
    """Show the measured figures of a grader over the window in the address."""
    grader = finding.find(request.principal, grader_id)
    sees_all = responses.sees_all_of(grader, request.principal)
    if sees_all and request.headers.get("HX-Target") == LIVE:
        return render(request, "graders/_live.html", _present_state(request.principal, grader))
    window_parameter = request.GET.get("window", "")
    window = window_parameter if window_parameter in WINDOWS else "24h"
    report = statistics_reports.report(grader, window)
    context = finding.context(
        request.principal, grader, "figures",
        window=window, windows=WINDOWS, public=PublicFigures.of_report(report),
        may_use=policy.reach(request.principal, "tasks", "create") is not None,
    )  # fmt: skip
    if not sees_all:
        return render(request, "graders/public.html", context)
    context |= {
        **finding.present_state(grader),
        "report": report,
        "charts": _charts(report, window),
        "errors": _errors(request.principal, grader, report),
        "versions": versions.newest(grader, SHOWN_VERSIONS),
        "version_count": grader.versions.count(),
        "success": None if report.error_rate is None else 1 - report.error_rate,
        "may_runs": policy.reach(request.principal, "workflow_runs", "read") is not None,
    }
    return render(request, "graders/grader.html", context)


@page(READS, methods=("GET", "HEAD", "POST"))
def checks(request: PageRequest, grader_id: UUID) -> HttpResponse:
    """Show a grader's last checks and status changes; a POST checks its health now.

    raises NotFound for people who see only its entry in the marketplace
    """
    principal = request.principal
    if request.method == "POST":
        grader = finding.find(principal, grader_id, "update")
        acting.concerns(finding.RESOURCE, "update", grader.public_id)
        acting.attempt(
            request, lambda: reports.check_now(grader), toast="Health checked. See the result below.", calls_out=True
        )
        return redirect("grader_health", grader_id)
    grader = finding.find(principal, grader_id)
    if not responses.sees_all_of(grader, principal):
        raise NotFound("Only the grader's own organization sees its checks.")
    health = health_responses.health_out(grader, *reports.history(grader), now=database_now())
    context = finding.context(principal, grader, "health", health=health)
    return render(request, "graders/health.html", context | finding.present_state(grader))


@page(READS)
def settings(request: PageRequest, grader_id: UUID) -> HttpResponse:
    """Show a grader's registration and the ids of its secrets, with what the person can do with it."""
    grader = finding.find(request.principal, grader_id)
    maker = people.EmailAddresses(request.principal, [grader.created_by_id]).of(grader.created_by_id)
    return render(request, "graders/settings.html", finding.context(request.principal, grader, "settings", maker=maker))


def _present_state(principal: Principal, grader: Grader) -> dict[str, Any]:
    return {"grader": grader, "may": finding.may(principal, grader), **finding.present_state(grader)}


def _charts(report: GraderStatsOut, window: str) -> dict[str, Chart]:
    """Return the charts of a report by name."""
    points = [(datetime.fromisoformat(point.at), point) for point in report.timeline]
    until = timezone.now()
    span = statistics_reports.WINDOWS.get(window)
    began = until - (span or timedelta(days=1))
    since = min([began, *(moment for moment, _ in points)]) if span or not points else points[0][0]
    until = max(until, since + timedelta(minutes=5))
    latency = [(moment, point.avg_latency_ms) for moment, point in points]
    means = [(moment, point.avg_score) for moment, point in points]
    return {
        "work": columns(
            "Scored and failed", [(moment, (point.scored, point.errors)) for moment, point in points],
            ("Scored", "Failed"), since=since, until=until, tones=("good", "bad"),
            axis="Attempts",            empty="Autotune did not call it in this period.",
        ),
        "latency": lines(
            "Mean latency", [Series("Mean latency", latency)], since=since, until=until, axis="Latency", unit="ms",
            low=0, wide=False, empty="It scored nothing in this period.",
        ),
        "means": lines(
            "Mean score", [Series("Mean score", means)], since=since, until=until, unit="score", low=0, high=1,
            wide=False, empty="It scored nothing in this period.",
        ),
        "scores": histogram("Scores", report.score_distribution, empty="It scored nothing in this period."),
        "errors": bars(
            "Failed attempts by code", [Bar(error.code, error.count, tone="bad") for error in report.errors[:BARS]],
            empty="No attempt failed in this period.",
        ),
    }  # fmt: skip


def _errors(principal: Principal, grader: Grader, report: GraderStatsOut) -> list[dict[str, Any]]:
    """Return each failure code with its share of all attempts, who is responsible, what must change, and the grader's
    own error text where the advice refers to it."""
    texts = _error_texts(principal, grader, [error.code for error in report.errors])
    attempts = report.total_scored + sum(error.count for error in report.errors)
    return [
        {
            "code": error.code,
            "count": error.count,
            "share": error.count / attempts,
            "fault": failure_codes.fault(error.code),
            "advice": failure_codes.advice(error.code),
            "text": texts.get(error.code, ""),
        }
        for error in report.errors
    ]


def _error_texts(principal: Principal, grader: Grader, codes: Collection[str]) -> dict[str, str]:
    """Return the newest error text of each code whose advice refers to it."""
    wordy = [code for code in codes if code in failure_codes.ERROR_TEXT_CODES]
    if not wordy:
        return {}
    replies = grader_error_texts.send(sender=Grader, principal=principal, grader_id=grader.pk, codes=wordy)
    return {code: text for _, texts in replies for code, text in texts.items()}
