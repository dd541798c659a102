"""The API endpoints of members and invitations."""

from uuid import UUID

from rest_framework.request import Request

from autotune.access import querysets, responses
from autotune.access.members import invitations, membership
from autotune.access.models import Membership
from autotune.access.requests import Invitation, MemberPatch, MemberQuery
from autotune.access.views import ApiView, find_for
from autotune.core.api.operations import operation
from autotune.core.api.pagination import SortOrder, page
from autotune.core.errors import NotFound

RESOURCE = "members"
ORDER = SortOrder("members", {"createdAt": "created_at"})


class MembersView(ApiView):
    @operation(
        summary="List members and invitations.", resource=RESOURCE, action="read", query=MemberQuery,
        answers={200: responses.MemberPage},
    )  # fmt: skip
    def get(self, request: Request, query: MemberQuery) -> responses.MemberPage:
        members = querysets.members().visible_to(self.principal)
        if query.organization_id is not None:
            members = members.filter(organization_id=query.organization_id.uuid)
        if query.status is not None:
            members = members.filter(user__isnull=query.status == "invited")
        rows, pagination = page(members, query, ORDER, owner=self.principal.organization.pk)
        return responses.MemberPage([responses.member_out(row) for row in rows], pagination)

    @operation(
        summary="Invite a person by mail. A repeated invitation replaces the previous link.", resource=RESOURCE,
        action="create", body=Invitation, answers={201: responses.MemberAnswer}, errors=(404, 409),
    )  # fmt: skip
    def post(self, request: Request, body: Invitation) -> responses.MemberAnswer:
        return responses.MemberAnswer(responses.member_out(invitations.invite(self.principal, body)))


class MemberDetailView(ApiView):
    @operation(summary="Read a member.", resource=RESOURCE, action="read", answers={200: responses.MemberAnswer})
    def get(self, request: Request, member_id: UUID) -> responses.MemberAnswer:
        return responses.MemberAnswer(responses.member_out(self.member(member_id, "read")))

    @operation(
        summary="Change the role of a member or an invitation.", resource=RESOURCE, action="update",
        body=MemberPatch, answers={200: responses.MemberAnswer}, errors=(409,),
    )  # fmt: skip
    def patch(self, request: Request, member_id: UUID, body: MemberPatch) -> responses.MemberAnswer:
        member = self.member(member_id, "update")
        if isinstance(body.role, str):
            member = membership.change_role(self.principal, member.pk, body.role)
        return responses.MemberAnswer(responses.member_out(member))

    @operation(
        summary="Remove a member and revoke their keys, or withdraw an invitation.", resource=RESOURCE, action="delete",
        answers={204: None}, errors=(409,),
    )  # fmt: skip
    def delete(self, request: Request, member_id: UUID) -> None:
        membership.remove(self.principal, self.member(member_id, "delete").pk)

    def member(self, uid: UUID, action: str) -> Membership:
        pk = Membership.objects.filter(uid=uid).values_list("pk", flat=True).first()
        if pk is None:
            raise NotFound("There is no such member.")
        return find_for(querysets.members(), self.principal, pk, action, "member")  # type: ignore[arg-type]
