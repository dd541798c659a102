"""Models of organizations, people, roles, API keys, sessions, stored answers, audit log and throttling."""

from autotune.access.models.answers import StoredAnswer
from autotune.access.models.audit import AuditChain, AuditEvent
from autotune.access.models.keys import ApiKey
from autotune.access.models.logins import SecondFactorSecret, WebSession
from autotune.access.models.organizations import Membership, Organization, Role
from autotune.access.models.people import User, UserManager
from autotune.access.models.throttles import Throttle

__all__ = [
    "ApiKey", "AuditChain", "AuditEvent", "Membership", "Organization", "Role", "SecondFactorSecret", "StoredAnswer",
    "Throttle", "User", "UserManager", "WebSession",
]  # fmt: skip
