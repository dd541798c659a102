"""The request bodies and queries of organizations, members, roles and keys."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from autotune.access.roles.builtin import MAX_PERMISSIONS, RESOURCES, SHORT_NAMES, Action, Scope
from autotune.core.api.operations import BodyStruct
from autotune.core.api.pagination import PageQuery
from autotune.core.api.parsing import PublicId

MAX_NETWORKS = 32
MAX_GRACE_HOURS = 24 * 7
MAX_DAYS = 36_500

PLAIN = r"^(?=.*\S)[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$"  # some text in one line
OrganizationName = Annotated[str, Meta(min_length=1, max_length=200, pattern=PLAIN)]
RoleName = Annotated[str, Meta(min_length=1, max_length=64, pattern=PLAIN)]
KeyName = Annotated[str, Meta(min_length=1, max_length=200, pattern=PLAIN)]
RoleText = Annotated[str, Meta(min_length=1, max_length=64)]
Days = Annotated[int, Meta(ge=1, le=MAX_DAYS)]
ResourceName = Annotated[
    str, Meta(extra_json_schema={"enum": [*RESOURCES, *SHORT_NAMES]})
]  # builtin.resource_fault checks
Networks = Annotated[list[Annotated[str, Meta(max_length=64)]], Meta(max_length=MAX_NETWORKS)]


class OrganizationId(PublicId):
    kind = "org"
    __slots__ = ()


class NewOrganization(BodyStruct):
    name: OrganizationName


class RetentionPatch(BodyStruct):
    """Days for which prompts and responses (`textDays`) and scores (`scoreDays`) are kept. Null: no time limit."""

    text_days: Days | UnsetType | None = UNSET
    score_days: Days | UnsetType | None = UNSET


class OrganizationPatch(BodyStruct):
    """`retention` needs the right to update retention, `name` to update organizations, `suspended` to update all."""

    name: OrganizationName | UnsetType = UNSET
    retention: RetentionPatch | UnsetType = UNSET
    suspended: bool | UnsetType = UNSET


class Invitation(BodyStruct):
    """`role`: name or id. `organizationId`: another organization, for callers that may invite into all of them."""

    email: Annotated[str, Meta(min_length=3, max_length=254)]
    role: RoleText
    organization_id: OrganizationId | None = None


class MemberPatch(BodyStruct):
    role: RoleText | UnsetType = UNSET


class MemberQuery(PageQuery):
    status: Literal["active", "invited"] | None = None
    organization_id: OrganizationId | None = None


class PermissionIn(BodyStruct):
    """`resource`: `graders` is short for `endpoint_graders` and `rubric_graders`, which the role then names."""

    resource: ResourceName
    actions: Annotated[list[Action], Meta(min_length=1, max_length=4)]
    scope: Scope


Permissions = Annotated[list[PermissionIn], Meta(max_length=MAX_PERMISSIONS)]
RoleDescription = Annotated[str, Meta(max_length=400)]


class NewRole(BodyStruct):
    name: RoleName
    permissions: Permissions
    description: RoleDescription | None = None


class RolePatch(BodyStruct):
    """`permissions` replaces all of them."""

    name: RoleName | UnsetType = UNSET
    permissions: Permissions | UnsetType = UNSET
    description: RoleDescription | UnsetType | None = UNSET


class NewKey(BodyStruct):
    """`role`: name or id. `networks`: the only address ranges from which the key works. `kind`: default `live`."""

    name: KeyName
    role: RoleText
    expires_at: str | None = None
    networks: Networks | None = None
    kind: Literal["live", "test"] | None = None


class KeyPatch(BodyStruct):
    """`networks`: an empty list or null lets the key work from every network."""

    name: KeyName | UnsetType = UNSET
    networks: Networks | UnsetType | None = UNSET


class KeyRotation(BodyStruct):
    """`graceHours`: how long the old key still works; default 24. 0 revokes it at once."""

    grace_hours: Annotated[int, Meta(ge=0, le=MAX_GRACE_HOURS)] | None = None


class KeyQuery(PageQuery):
    status: Literal["usable", "ended"] | None = None
