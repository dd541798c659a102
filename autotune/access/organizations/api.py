"""API endpoints that list, create, read and change organizations."""

from uuid import UUID

from rest_framework.request import Request

from autotune.access import responses
from autotune.access.organizations import lifecycle
from autotune.access.requests import NewOrganization, OrganizationPatch
from autotune.access.views import ApiView, find
from autotune.core.api.operations import operation
from autotune.core.api.pagination import PageQuery, SortOrder, page

RESOURCE = "organizations"
ORDER = SortOrder("organizations", {"createdAt": "created_at", "name": "name"})


class OrganizationsView(ApiView):
    @operation(
        summary="List the caller's organization; admins of the operating organization see all.", resource=RESOURCE,
        or_resource="retention", action="read", query=PageQuery, answers={200: responses.OrganizationPage},
    )  # fmt: skip
    def get(self, request: Request, query: PageQuery) -> responses.OrganizationPage:
        organizations = lifecycle.readable(self.principal)
        page_rows, pagination = page(organizations, query, ORDER, owner=self.principal.organization.pk)
        return responses.OrganizationPage([responses.organization_out(row) for row in page_rows], pagination)

    @operation(
        summary="Create an organization (admins of the operating organization).", resource=RESOURCE, action="create",
        body=NewOrganization, answers={201: responses.OrganizationAnswer}, errors=(409,),
    )  # fmt: skip
    def post(self, request: Request, body: NewOrganization) -> responses.OrganizationAnswer:
        return responses.OrganizationAnswer(responses.organization_out(lifecycle.create(self.principal, body)))


class OrganizationDetailView(ApiView):
    @operation(
        summary="Read an organization.", resource=RESOURCE, or_resource="retention", action="read",
        answers={200: responses.OrganizationAnswer},
    )  # fmt: skip
    def get(self, request: Request, organization_id: UUID) -> responses.OrganizationAnswer:
        organization = find(lifecycle.readable(self.principal), organization_id, "organization")
        return responses.OrganizationAnswer(responses.organization_out(organization))

    @operation(
        summary="Rename an organization, set its retention, or suspend it.", resource=RESOURCE,
        or_resource="retention", action="update", body=OrganizationPatch, answers={200: responses.OrganizationAnswer},
        errors=(409,),
    )  # fmt: skip
    def patch(self, request: Request, organization_id: UUID, body: OrganizationPatch) -> responses.OrganizationAnswer:
        organization = lifecycle.change(self.principal, organization_id, body)
        return responses.OrganizationAnswer(responses.organization_out(organization))
