"""Pages of erasures: the list, and the form that requests one."""

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from autotune.access import policy
from autotune.access.frame import acting, people, places
from autotune.access.frame.entry import PageRequest, page
from autotune.core.api import pagination
from autotune.core.errors import AutotuneError
from autotune.core.pages import listing
from scores.models import Erasure
from scores.retention import erasures
from scores.retention.api import ERASURES
from scores.retention.pages.forms import ErasureForm
from scores.retention.requests import ErasureQuery, NewErasure, scope_of
from scores.retention.responses import erasure_out
from scores.states import ErasureStatus

FIELDS = ("completionId", "taskId", "modelId")


@page(("retention", "read"))
def every(request: PageRequest) -> HttpResponse:
    """List all erasures, the newest first."""
    principal = request.principal
    list_request = listing.read(request, ErasureQuery)
    visible_erasures = Erasure.objects.visible_to(principal)
    if list_request.query.status is not None:
        visible_erasures = visible_erasures.filter(status=list_request.query.status)
    rows, pages = pagination.page(visible_erasures, list_request.query, ERASURES, owner=principal.organization.pk)
    names = people.EmailAddresses(principal, [row.created_by_id for row in rows])
    context = {
        "title": "Erasures",
        "crumbs": places.crumbs(("Retention", reverse("retention"))),
        "rows": [{"erasure": row, "out": erasure_out(row), "who": names.of(row.created_by_id)} for row in rows],
        "asked": list_request,
        "statuses": ErasureStatus.values,
        "pager": listing.pager(pages, len(rows)),
        "may_create": policy.reach(principal, "retention", "create") is not None,
    }
    return render(request, "scores/retention/erasures.html", context)


@page(("retention", "create"), methods=("GET", "HEAD", "POST"))
def new(request: PageRequest) -> HttpResponseBase:
    """Request an erasure; its id or name must be typed twice."""
    principal = request.principal
    initial = {name: request.GET.get(name, "")[:200] for name in ("what", "which")}
    form = ErasureForm(request.POST or None, initial=initial)
    acting.concerns("retention", "create", fields=FIELDS)
    if request.method == "POST" and form.is_valid():
        try:
            scope = scope_of(form.body(NewErasure), principal, needs_one=True)
            message = "The erasure is requested. Completions under a legal hold are kept and counted."
            erasure = acting.do(request, lambda: erasures.request(scope, principal.user), toast=message)
        except AutotuneError as exc:
            form.refuse(exc)
        else:
            acting.concerns("retention", "create", erasure.public_id, fields=FIELDS)
            return redirect("erasures")
    context = {
        "title": "Erase text",
        "crumbs": places.crumbs(("Retention", reverse("retention")), ("Erasures", reverse("erasures"))),
        "form": form,
    }
    return render(request, "scores/retention/erasure_new.html", context, status=400 if form.errors else 200)
