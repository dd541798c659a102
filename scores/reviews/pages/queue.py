"""The list of reviews, with tabs: open, claimed by the reader, decided, all."""

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
from autotune.core.pages.listing import ListRequest
from graders.models import Grader
from scores.models import Review
from scores.querysets import ReviewQuerySet
from scores.results import choices
from scores.results.names import NamedObject, ObjectNames
from scores.reviews import access, queue
from scores.reviews.pages import item
from scores.reviews.pages.forms import people
from scores.reviews.queue import DECIDED
from scores.reviews.requests import ReviewQuery
from scores.states import ReviewStatus
from tasks.models import Task

SHOWS: Final = (("open", "Open"), ("mine", "Yours"), ("decided", "Decided"), ("all", "All"))


@dataclass(frozen=True, slots=True)
class ReviewListRow:
    """A review of the list. `claimant`: whose claim it is now; `own`: the reader submitted its completion."""

    review: Review
    task: NamedObject
    grader: NamedObject
    claimant: str
    decider: str
    own: bool


@page(("reviews", "read"))
def reviews_page(request: PageRequest) -> HttpResponse:
    """List the reviews that match the filters; without filters the open ones, the oldest first."""
    principal = request.principal
    show = _show(request)
    list_request = listing.read(request, ReviewQuery)
    readable = access.readable(principal)
    order = replace(access.ORDER, default="createdAt") if show in ("open", "mine") else access.ORDER
    rows, pages = _page(principal, list_request, _reviews_of_tab(readable, show, principal), order)
    may_decide = policy.reach(principal, "reviews", "update") is not None
    filters = list_request.form_values
    context = {
        "title": "Reviews",
        "asked": list_request,
        "show": show,
        "shows": SHOWS,
        "rows": _rows(principal, rows),
        "pager": listing.pager(pages, len(rows)),
        "may_decide": may_decide,
        "progress": item.progress(request) if may_decide else None,
        "claimed": queue.claimed_by(readable, access.reviewer(principal)).count() if may_decide else 0,
        "person": ids.encode("user", principal.user.pk),
        "states": [(status.value, status.value.capitalize()) for status in ReviewStatus],
        "task_choices": choices.by_name(Task.objects.visible_to(principal), "task", filters.get("taskId", "")),
        "grader_choices": choices.by_name(_graders(principal), "grader", filters.get("graderId", "")),
    }
    return render(request, "scores/reviews/list.html", context)


def _show(request: PageRequest) -> str:
    show = request.GET.get("show", "")
    if show in {name for name, _ in SHOWS}:
        return show
    return "all" if request.GET.get("status") else "open"


def _reviews_of_tab(reviews: ReviewQuerySet, show: str, principal: Principal) -> ReviewQuerySet:
    match show:
        case "open":
            return reviews.filter(status=ReviewStatus.OPEN)
        case "mine":
            return queue.claimed_by(reviews, access.reviewer(principal))
        case "decided":
            return reviews.filter(status__in=DECIDED)
    return reviews


def _page(
    principal: Principal, list_request: ListRequest[ReviewQuery], reviews: ReviewQuerySet, order: pagination.SortOrder
) -> tuple[list[Review], Pagination]:
    try:
        matching = access.filtered(reviews, list_request.query, principal).defer("reasoning", "details", "explanation")
        rows = matching.annotate(submitted_by=F("completion__created_by_id"))
        return pagination.page(rows, list_request.query, order, owner=principal.organization.pk, counted=False)
    except (Invalid, NotFound) as exc:
        list_request.faults[exc.errors[0].pointer.lstrip("?")] = exc.errors[0].detail
        return [], Pagination(list_request.query.limit, 0, None, None)


def _rows(principal: Principal, rows: list[Any]) -> list[ReviewListRow]:
    names, person_names, now = ObjectNames.of_rows(principal, rows), people(principal, rows), timezone.now()
    administers = access.reviewer(principal).administers
    return [
        ReviewListRow(
            row,
            names.task(row.task_id),
            names.grader(row.grader_id),
            person_names.get(row.claimed_by_id, "") if _later(row.claimed_until, now) else "",
            person_names.get(row.decided_by_id, ""),
            row.submitted_by == principal.user.pk and not administers,
        )
        for row in rows
    ]


def _later(moment: datetime | None, now: datetime) -> bool:
    return moment is not None and moment > now


def _graders(principal: Principal) -> Any:
    if policy.reach(principal, "endpoint_graders", "read") is None:
        return Grader.objects.none()
    return policy.scope(Grader.objects.live(), principal, "endpoint_graders", "read")
