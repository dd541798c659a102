"""The API endpoints of roles."""

from uuid import UUID

from rest_framework.request import Request

from autotune.access import querysets, responses
from autotune.access.models import Role
from autotune.access.requests import NewRole, RolePatch
from autotune.access.roles import custom
from autotune.access.views import ApiView, find_for
from autotune.core.api.operations import operation
from autotune.core.api.pagination import PageQuery, SortOrder, page
from autotune.core.errors import Forbidden

RESOURCE = "roles"
ORDER = SortOrder("roles", {"createdAt": "created_at", "name": "name"}, default="createdAt")


class RolesView(ApiView):
    @operation(
        summary="List roles: the built-in ones, and the organization's own.", resource=RESOURCE, action="read",
        query=PageQuery, answers={200: responses.RolePage},
    )  # fmt: skip
    def get(self, request: Request, query: PageQuery) -> responses.RolePage:
        roles = querysets.roles().visible_to(self.principal)
        rows, pagination = page(roles, query, ORDER, owner=self.principal.organization.pk)
        return responses.RolePage([responses.role_out(row) for row in rows], pagination)

    @operation(
        summary="Create a role. It cannot allow more than the caller's own role.", resource=RESOURCE, action="create",
        body=NewRole, answers={201: responses.RoleAnswer}, errors=(409,),
    )  # fmt: skip
    def post(self, request: Request, body: NewRole) -> responses.RoleAnswer:
        return responses.RoleAnswer(responses.role_out(custom.create(self.principal, body)))


class RoleDetailView(ApiView):
    @operation(summary="Read a role.", resource=RESOURCE, action="read", answers={200: responses.RoleAnswer})
    def get(self, request: Request, role_id: UUID) -> responses.RoleAnswer:
        return responses.RoleAnswer(responses.role_out(self.role(role_id, "read")))

    @operation(
        summary="Change a role for all who have it.", resource=RESOURCE, action="update", body=RolePatch,
        answers={200: responses.RoleAnswer}, errors=(409,),
    )  # fmt: skip
    def patch(self, request: Request, role_id: UUID, body: RolePatch) -> responses.RoleAnswer:
        role = custom.change(self.principal, self.role(role_id, "update").pk, body)
        return responses.RoleAnswer(responses.role_out(role))

    @operation(
        summary="Delete a role that no member or key has.", resource=RESOURCE, action="delete", answers={204: None},
        errors=(409,),
    )  # fmt: skip
    def delete(self, request: Request, role_id: UUID) -> None:
        custom.delete(self.principal, self.role(role_id, "delete").pk)

    def role(self, role_id: UUID, action: str) -> Role:
        if action != "read" and Role.objects.filter(pk=role_id, organization=None).exists():
            raise Forbidden(
                "Built-in roles cannot be changed or deleted. Create your own role instead.", code="built_in_role"
            )
        return find_for(querysets.roles(), self.principal, role_id, action, "role")
