"""Routes of organizations, members, roles and keys below `/api/v1/`."""

from django.urls import URLPattern, path

from autotune.access import keys_api, members_api, organizations_api, roles_api

urlpatterns: list[URLPattern] = [
    path("organizations", organizations_api.Organizations.as_view()),
    path("organizations/<org:organization_id>", organizations_api.OrganizationDetail.as_view()),
    path("members", members_api.Members.as_view()),
    path("members/<member:member_id>", members_api.MemberDetail.as_view()),
    path("roles", roles_api.Roles.as_view()),
    path("roles/<role:role_id>", roles_api.RoleDetail.as_view()),
    path("api-keys", keys_api.ApiKeys.as_view()),
    path("api-keys/<key:key_id>", keys_api.ApiKeyDetail.as_view()),
    path("api-keys/<key:key_id>/revoke", keys_api.ApiKeyRevoke.as_view()),
    path("api-keys/<key:key_id>/rotate", keys_api.ApiKeyRotate.as_view()),
]
