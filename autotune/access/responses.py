"""The API responses of organizations, members, roles and keys. Only the response to its creation contains a key."""

from django.utils import timezone

from autotune.access.keys import tokens
from autotune.access.models import ApiKey, Membership, Organization, Role
from autotune.core import ids
from autotune.core.api.operations import ApiStruct
from autotune.core.api.pagination import Pagination
from autotune.core.clock import wire


class OrganizationRetentionOut(ApiStruct):
    """Null: prompts and responses are kept until they are erased, scores without a time limit."""

    text_days: int | None
    score_days: int | None


class OrganizationOut(ApiStruct):
    id: str
    name: str
    operating: bool
    suspended: bool
    retention: OrganizationRetentionOut
    created_at: str


class OrganizationAnswer(ApiStruct):
    organization: OrganizationOut


class OrganizationPage(ApiStruct):
    organizations: list[OrganizationOut]
    pagination: Pagination


class MemberOut(ApiStruct):
    """`status`: `active`, `invited`, or `expired` for an old invitation. `userId` is null until it is accepted."""

    id: str
    organization_id: str
    user_id: str | None
    email: str
    name: str | None
    role: str
    role_id: str
    status: str
    invited_by: str | None
    expires_at: str | None
    created_at: str


class MemberAnswer(ApiStruct):
    member: MemberOut


class MemberPage(ApiStruct):
    members: list[MemberOut]
    pagination: Pagination


class PermissionOut(ApiStruct):
    resource: str
    actions: list[str]
    scope: str


class RoleOut(ApiStruct):
    """`builtIn`: the role is read-only and exists in every organization; its `organizationId` is null."""

    id: str
    name: str
    description: str | None
    built_in: bool
    organization_id: str | None
    permissions: list[PermissionOut]
    created_at: str


class RoleAnswer(ApiStruct):
    role: RoleOut


class RolePage(ApiStruct):
    roles: list[RoleOut]
    pagination: Pagination


class ApiKeyOut(ApiStruct):
    """`lastUsedAt` is exact to the minute. `replacedBy`: the key that replaced this one in a rotation.

    `role` is null if it was deleted after the key had ended.
    """

    id: str
    organization_id: str
    name: str
    kind: str
    prefix: str
    last_four: str
    role: str | None
    role_id: str | None
    networks: list[str]
    created_by: str
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None
    replaced_by: str | None


class ApiKeyAnswer(ApiStruct):
    api_key: ApiKeyOut


class ApiKeyWithSecret(ApiStruct):
    """`secret`: the key itself, shown once."""

    api_key: ApiKeyOut
    secret: str | None


class ApiKeyPage(ApiStruct):
    api_keys: list[ApiKeyOut]
    pagination: Pagination


def organization_out(organization: Organization) -> OrganizationOut:
    return OrganizationOut(
        id=ids.encode("org", organization.pk),
        name=organization.name,
        operating=organization.operating,
        suspended=organization.suspended,
        retention=OrganizationRetentionOut(organization.text_days, organization.score_days),
        created_at=wire(organization.created_at),
    )


def member_out(member: Membership) -> MemberOut:
    """Return a member or invitation as the API shows it; organization, role, user and `invited_by` must be loaded."""
    invitation = member.user is None
    over = invitation and member.expires_at is not None and member.expires_at <= timezone.now()
    return MemberOut(
        id=member.public_id,
        organization_id=ids.encode("org", member.organization_id),
        user_id=ids.encode("user", member.user.pk) if member.user else None,
        email=member.user.email if member.user else member.email,
        name=(member.user.name or None) if member.user else None,
        role=member.role.name,
        role_id=ids.encode("role", member.role_id),
        status="expired" if over else "invited" if invitation else "active",
        invited_by=ids.encode("user", member.invited_by_id) if member.invited_by_id else None,
        expires_at=wire(member.expires_at) if member.expires_at else None,
        created_at=wire(member.created_at),
    )


def role_out(role: Role) -> RoleOut:
    return RoleOut(
        id=ids.encode("role", role.pk),
        name=role.name,
        description=role.description or None,
        built_in=role.organization_id is None,
        organization_id=ids.encode("org", role.organization_id) if role.organization_id else None,
        permissions=[
            PermissionOut(entry["resource"], list(entry["actions"]), entry["scope"]) for entry in role.permissions
        ],
        created_at=wire(role.created_at),
    )


def api_key_out(key: ApiKey) -> ApiKeyOut:
    """Return an API key as the API shows it; its role must be loaded."""
    return ApiKeyOut(
        id=key.public_id,
        organization_id=ids.encode("org", key.organization_id),
        name=key.name,
        kind=key.kind,
        prefix=tokens.prefix(key.kind, key.pk),
        last_four=key.last_four,
        role=key.role.name if key.role else None,
        role_id=ids.encode("role", key.role.pk) if key.role else None,
        networks=list(key.networks),
        created_by=ids.encode("user", key.user_id),
        created_at=wire(key.created_at),
        expires_at=wire(key.expires_at) if key.expires_at else None,
        revoked_at=wire(key.revoked_at) if key.revoked_at else None,
        last_used_at=wire(key.last_used_at) if key.last_used_at else None,
        replaced_by=ids.encode("key", key.replaced_by_id) if key.replaced_by_id else None,
    )
