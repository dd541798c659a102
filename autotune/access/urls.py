"""Routes of organizations, members, roles and keys below `/api/v1/`."""

from django.urls import URLPattern, path

from autotune.access.keys import api
from autotune.access.members import api as members_api
from autotune.access.organizations import api as organizations_api
from autotune.access.roles import api as roles_api

urlpatterns: list[URLPattern] = [
    path("organizations", organizations_api.OrganizationsView.as_view()),
    path("organizations/<org:organization_id>", organizations_api.OrganizationDetailView.as_view()),
    path("members", members_api.MembersView.as_view()),
    path("members/<member:member_id>", members_api.MemberDetailView.as_view()),
    path("roles", roles_api.RolesView.as_view()),
    path("roles/<role:role_id>", roles_api.RoleDetailView.as_view()),
    path("api-keys", api.ApiKeysView.as_view()),
    path("api-keys/<key:key_id>", api.ApiKeyDetailView.as_view()),
    path("api-keys/<key:key_id>/revoke", api.ApiKeyRevokeView.as_view()),
    path("api-keys/<key:key_id>/rotate", api.ApiKeyRotateView.as_view()),
]
