"""The first page of the settings, and the pages on which the operating organization manages all organizations."""

from uuid import UUID

from django import forms
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from autotune.access import policy, responses
from autotune.access.frame import acting, navigation, places
from autotune.access.frame.entry import PageRequest, page
from autotune.access.models import Organization
from autotune.access.organizations import lifecycle
from autotune.access.organizations.api import ORDER
from autotune.access.requests import NewOrganization, OrganizationPatch
from autotune.access.views import find
from autotune.core import ids
from autotune.core.api.pagination import PageQuery
from autotune.core.api.pagination import page as cut
from autotune.core.errors import AutotuneError
from autotune.core.pages import listing
from autotune.core.pages.forms import BodyForm


class OrganizationNameForm(BodyForm):
    name = forms.CharField(max_length=200, label="Name", help_text="Members and invited people see this name.")


@page(methods=("GET", "HEAD", "POST"))
def settings(request: PageRequest) -> HttpResponseBase:
    """Show the settings pages and the organization, and rename it.

    Every member sees the organization's name and id. The other data needs the right to read organizations or their
    retention, as in the API.
    """
    principal = request.principal
    form = OrganizationNameForm(request.POST or None, initial={"name": principal.organization.name})
    if request.method == "POST":
        policy.require(principal, "organizations", "update")
        own = principal.organization.pk
        acting.concerns("organizations", "update", ids.encode("org", own), fields=["name"])
        if form.is_valid():
            try:
                body = form.body(OrganizationPatch)
                acting.do(request, lambda: lifecycle.change(principal, own, body), toast="The name is saved.")
            except AutotuneError as exc:
                form.refuse(exc)
            else:
                return redirect("settings")
    reach = policy.reach(principal, "organizations", "update")
    context = {
        "title": "Settings",
        "organization": responses.organization_out(principal.organization),
        "made": principal.organization.created_at,
        "whole": any(
            policy.reach(principal, resource, "read") is not None for resource in ("organizations", "retention")
        ),
        "form": form if reach in ("organization", "all") else None,
        "places": navigation.settings_links(principal),
        "all": policy.reach(principal, "organizations", "read") == "all",
    }
    return render(request, "access/organizations/settings.html", context, status=400 if form.errors else 200)


@page(("organizations", "read"))
def every(request: PageRequest) -> HttpResponse:
    """List the organizations that the person may read."""
    list_request = listing.read(request, PageQuery)
    organizations = lifecycle.readable(request.principal)
    rows, pagination = cut(organizations, list_request.query, ORDER, owner=request.principal.organization.pk)
    context = {
        "title": "Organizations",
        "crumbs": places.crumbs(),
        "rows": rows,
        "pager": listing.pager(pagination, len(rows)),
        "may_create": policy.reach(request.principal, "organizations", "create") == "all",
        "may_update": policy.reach(request.principal, "organizations", "update") == "all",
    }
    return render(request, "access/organizations/list.html", context)


@page(("organizations", "create"), methods=("GET", "HEAD", "POST"))
def new(request: PageRequest) -> HttpResponseBase:
    """Create an organization; its first member is invited next."""
    form = OrganizationNameForm(request.POST or None)
    acting.concerns("organizations", "create", fields=["name"])
    if request.method == "POST" and form.is_valid():
        try:
            body = form.body(NewOrganization)
            organization = acting.do(
                request, lambda: lifecycle.create(request.principal, body), toast="The organization is created."
            )
        except AutotuneError as exc:
            form.refuse(exc)
        else:
            acting.concerns("organizations", "create", ids.encode("org", organization.pk), fields=["name"])
            return redirect("organization", organization.pk)
    context = {"title": "Create an organization", "crumbs": places.crumbs(("Organizations", reverse("organizations")))}
    return render(
        request, "access/organizations/new.html", {**context, "form": form}, status=400 if form.errors else 200
    )


@page(("organizations", "update"), methods=("GET", "HEAD", "POST"))
def edit_organization(request: PageRequest, organization_id: UUID) -> HttpResponseBase:
    """Rename or suspend an organization."""
    principal = request.principal
    organization: Organization = find(lifecycle.readable(principal), organization_id, "organization")
    form = OrganizationNameForm(request.POST or None, initial={"name": organization.name})
    acting.concerns("organizations", "update", ids.encode("org", organization_id), fields=["name"])
    if request.method == "POST" and form.is_valid():
        try:
            body = form.body(OrganizationPatch)
            acting.do(request, lambda: lifecycle.change(principal, organization_id, body), toast="The name is saved.")
        except AutotuneError as exc:
            form.refuse(exc)
        else:
            return redirect("organization", organization_id)
    context = {
        "title": organization.name,
        "crumbs": places.crumbs(("Organizations", reverse("organizations"))),
        "organization": organization,
        "public": ids.encode("org", organization_id),
        "form": form,
        "may_suspend": policy.reach(principal, "organizations", "update") == "all" and not organization.operating,
    }
    return render(request, "access/organizations/organization.html", context, status=400 if form.errors else 200)


@page(("organizations", "update"), methods=("POST",))
def suspend(request: PageRequest, organization_id: UUID) -> HttpResponseBase:
    """Suspend an organization, or end its suspension."""
    suspended = request.POST.get("suspended") == "yes"
    acting.concerns("organizations", "update", ids.encode("org", organization_id), fields=["suspended"])
    body = OrganizationPatch(suspended=suspended)
    toast = "The organization is suspended." if suspended else "The suspension has ended."
    acting.attempt(request, lambda: lifecycle.change(request.principal, organization_id, body), toast=toast)
    return redirect("organization", organization_id)
