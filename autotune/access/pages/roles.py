"""Pages that list and show roles, and create, change and delete an organization's own."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import Count
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from autotune.access import policy, querysets
from autotune.access.frame import acting, places
from autotune.access.frame.entry import PageRequest, page
from autotune.access.models import Membership, Role
from autotune.access.pages import matrix
from autotune.access.principal import Principal
from autotune.access.requests import NewRole, RolePatch
from autotune.access.roles import custom
from autotune.access.roles.api import ORDER
from autotune.access.roles.builtin import EVERYTHING, SCOPES
from autotune.access.views import find_for
from autotune.core import ids, labels
from autotune.core.api import parsing
from autotune.core.api.pagination import PageQuery
from autotune.core.api.pagination import page as cut
from autotune.core.errors import AutotuneError, Forbidden
from autotune.core.pages import listing
from autotune.core.pages.forms import BodyForm

FIELDS = ("name", "description", "permissions")
BUILT_IN = {
    "training_operator": "Submits tasks and completions, reads scores, exports training data.",
    "grader_owner": "Registers graders, and reads the completions and scores that concern them.",
    "reviewer": "Gives scores when a grader requests a person's decision.",
    "organization_admin": "Manages the whole organization, with its members, keys, webhooks and retention.",
    "admin": "In the operating organization: manages all organizations.",
    "collector": "For keys inside applications: sends telemetry, and may do nothing else.",
}


class RoleForm(BodyForm):
    name = forms.CharField(max_length=64, label="Name")
    description = forms.CharField(max_length=400, required=False, label="Description")
    clears = frozenset({"description"})

    def whole(self, shape: Any) -> Any:
        """Return the request body, with the permissions of the matrix."""
        values = {**self.values(), "permissions": matrix.parse_permissions(self.data)}  # type: ignore[arg-type]
        return parsing.convert(values, shape)

    def clean(self) -> None:
        super().clean()
        if incomplete := matrix.incomplete_resources(self.data):  # type: ignore[arg-type]
            names = ", ".join(labels.resource(resource)[:40] for resource in incomplete[:5])
            self.add_error(None, f"Choose both a scope and at least one action, or neither: {names}.")


@page(("roles", "read"))
def every(request: PageRequest) -> HttpResponse:
    """List the built-in roles, then the organization's own."""
    principal = request.principal
    list_request = listing.read(request, PageQuery)
    roles = querysets.roles().visible_to(principal).select_related("organization")
    rows, pagination = cut(roles, list_request.query, ORDER, owner=principal.organization.pk)
    member_counts = _member_counts(principal, rows)
    context = {
        "title": "Roles",
        "crumbs": places.crumbs(),
        "rows": [
            {"role": row, "about": row.description or BUILT_IN.get(row.name, ""), "held": member_counts.get(row.pk, 0)}
            for row in rows
        ],
        "own": principal.role.pk,
        "counts": bool(policy.reach(principal, "members", "read")),
        "pager": listing.pager(pagination, len(rows)),
        "may_create": policy.reach(principal, "roles", "create") is not None,
        "everywhere": policy.reach(principal, "roles", "read") == "all",
    }
    return render(request, "access/roles/list.html", context)


@page(("roles", "read"))
def show_role(request: PageRequest, role_id: UUID) -> HttpResponse:
    """Show what a role may do."""
    principal = request.principal
    role: Role = find_for(querysets.roles(), principal, role_id, "read", "role")
    context = {
        "title": role.label,
        "crumbs": places.crumbs(("Roles", reverse("roles"))),
        "role": role,
        "public": ids.encode("role", role.pk),
        "about": role.description or (BUILT_IN.get(role.name, "") if role.organization_id is None else ""),
        "areas": matrix.read(role.permissions),
        "coming": matrix.coming(role.permissions),
        "actions": EVERYTHING,
        "is_own": role.pk == principal.role.pk,
        "may_update": _may(principal, role, "update"),
        "may_delete": _may(principal, role, "delete"),
        "may_create": policy.reach(principal, "roles", "create") is not None,
        "held": _member_counts(principal, [role]).get(role.pk, 0),
    }
    return render(request, "access/roles/role.html", context)


@page(("roles", "create"), methods=("GET", "HEAD", "POST"))
def new(request: PageRequest) -> HttpResponseBase:
    """Create a role, empty or as a copy of another one (`?like=`)."""
    principal = request.principal
    form = RoleForm(request.POST or None)
    acting.concerns("roles", "create", fields=FIELDS)
    if request.method == "POST" and form.is_valid():
        try:
            body: NewRole = form.whole(NewRole)
            toast = "The role is created. Give it to members and keys."
            role = acting.do(request, lambda: custom.create(principal, body), toast=toast)
        except AutotuneError as exc:
            form.refuse(exc)
        else:
            acting.concerns("roles", "create", ids.encode("role", role.pk), fields=FIELDS)
            return redirect("role", role.pk)
    return _form(request, form, "Make a role", _like(request), places.crumbs(("Roles", reverse("roles"))))


@page(("roles", "update"), methods=("GET", "HEAD", "POST"))
def edit(request: PageRequest, role_id: UUID) -> HttpResponseBase:
    """Change a role for all members and keys that have it."""
    principal = request.principal
    role = _own(principal, role_id, "update")
    form = RoleForm(request.POST or None, initial={"name": role.name, "description": role.description})
    public = ids.encode("role", role.pk)
    acting.concerns("roles", "update", public, fields=FIELDS)
    if request.method == "POST" and form.is_valid():
        try:
            body: RolePatch = form.whole(RolePatch)
            acting.do(request, lambda: custom.change(principal, role_id, body), toast="The role is saved.")
        except AutotuneError as exc:
            form.refuse(exc)
        else:
            return redirect("role", role_id)
    above = places.crumbs(("Roles", reverse("roles")), (role.name, reverse("role", args=[role_id])))
    return _form(request, form, "Change the role", role.permissions, above, role=role)


@page(("roles", "delete"), methods=("POST",))
def delete(request: PageRequest, role_id: UUID) -> HttpResponseBase:
    """Delete a role that no member or key has."""
    role = _own(request.principal, role_id, "delete")
    acting.concerns("roles", "delete", ids.encode("role", role_id))
    toast = f"The role {role.name[:64]} is deleted."
    done = acting.attempt(request, lambda: custom.delete(request.principal, role_id), toast=toast)
    return redirect("roles") if done else redirect("role", role_id)


def _form(
    request: PageRequest,
    form: RoleForm,
    title: str,
    permissions: Sequence[Mapping[str, Any]],
    above: Any,
    role: Role | None = None,
) -> HttpResponse:
    shown = matrix.echoed(request.POST) if request.method == "POST" else permissions
    context = {
        "title": title,
        "crumbs": above,
        "form": form,
        "role": role,
        "areas": matrix.editor(request.principal, shown),
        "coming": matrix.coming(shown),
        "actions": EVERYTHING,
        "scopes": SCOPES,
    }
    return render(request, "access/roles/form.html", context, status=400 if form.errors else 200)


def _like(request: PageRequest) -> Sequence[Mapping[str, Any]]:
    """Return the initial permissions: those of the role in `?like=`, if the person may read it."""
    try:
        pk = ids.decode("role", request.GET.get("like", ""))
    except ValueError:
        return []
    role = querysets.roles().visible_to(request.principal).filter(pk=pk).first()
    return role.permissions if role else []


def _own(principal: Principal, role_id: UUID, action: str) -> Role:
    """Return a custom role. Raises Forbidden for a built-in one, NotFound for an unknown one."""
    if Role.objects.filter(pk=role_id, organization=None).exists():
        raise Forbidden(
            "Built-in roles cannot be changed or deleted. Create your own role instead.", code="built_in_role"
        )
    role: Role = find_for(querysets.roles(), principal, role_id, action, "role")
    return role


def _may(principal: Principal, role: Role, action: str) -> bool:
    if role.organization_id is None:
        return False
    return querysets.roles().allowed(principal, action).filter(pk=role.pk).exists()


def _member_counts(principal: Principal, roles: Sequence[Role]) -> dict[UUID, int]:
    """Return, for each role, how many of the members that the principal may see have it."""
    seen = querysets.members().visible_to(principal).filter(role__in=[role.pk for role in roles], user__isnull=False)
    counted = Membership.objects.filter(pk__in=seen.order_by().values("pk")).values("role").annotate(count=Count("pk"))
    return {row["role"]: row["count"] for row in counted.order_by()}
