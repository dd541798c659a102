"""The page of a reward endpoint, and what is done from it."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from autotune.access import policy
from autotune.access.frame import acting, navigation
from autotune.access.frame.acting import AutotuneError
from autotune.access.frame.entry import PageRequest, page
from autotune.access.pages import acts, once
from autotune.access.views import find_for
from autotune.charts import columns
from scores.live import endpoints, figures, trying
from scores.live.endpoint_requests import NewRewardEndpoint, RewardEndpointPatch
from scores.live.pages import commands
from scores.live.pages.forms import POLICIES, PROTOCOLS, WITHOUT_TEXT, ChangeForm, NewForm, TryForm, deadlines
from scores.live.trying import Tried
from scores.models import RewardEndpoint
from scores.results.names import Named, Names

WHAT = "reward endpoint"
RESOURCE = "reward_endpoints"
EDIT = ("GET", "HEAD", "POST")


@page((RESOURCE, "create"), methods=EDIT)
def new(request: PageRequest) -> HttpResponse:
    """Made once for each form. The address is shown on the answer to the POST alone."""
    first = {"protocol": "openrlhf", "unscored": "hold", "task_id": request.GET.get("taskId", "")}
    form = NewForm(request.POST if request.method == "POST" else None, request.principal, initial=first)
    acts.concerns(RESOURCE, "create")
    if request.method == "POST" and form.is_valid():
        try:
            body = form.body(NewRewardEndpoint)
            made = once.do(request, lambda: endpoints.create(request.principal, body))
        except AutotuneError as exc:
            form.refuse(exc)
        else:
            acts.concerns(RESOURCE, "create", made.endpoint.public_id)
            return _shown(request, made.endpoint, url=made.url, status=201)
    context = {
        "title": "New reward endpoint",
        "crumbs": navigation.crumbs(("Live rewards", reverse("reward_endpoints"))),
        "form": form,
        "ticket": once.ticket(request),
        "protocols": PROTOCOLS,
        "policies": POLICIES,
        "without_text": WITHOUT_TEXT,
        "deadlines": deadlines(),
    }
    return render(request, "rewards/new.html", context, status=400 if form.errors else 200)


@page((RESOURCE, "read"))
def endpoint(request: PageRequest, endpoint_id: UUID) -> HttpResponse:
    return _shown(request, _found(request, endpoint_id, "read"))


@page((RESOURCE, "update"), methods=EDIT)
def change(request: PageRequest, endpoint_id: UUID) -> HttpResponse:
    found = _found(request, endpoint_id, "update")
    acts.concerns(RESOURCE, "update", found.public_id)
    form = ChangeForm(request.POST) if request.method == "POST" else ChangeForm.of(found)
    if request.method == "POST" and form.is_valid():
        try:
            acting.do(
                request, lambda: endpoints.change(found.pk, form.body(RewardEndpointPatch)), said="The change is saved."
            )
        except AutotuneError as exc:
            form.refuse(exc)
        else:
            return redirect("reward_endpoint", found.pk)
    caller = PROTOCOLS[found.protocol][0]
    context = {
        "title": "Change the endpoint",
        "crumbs": navigation.crumbs(
            ("Live rewards", reverse("reward_endpoints")), (f"{caller} endpoint", _address(found))
        ),
        "form": form,
        "endpoint": found,
        "policies": POLICIES,
        "without_text": WITHOUT_TEXT,
        "deadlines": [one for one in deadlines() if one[0] == caller],
    }
    return render(request, "rewards/change.html", context, status=400 if form.errors else 200)


@page((RESOURCE, "update"), methods=("POST",))
def switch(request: PageRequest, endpoint_id: UUID) -> HttpResponse:
    """On or off, by the value of `enabled`."""
    found, on = _found(request, endpoint_id, "update"), request.POST.get("enabled") == "true"
    acts.concerns(RESOURCE, "update", found.public_id, fields=("enabled",))
    said = "It takes calls again." if on else "It refuses calls until it is switched on again."
    acting.attempt(request, lambda: endpoints.change(found.pk, RewardEndpointPatch(enabled=on)), said=said)
    return redirect("reward_endpoint", found.pk)


@page((RESOURCE, "update"), methods=("POST",))
def rotate(request: PageRequest, endpoint_id: UUID) -> HttpResponse:
    """Made once for each form. The new address is shown on this answer alone."""
    found = _found(request, endpoint_id, "update")
    acts.concerns(RESOURCE, "update", found.public_id)
    try:
        made = once.do(request, lambda: endpoints.rotate(request.principal, found.pk))
    except AutotuneError as exc:
        return _shown(request, found, refused=exc.detail, status=exc.status)
    return _shown(request, made.endpoint, url=made.url, rotated=True)


@page((RESOURCE, "delete"), methods=EDIT)
def delete(request: PageRequest, endpoint_id: UUID) -> HttpResponse:
    """Asks first."""
    found = _found(request, endpoint_id, "delete")
    acts.concerns(RESOURCE, "delete", found.public_id)
    if request.method == "POST":
        acting.do(request, found.delete, said="The endpoint is deleted. Its address is refused from now on.")
        return redirect("reward_endpoints")
    context = {
        "title": "Delete this endpoint?",
        "crumbs": navigation.crumbs(
            ("Live rewards", reverse("reward_endpoints")), (f"{PROTOCOLS[found.protocol][0]} endpoint", _address(found))
        ),
        "endpoint": found,
        "task": _task(request, found),
    }
    return render(request, "rewards/delete.html", context)


@page((RESOURCE, "read"), methods=("POST",))
def attempt(request: PageRequest, endpoint_id: UUID) -> HttpResponse:
    """One prompt and response, answered in place. It waits, so no transaction is held around it."""
    found, form = _found(request, endpoint_id, "read"), TryForm(request.POST)
    tried = None
    acts.concerns("rewards", "create", found.public_id)
    if form.is_valid():
        given = form.cleaned_data
        try:
            tried = acting.do(
                request,
                lambda: trying.once(
                    request.principal, found, prompt=given["prompt"], response=given["response"], label=given["label"]
                ),
                calls_out=True,
            )
        except AutotuneError as exc:
            form.refuse(exc)
    return _shown(request, found, form=form, tried=tried, status=400 if form.errors else 200)


def _shown(
    request: PageRequest,
    endpoint: RewardEndpoint,
    *,
    url: str = "",
    rotated: bool = False,
    refused: str = "",
    form: TryForm | None = None,
    tried: Tried | None = None,
    status: int = 200,
) -> HttpResponse:
    """The page; `url` is told once."""
    principal, caller = request.principal, PROTOCOLS[endpoint.protocol][0]
    lately = figures.lately(endpoint, principal)
    answered, unscored = endpoint.answered, endpoint.unscored_count
    context: dict[str, Any] = {
        "title": f"{caller} endpoint",
        "crumbs": navigation.crumbs(("Live rewards", reverse("reward_endpoints"))),
        "endpoint": endpoint,
        "caller": caller,
        "policy": POLICIES[endpoint.unscored],
        "without_text": WITHOUT_TEXT[endpoint.without_text],
        "task": _task(request, endpoint),
        "url": url,
        "rotated": rotated,
        "refused": refused,
        "ticket": once.ticket_for(request, reverse("reward_endpoint_rotate", kwargs={"endpoint_id": endpoint.pk})),
        "scored": answered - unscored,
        "share": unscored / answered if answered else None,
        "lately": lately,
        "chart": columns(
            "Completions by hour", lately.hours, figures.NAMES, since=lately.since, until=lately.until,
            tones=("good", "bad", "warn"), empty="None came in the last 24 hours.",
        ),
        "recipe": commands.by_address(endpoint, url),
        "recipes": commands.by_sdk(endpoint),
        "environment": commands.environment(),
        "form": form or TryForm(),
        "tried": tried,
        "may_update": policy.reach(principal, "reward_endpoints", "update") is not None,
        "may_delete": policy.reach(principal, "reward_endpoints", "delete") is not None,
        "may_try": policy.reach(principal, "rewards", "create") is not None,
    }  # fmt: skip
    return render(request, "rewards/detail.html", context, status=status)


def _found(request: PageRequest, endpoint_id: UUID, action: str) -> RewardEndpoint:
    found: RewardEndpoint = find_for(RewardEndpoint.objects.all(), request.principal, endpoint_id, action, WHAT)
    return found


def _address(endpoint: RewardEndpoint) -> str:
    return reverse("reward_endpoint", kwargs={"endpoint_id": endpoint.pk})


def _task(request: PageRequest, endpoint: RewardEndpoint) -> Named:
    return Names.of(request.principal, tasks=[endpoint.task_id]).task(endpoint.task_id)
