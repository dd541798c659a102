"""The page of retention: the organization's days, and its newest holds and erasures."""

from datetime import timedelta
from typing import Any, Final

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone

from autotune.access import policy
from autotune.access.frame import acting, people, places
from autotune.access.frame.entry import PageRequest, page
from autotune.access.models import Organization
from autotune.access.organizations import lifecycle
from autotune.access.requests import OrganizationPatch
from autotune.core import ids
from autotune.core.errors import AutotuneError
from scores.models import Erasure, LegalHold
from scores.retention.pages.forms import RetentionDaysForm
from scores.retention.responses import erasure_out, legal_hold_out
from tasks.models import Completion

SHOWN: Final = 5
COUNTED: Final = 10_000  # beyond it the page shows “more than”: counting takes longer with more rows


@page(("retention", "read"), methods=("GET", "HEAD", "POST"))
def settings(request: PageRequest) -> HttpResponseBase:
    """Show and save the days. Before a change that deletes something, show what it would delete."""
    principal = request.principal
    own = principal.organization
    form = RetentionDaysForm(request.POST or None, initial={"text_days": own.text_days, "score_days": own.score_days})
    due: dict[str, Any] | None = None
    if request.method == "POST":
        policy.require(principal, "retention", "update")
        acting.concerns("retention", "update", ids.encode("org", own.pk), fields=("retention",))
        if form.is_valid():
            due = _due(own, form.cleaned_data["text_days"], form.cleaned_data["score_days"])
            if due is None or request.POST.get("confirmed") == "yes":
                try:
                    body = form.body(OrganizationPatch)
                    acting.do(request, lambda: lifecycle.change(principal, own.pk, body), toast="Retention is saved.")
                except AutotuneError as exc:
                    form.refuse(exc)
                else:
                    return redirect("retention")
    return _page(request, form, due if not form.errors else None)


def _page(request: PageRequest, form: RetentionDaysForm, due: dict[str, Any] | None) -> HttpResponse:
    principal = request.principal
    holds = LegalHold.objects.visible_to(principal).active().order_by("-pk")
    erasures = Erasure.objects.visible_to(principal).order_by("-pk")
    hold_rows, erasure_rows = list(holds[: SHOWN + 1]), list(erasures[: SHOWN + 1])
    creator_ids = [*(row.created_by_id for row in hold_rows), *(row.created_by_id for row in erasure_rows)]
    names = people.EmailAddresses(principal, creator_ids)
    context = {
        "title": "Retention",
        "crumbs": places.crumbs(),
        "form": form,
        "organization": principal.organization,
        "may_update": policy.reach(principal, "retention", "update") in ("organization", "all"),
        "may_create": policy.reach(principal, "retention", "create") is not None,
        "due": due,
        "holds": [
            {"hold": row, "out": legal_hold_out(row), "who": names.of(row.created_by_id)} for row in hold_rows[:SHOWN]
        ],
        "more_holds": len(hold_rows) > SHOWN,
        "erasures": [
            {"erasure": row, "out": erasure_out(row), "who": names.of(row.created_by_id)}
            for row in erasure_rows[:SHOWN]
        ],
        "more_erasures": len(erasure_rows) > SHOWN,
    }
    return render(request, "scores/retention/overview.html", context, status=400 if form.errors else 200)


def _due(own: Organization, text_days: int | None, score_days: int | None) -> dict[str, Any] | None:
    """Count what shorter retention would delete within the next hour; None if no period gets shorter."""
    shorter = {
        "texts": _is_shorter(text_days, own.text_days) and text_days,
        "scores": _is_shorter(score_days, own.score_days) and score_days,
    }
    if not any(shorter.values()):
        return None
    now, due = timezone.now(), {}
    for name, days in shorter.items():
        if days:
            before = now - timedelta(days=days)
            rows = Completion.objects.filter(organization=own, pk__lt=ids.first_of(before))
            if name == "texts":
                rows = rows.filter(erased_at=None, task__text_days=None)
            count = rows.order_by()[: COUNTED + 1].count()
            due[name] = {"count": min(count, COUNTED), "more": count > COUNTED, "before": before, "days": days}
    return due


def _is_shorter(days: int | None, than: int | None) -> bool:
    return days is not None and (than is None or days < than)
