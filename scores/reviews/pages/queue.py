"""The queue of reviews: what waits, what the person holds, what was decided."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from django.db.models import F
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone

from autotune.access import policy
from autotune.access.frame.entry import PageRequest, page
from autotune.access.principal import Principal
from autotune.core import ids
from autotune.core.api import pagination
from autotune.core.api.pagination import Pagination
from autotune.core.errors import Invalid, NotFound
from autotune.core.pages import listing
from autotune.core.pages.listing import Asked
from graders.models import Grader
from scores.models import Review
from scores.querysets import ReviewQuerySet
from scores.results import choices
from scores.results.names import Named, Names
from scores.reviews import access, queue
from scores.reviews.pages import item
from scores.reviews.pages.forms import people
from scores.reviews.queue import DECIDED
from scores.reviews.requests import ReviewQuery
from scores.states import ReviewStatus
from tasks.models import Task

SHOWS: Final = (("open", "Open"), ("mine", "Yours"), ("decided", "Decided"), ("all", "All"))


@dataclass(frozen=True, slots=True)
class Row:
    """A review of the list. `holder`: who holds it now; `own`: the reader submitted its completion."""

    review: Review
    task: Named
    grader: Named
    holder: str
    decider: str
    own: bool


@page(("reviews", "read"))
def reviews_page(request: PageRequest) -> HttpResponse:
    """Reviews as the filters name them; the open ones, the oldest first, unless they say otherwise."""
    principal = request.principal
    show = _show(request)
    asked = listing.read(request, ReviewQuery)
    readable = access.readable(principal)
    order = replace(access.ORDER, default="createdAt") if show in ("open", "mine") else access.ORDER
    rows, pages = _page(principal, asked, _shown(readable, show, principal), order)
    may = policy.reach(principal, "reviews", "update") is not None
    given = asked.given
    context = {
        "title": "Reviews",
        "asked": asked,
        "show": show,
        "shows": SHOWS,
        "rows": _rows(principal, rows),
        "pager": listing.pager(pages, len(rows)),
        "may_decide": may,
        "progress": item.progress(request) if may else None,
        "held": queue.held_by(readable, access.reviewer(principal)).count() if may else 0,
        "person": ids.encode("user", principal.user.pk),
        "statuses": [str(one) for one in ReviewStatus],
        "task_choices": choices.by_name(Task.objects.visible_to(principal), "task", given.get("taskId", "")),
        "grader_choices": choices.by_name(_graders(principal), "grader", given.get("graderId", "")),
    }
    return render(request, "reviews/list.html", context)


def _show(request: PageRequest) -> str:
    asked = request.GET.get("show", "")
    if asked in {name for name, _ in SHOWS}:
        return asked
    return "all" if request.GET.get("status") else "open"


def _shown(found: ReviewQuerySet, show: str, principal: Principal) -> ReviewQuerySet:
    match show:
        case "open":
            return found.filter(status=ReviewStatus.OPEN)
        case "mine":
            return queue.held_by(found, access.reviewer(principal))
        case "decided":
            return found.filter(status__in=DECIDED)
    return found


def _page(
    principal: Principal, asked: Asked[ReviewQuery], found: ReviewQuerySet, order: pagination.Order
) -> tuple[list[Review], Pagination]:
    try:
        chosen = access.filtered(found, asked.query, principal).defer("reasoning", "explanation")
        rows = chosen.annotate(submitted_by=F("completion__created_by_id"))
        return pagination.page(rows, asked.query, order, owner=principal.organization.pk, counted=False)
    except (Invalid, NotFound) as exc:
        asked.faults[exc.errors[0].pointer.lstrip("?")] = exc.errors[0].detail
        return [], Pagination(asked.query.limit, 0, None, None)


def _rows(principal: Principal, rows: list[Any]) -> list[Row]:
    names, known, now = Names.of_rows(principal, rows), people(principal, rows), timezone.now()
    administers = access.reviewer(principal).administers
    return [
        Row(
            one,
            names.task(one.task_id),
            names.grader(one.grader_id),
            known.get(one.claimed_by_id, "") if _later(one.claimed_until, now) else "",
            known.get(one.decided_by_id, ""),
            one.submitted_by == principal.user.pk and not administers,
        )
        for one in rows
    ]


def _later(moment: datetime | None, now: datetime) -> bool:
    return moment is not None and moment > now


def _graders(principal: Principal) -> Any:
    if policy.reach(principal, "endpoint_graders", "read") is None:
        return Grader.objects.none()
    return policy.scope(Grader.objects.live(), principal, "endpoint_graders", "read")
