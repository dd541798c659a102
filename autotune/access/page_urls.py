"""Routes of the pages of organizations, members, roles and keys, below /settings/."""

from django.urls import URLPattern, path

from autotune.access.pages import invitations, keys, members, organization, roles

urlpatterns: list[URLPattern] = [
    path("", organization.settings, name="settings"),
    path("organizations", organization.every, name="organizations"),
    path("organizations/new", organization.new, name="organization_new"),
    path("organizations/<org:organization_id>", organization.edit_organization, name="organization"),
    path("organizations/<org:organization_id>/suspend", organization.suspend, name="organization_suspend"),
    path("members", members.every, name="members"),
    path("members/invite", invitations.invite, name="member_invite"),
    path("members/<member:member_id>", members.show_member, name="member"),
    path("members/<member:member_id>/again", invitations.again, name="member_again"),
    path("members/<member:member_id>/remove", members.remove, name="member_remove"),
    path("roles", roles.every, name="roles"),
    path("roles/new", roles.new, name="role_new"),
    path("roles/<role:role_id>", roles.show_role, name="role"),
    path("roles/<role:role_id>/edit", roles.edit, name="role_edit"),
    path("roles/<role:role_id>/delete", roles.delete, name="role_delete"),
    path("keys", keys.every, name="api_keys"),
    path("keys/new", keys.new, name="api_key_new"),
    path("keys/<key:key_id>", keys.show_key, name="api_key"),
    path("keys/<key:key_id>/rotate", keys.rotate, name="api_key_rotate"),
    path("keys/<key:key_id>/revoke", keys.revoke, name="api_key_revoke"),
]
