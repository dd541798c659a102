"""Endpoints of organizations."""

from uuid import UUID

from rest_framework.request import Request

from autotune.access import organizations, shapes
from autotune.access.inputs import NewOrganization, OrganizationPatch
from autotune.access.views import ApiView, find
from autotune.core.api.operations import operation
from autotune.core.api.pagination import Order, PageQuery, page

RESOURCE = "organizations"
ORDER = Order("organizations", {"createdAt": "created_at", "name": "name"})


class Organizations(ApiView):
    @operation(
        summary="List organizations: one's own; the operating one's admins see all.", resource=RESOURCE,
        or_resource="retention", action="read", query=PageQuery, answers={200: shapes.OrganizationPage},
    )  # fmt: skip
    def get(self, request: Request, query: PageQuery) -> shapes.OrganizationPage:
        found = organizations.readable(self.principal)
        rows, pagination = page(found, query, ORDER, owner=self.principal.organization.pk)
        return shapes.OrganizationPage([shapes.organization_out(row) for row in rows], pagination)

    @operation(
        summary="Make an organization (admins of the operating one).", resource=RESOURCE, action="create",
        body=NewOrganization, answers={201: shapes.OrganizationAnswer}, errors=(409,),
    )  # fmt: skip
    def post(self, request: Request, body: NewOrganization) -> shapes.OrganizationAnswer:
        return shapes.OrganizationAnswer(shapes.organization_out(organizations.create(self.principal, body)))


class OrganizationDetail(ApiView):
    @operation(
        summary="Read an organization.", resource=RESOURCE, or_resource="retention", action="read",
        answers={200: shapes.OrganizationAnswer},
    )  # fmt: skip
    def get(self, request: Request, organization_id: UUID) -> shapes.OrganizationAnswer:
        found = find(organizations.readable(self.principal), organization_id, "organization")
        return shapes.OrganizationAnswer(shapes.organization_out(found))

    @operation(
        summary="Rename an organization, set how long it keeps what, suspend it.", resource=RESOURCE,
        or_resource="retention", action="update", body=OrganizationPatch, answers={200: shapes.OrganizationAnswer},
        errors=(409,),
    )  # fmt: skip
    def patch(self, request: Request, organization_id: UUID, body: OrganizationPatch) -> shapes.OrganizationAnswer:
        changed = organizations.change(self.principal, organization_id, body)
        return shapes.OrganizationAnswer(shapes.organization_out(changed))
