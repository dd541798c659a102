"""Routes of organizations, members, roles and keys below `/api/v1/`."""

from django.urls import URLPattern, path

from autotune.access.keys import api
from autotune.access.members import api as members_api
from autotune.access.organizations import api as organizations_api
from autotune.access.roles import api as roles_api

urlpatterns: list[URLPattern] = [
    path("organizations", organizations_api.Organizations.as_view()),
    path("organizations/<org:organization_id>", organizations_api.OrganizationDetail.as_view()),
    path("members", members_api.Members.as_view()),
    path("members/<member:member_id>", members_api.MemberDetail.as_view()),
    path("roles", roles_api.Roles.as_view()),
    path("roles/<role:role_id>", roles_api.RoleDetail.as_view()),
    path("api-keys", api.ApiKeys.as_view()),
    path("api-keys/<key:key_id>", api.ApiKeyDetail.as_view()),
    path("api-keys/<key:key_id>/revoke", api.ApiKeyRevoke.as_view()),
    path("api-keys/<key:key_id>/rotate", api.ApiKeyRotate.as_view()),
]
