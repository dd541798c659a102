"""The page of a reward endpoint and its actions: create, change, switch, rotate, delete and try."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from autotune.access import policy
from autotune.access.frame import acting, navigation, once
from autotune.access.frame.acting import AutotuneError
from autotune.access.frame.entry import PageRequest, page
from autotune.access.views import find_for
from autotune.charts import columns
from scores.live import endpoints, figures, trying
from scores.live.endpoint_requests import NewRewardEndpoint, RewardEndpointPatch
from scores.live.pages import commands
from scores.live.pages.forms import (
    POLICIES,
    PROTOCOLS,
    WITHOUT_TEXT,
    EndpointTryForm,
    NewRewardEndpointForm,
    RewardEndpointChangeForm,
    deadlines,
)
from scores.live.trying import EndpointTry
from scores.models import RewardEndpoint
from scores.results.names import NamedObject, ObjectNames

WHAT = "reward endpoint"
RESOURCE = "reward_endpoints"
EDIT = ("GET", "HEAD", "POST")


@page((RESOURCE, "create"), methods=EDIT)
def new(request: PageRequest) -> HttpResponse:
    """Create an endpoint, once for each form. Only the response to the POST shows its address."""
    first = {"protocol": "openrlhf", "unscored": "hold", "task_id": request.GET.get("taskId", "")}
    form = NewRewardEndpointForm(request.POST if request.method == "POST" else None, request.principal, initial=first)
    acting.concerns(RESOURCE, "create")
    if request.method == "POST" and form.is_valid():
        try:
            body = form.body(NewRewardEndpoint)
            address = once.do(request, lambda: endpoints.create(request.principal, body))
        except AutotuneError as exc:
            form.refuse(exc)
        else:
            acting.concerns(RESOURCE, "create", address.endpoint.public_id)
            return _render_detail(request, address.endpoint, url=address.url, status=201)
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
    return render(request, "scores/live/new.html", context, status=400 if form.errors else 200)


@page((RESOURCE, "read"))
def endpoint(request: PageRequest, endpoint_id: UUID) -> HttpResponse:
    return _render_detail(request, _endpoint_for(request, endpoint_id, "read"))


@page((RESOURCE, "update"), methods=EDIT)
def change(request: PageRequest, endpoint_id: UUID) -> HttpResponse:
    row = _endpoint_for(request, endpoint_id, "update")
    acting.concerns(RESOURCE, "update", row.public_id)
    form = RewardEndpointChangeForm(request.POST) if request.method == "POST" else RewardEndpointChangeForm.of(row)
    if request.method == "POST" and form.is_valid():
        try:
            acting.do(
                request, lambda: endpoints.change(row.pk, form.body(RewardEndpointPatch)), toast="The change is saved."
            )
        except AutotuneError as exc:
            form.refuse(exc)
        else:
            return redirect("reward_endpoint", row.pk)
    caller = PROTOCOLS[row.protocol][0]
    context = {
        "title": "Change the endpoint",
        "crumbs": navigation.crumbs(
            ("Live rewards", reverse("reward_endpoints")), (f"{caller} endpoint", _address(row))
        ),
        "form": form,
        "endpoint": row,
        "policies": POLICIES,
        "without_text": WITHOUT_TEXT,
        "deadlines": [entry for entry in deadlines() if entry[0] == caller],
    }
    return render(request, "scores/live/change.html", context, status=400 if form.errors else 200)


@page((RESOURCE, "update"), methods=("POST",))
def switch(request: PageRequest, endpoint_id: UUID) -> HttpResponse:
    """Switch the endpoint on or off, by the value of `enabled`."""
    row, on = _endpoint_for(request, endpoint_id, "update"), request.POST.get("enabled") == "true"
    acting.concerns(RESOURCE, "update", row.public_id, fields=("enabled",))
    message = "The endpoint accepts calls." if on else "The endpoint rejects calls until you switch it on."
    acting.attempt(request, lambda: endpoints.change(row.pk, RewardEndpointPatch(enabled=on)), toast=message)
    return redirect("reward_endpoint", row.pk)


@page((RESOURCE, "update"), methods=("POST",))
def rotate(request: PageRequest, endpoint_id: UUID) -> HttpResponse:
    """Replace the address, once for each form. Only this response shows the new one."""
    row = _endpoint_for(request, endpoint_id, "update")
    acting.concerns(RESOURCE, "update", row.public_id)
    try:
        address = once.do(request, lambda: endpoints.rotate(request.principal, row.pk))
    except AutotuneError as exc:
        return _render_detail(request, row, refused=exc.detail, status=exc.status)
    return _render_detail(request, address.endpoint, url=address.url, rotated=True)


@page((RESOURCE, "delete"), methods=EDIT)
def delete(request: PageRequest, endpoint_id: UUID) -> HttpResponse:
    """Delete the endpoint, after a confirmation."""
    row = _endpoint_for(request, endpoint_id, "delete")
    acting.concerns(RESOURCE, "delete", row.public_id)
    if request.method == "POST":
        acting.do(request, row.delete, toast="The endpoint is deleted. Its address no longer works.")
        return redirect("reward_endpoints")
    context = {
        "title": "Delete this endpoint?",
        "crumbs": navigation.crumbs(
            ("Live rewards", reverse("reward_endpoints")), (f"{PROTOCOLS[row.protocol][0]} endpoint", _address(row))
        ),
        "endpoint": row,
        "task": _task(request, row),
    }
    return render(request, "scores/live/delete.html", context)


@page((RESOURCE, "read"), methods=("POST",))
def attempt(request: PageRequest, endpoint_id: UUID) -> HttpResponse:
    """Score one prompt and response in place. It waits for the reward, so it holds no transaction."""
    row, form = _endpoint_for(request, endpoint_id, "read"), EndpointTryForm(request.POST)
    tried = None
    acting.concerns("rewards", "create", row.public_id)
    if form.is_valid():
        fields = form.cleaned_data
        try:
            tried = acting.do(
                request,
                lambda: trying.once(
                    request.principal, row, prompt=fields["prompt"], response=fields["response"], label=fields["label"]
                ),
                calls_out=True,
            )
        except AutotuneError as exc:
            form.refuse(exc)
    return _render_detail(request, row, form=form, tried=tried, status=400 if form.errors else 200)


def _render_detail(
    request: PageRequest,
    endpoint: RewardEndpoint,
    *,
    url: str = "",
    rotated: bool = False,
    refused: str = "",
    form: EndpointTryForm | None = None,
    tried: EndpointTry | None = None,
    status: int = 200,
) -> HttpResponse:
    """Render the page. `url` is the address with the token, which is shown only once."""
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
            tones=("good", "bad", "warn"), axis="Completions", empty="No completions in the last 24 hours.",
        ),
        "recipe": commands.by_address(endpoint, url),
        "recipes": commands.by_sdk(endpoint),
        "environment": commands.environment(),
        "form": form or EndpointTryForm(),
        "tried": tried,
        "may_update": policy.reach(principal, "reward_endpoints", "update") is not None,
        "may_delete": policy.reach(principal, "reward_endpoints", "delete") is not None,
        "may_try": policy.reach(principal, "rewards", "create") is not None,
    }  # fmt: skip
    return render(request, "scores/live/detail.html", context, status=status)


def _endpoint_for(request: PageRequest, endpoint_id: UUID, action: str) -> RewardEndpoint:
    row: RewardEndpoint = find_for(RewardEndpoint.objects.all(), request.principal, endpoint_id, action, WHAT)
    return row


def _address(endpoint: RewardEndpoint) -> str:
    return reverse("reward_endpoint", kwargs={"endpoint_id": endpoint.pk})


def _task(request: PageRequest, endpoint: RewardEndpoint) -> NamedObject:
    return ObjectNames.of(request.principal, tasks=[endpoint.task_id]).task(endpoint.task_id)
