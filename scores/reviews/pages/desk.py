"""The page of the review queue: one review after the other. Scripts load the next one ahead; forms work too."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from autotune.access.audit import current_call
from autotune.access.frame import acting, navigation
from autotune.access.frame.entry import PageRequest, page
from autotune.core import clock, ids, markdown
from autotune.core.api.parsing import convert_query
from scores.models import Review
from scores.querysets import ReviewQuerySet
from scores.reviews import access, decisions, queue
from scores.reviews.pages import item
from scores.reviews.pages.replies import by_script, replies
from scores.reviews.requests import ReviewQuery

FILTERS = ("taskId", "graderId")
MOST_NAMED = 20


@page(("reviews", "update"), methods=("GET", "HEAD", "POST"))
@replies
def desk(request: PageRequest) -> HttpResponseBase:
    """Show the review that the person holds (GET), or claim the next one (POST)."""
    if request.method == "POST":
        return _next(request)
    by = access.reviewer(request.principal)
    claimed_review = queue.claimed_by(_queue(request), by).select_related("completion", "task").first()
    if claimed_review is not None:
        current_call.about(claimed_review.public_id)
    context = {
        "title": "Review queue",
        "crumbs": navigation.crumbs(("Reviews", reverse("reviews"))),
        "progress": queue.progress(_queue(request), by),
        "asked": _filters(request),
        "person": ids.encode("user", request.principal.user.pk),
        "empty": request.GET.get("empty") == "1",
        **(item.context(request, claimed_review) if claimed_review else {}),
    }
    return render(request, "scores/reviews/desk.html", context)


@page(("reviews", "update"), methods=("POST",))
@replies
def claim(request: PageRequest, review_id: UUID) -> HttpResponseBase:
    """Claim one review, or restart the 15 minutes of its claim."""
    acting.concerns("reviews", "update", ids.encode("rev", review_id))
    pk, by = access.for_update(request.principal, review_id), access.reviewer(request.principal)
    if by_script(request):
        claimed = acting.do(request, lambda: decisions.claim(pk, by))
        return JsonResponse({"until": clock.wire(claimed.claimed_until)})  # type: ignore[arg-type]
    acting.attempt(request, lambda: decisions.claim(pk, by))
    return redirect("review", pk)


@page(("reviews", "update"), methods=("POST",))
@replies
def release(request: PageRequest, review_id: UUID) -> HttpResponseBase:
    """Release a review; with `back=next`, continue with the next one."""
    acting.concerns("reviews", "update", ids.encode("rev", review_id))
    pk, by = access.for_update(request.principal, review_id), access.reviewer(request.principal)
    acting.do(request, lambda: queue.release(pk, by))
    if by_script(request):
        return JsonResponse({})
    if request.POST.get("back") == "next":
        return onward(request, after=pk)
    return redirect("reviews")


def onward(request: PageRequest, *, after: UUID | None = None) -> HttpResponse:
    """Redirect to the review queue with the next review, for browsers without scripts."""
    claimed = _claim(request, after)
    query = _kept(request) | ({} if claimed else {"empty": "1"})
    if claimed is None:
        messages.info(request, "There are no more reviews that you can decide on now.")
    return redirect(f"{reverse('reviews_next')}{'?' if query else ''}{urlencode(query)}")


def _next(request: PageRequest) -> HttpResponseBase:
    acting.concerns("reviews", "update")
    after = _id(request.POST.get("after", ""))
    if not by_script(request):
        has_claimed_review = queue.claimed_by(_queue(request), access.reviewer(request.principal)).exists()
        return redirect(_desk_url(request)) if has_claimed_review else onward(request, after=after)
    claimed = _claim(request, after)
    remaining = _left(request) if request.POST.get("count") else None
    if claimed is None:
        return JsonResponse({"item": None, "left": remaining})
    context = {**item.context(request, claimed), "asked": _filters(request)}
    html = render(request, "scores/reviews/_item.html", context)
    return JsonResponse({"item": html.content.decode(), "left": remaining})


def _claim(request: PageRequest, after: UUID | None) -> Review | None:
    by, besides = access.reviewer(request.principal), _ids(request, "besides")
    claimed = acting.do(
        request,
        lambda: queue.claim_next(_queue(request), by, after=after, besides=besides),
        calls_out=True,  # each claim is a transaction of its own
    )
    if claimed is not None and (call := current_call.current()) is not None and not call.object_id:
        current_call.about(claimed.public_id)  # a request that decided before keeps its own review
    return claimed


def _left(request: PageRequest) -> int:
    """Count the reviews that wait, without those whose decision the browser delays or is sending."""
    by = access.reviewer(request.principal)
    return queue.count_decidable(_queue(request).exclude(pk__in=_ids(request, "decided")), by)


def _queue(request: PageRequest) -> ReviewQuerySet:
    query = convert_query(_filters(request), ReviewQuery)
    return access.filtered(access.decidable(request.principal), query, request.principal)


def _filters(request: HttpRequest) -> dict[str, str]:
    parameters = request.POST if request.method == "POST" else request.GET
    return {name: parameters[name] for name in FILTERS if parameters.get(name)}


def _kept(request: HttpRequest) -> dict[str, str]:
    """What the address of the next review keeps: the filters, and how its answer is shown."""
    return _filters(request) | ({"view": "raw"} if markdown.is_raw(request.GET) else {})


def _desk_url(request: HttpRequest) -> str:
    query = urlencode(_kept(request))
    return f"{reverse('reviews_next')}{'?' if query else ''}{query}"


def _ids(request: PageRequest, name: str) -> list[UUID]:
    """Return the reviews that a form names, at most MOST_NAMED."""
    return [pk for text in request.POST.getlist(name)[:MOST_NAMED] if (pk := _id(text))]


def _id(text: str) -> UUID | None:
    try:
        return ids.decode("rev", text)
    except ValueError:
        return None
