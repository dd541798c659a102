"""Pages of legal holds: list, place, show and release them."""

from typing import Final
from uuid import UUID

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from autotune.access import policy
from autotune.access.frame import acting, people, places
from autotune.access.frame.entry import PageRequest, page
from autotune.access.views import find, find_for
from autotune.core.api import pagination
from autotune.core.errors import AutotuneError
from autotune.core.pages import listing
from scores.models import LegalHold
from scores.retention import legal_holds
from scores.retention.api import HOLDS
from scores.retention.pages.forms import LegalHoldForm
from scores.retention.requests import LegalHoldQuery, NewLegalHold, scope_of
from scores.retention.responses import legal_hold_out

STATES: Final = (("true", "in force"), ("false", "released"))
FIELDS = ("reason", "completionId", "taskId", "modelId")


@page(("retention", "read"))
def every(request: PageRequest) -> HttpResponse:
    """List all holds, the newest first, released ones too."""
    principal = request.principal
    list_request = listing.read(request, LegalHoldQuery)
    visible_holds = LegalHold.objects.visible_to(principal)
    if list_request.query.active is not None:
        visible_holds = visible_holds.filter(released_at__isnull=list_request.query.active)
    rows, pages = pagination.page(visible_holds, list_request.query, HOLDS, owner=principal.organization.pk)
    names = people.EmailAddresses(principal, [row.created_by_id for row in rows])
    context = {
        "title": "Legal holds",
        "crumbs": places.crumbs(("Retention", reverse("retention"))),
        "rows": [{"hold": row, "out": legal_hold_out(row), "who": names.of(row.created_by_id)} for row in rows],
        "asked": list_request,
        "states": STATES,
        "pager": listing.pager(pages, len(rows)),
        "may_create": policy.reach(principal, "retention", "create") is not None,
    }
    return render(request, "scores/retention/holds.html", context)


@page(("retention", "create"), methods=("GET", "HEAD", "POST"))
def new(request: PageRequest) -> HttpResponseBase:
    """Place a hold."""
    principal = request.principal
    form = LegalHoldForm(
        request.POST or None, initial={name: request.GET.get(name, "")[:200] for name in ("what", "which")}
    )
    acting.concerns("retention", "create", fields=FIELDS)
    if request.method == "POST" and form.is_valid():
        try:
            body = form.body(NewLegalHold)
            scope = scope_of(body, principal, needs_one=False)
            message = "The hold is in force: nothing that it covers will be erased or deleted."
            hold = acting.do(request, lambda: legal_holds.place(scope, body.reason, principal.user), toast=message)
        except AutotuneError as exc:
            form.refuse(exc)
        else:
            acting.concerns("retention", "create", hold.public_id, fields=FIELDS)
            return redirect("legal_hold", hold.pk)
    context = {
        "title": "Place a legal hold",
        "crumbs": places.crumbs(("Retention", reverse("retention"))),
        "form": form,
    }
    return render(request, "scores/retention/hold_new.html", context, status=400 if form.errors else 200)


@page(("retention", "read"), methods=("GET", "HEAD", "POST"))
def legal_hold(request: PageRequest, hold_id: UUID) -> HttpResponseBase:
    """Show a hold; a POST releases it."""
    principal = request.principal
    if request.method == "POST":
        hold: LegalHold = find_for(LegalHold.objects.all(), principal, hold_id, "delete", "legal hold")
        acting.concerns("retention", "delete", hold.public_id)
        message = "The hold is released. Retention and erasures apply again to what it covered."
        acting.attempt(request, lambda: legal_holds.release(hold_id, principal.user), toast=message)
        return redirect("legal_hold", hold_id)
    hold = find(LegalHold.objects.visible_to(principal), hold_id, "legal hold")
    names = people.EmailAddresses(principal, [hold.created_by_id, hold.released_by_id])
    deletable = LegalHold.objects.allowed(principal, "delete").filter(pk=hold_id)
    context = {
        "title": "Legal hold",
        "crumbs": places.crumbs(("Retention", reverse("retention")), ("Legal holds", reverse("legal_holds"))),
        "hold": hold,
        "out": legal_hold_out(hold),
        "who": names.of(hold.created_by_id),
        "released_by": names.of(hold.released_by_id),
        "may_release": hold.released_at is None and deletable.exists(),
    }
    return render(request, "scores/retention/hold.html", context)
