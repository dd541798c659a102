"""The entries of organizations, members, roles, keys and the audit log in the navigation."""

from typing import Final

from autotune.access.frame.navigation import NavigationAct, NavigationEntry

PLACES: Final = (
    NavigationEntry("Settings", "settings", "organization", "Settings", 0),
    NavigationEntry(
        "Members", "members", "people", "Settings", 20, (("members", "read"),),
        about="The members of the organization, their roles, and invitations.",
    ),
    NavigationEntry(
        "Roles", "roles", "role", "Settings", 30, (("roles", "read"),),
        about="What each role may do, and roles of your own.",
    ),
    NavigationEntry(
        "API keys", "api_keys", "key", "Settings", 40, (("keys", "read"),),
        about="Create, limit, rotate and revoke keys for programs.",
    ),
    NavigationEntry(
        "Audit", "audit", "audit", "Settings", 70, (("audit", "read"),),
        about="Who did what, when and from where.",
    ),
    NavigationAct("Create an API key", "api_key_new", (("keys", "create"),)),
    NavigationAct("Invite a member", "member_invite", (("members", "create"),)),
    NavigationAct("Change your password", "account_change_password"),
    NavigationAct("Open your account", "account"),
)  # fmt: skip
