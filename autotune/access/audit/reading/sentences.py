"""Describe audit events in words: `keys.create` as “created an API key”."""

from typing import Final

from autotune.access.models import AuditEvent
from autotune.core import labels

NAMES: Final[dict[str, tuple[str, str]]] = {
    "admin": ("a row of the administration", "the administration"),
    "audit": ("an event of the audit log", "the audit log"),
    "completions": ("a completion", "completions"),
    "decks": ("a deck", "decks"),
    "endpoint_graders": ("a grader", "graders"),
    "erasures": ("an erasure", "erasures"),
    "evaluations": ("an evaluation", "evaluations"),
    "exports": ("an export", "exports"),
    "feedback": ("feedback", "feedback"),
    "keys": ("an API key", "API keys"),
    "listed_graders": ("a listed grader", "the marketplace"),
    "members": ("a member", "members"),
    "model_calls": ("a model call", "model calls"),
    "organizations": ("an organization", "organizations"),
    "preference_pairs": ("a preference pair", "preference pairs"),
    "providers": ("a provider", "providers"),
    "reasoning": ("reasoning", "reasoning"),
    "retention": ("the retention settings", "the retention settings"),
    "reviews": ("a review", "reviews"),
    "reward_endpoints": ("a reward endpoint", "reward endpoints"),
    "rewards": ("a reward", "rewards"),
    "roles": ("a role", "roles"),
    "rubric_graders": ("a judge", "judges"),
    "scores": ("a score", "scores"),
    "settings": ("the settings", "the settings"),
    "tasks": ("a task", "tasks"),
    "webhooks": ("a webhook", "webhooks"),
    "workflow_runs": ("a workflow run", "workflow runs"),
}
SETTINGS: Final = {
    "members": ("a member", "the members"),
    "roles": ("a role", "the roles"),
    "keys": ("an API key", "the API keys"),
    "webhooks": ("a webhook", "the webhooks"),
    "retention": ("the retention settings", "the retention settings"),
    "audit": ("an event of the audit log", "the audit log"),
    "organizations": ("an organization", "the organizations"),
}
VERBS: Final = {
    "create": "created", "read": "viewed", "update": "changed", "delete": "deleted", "erase": "erased the text of",
    "accept": "accepted an invitation:", "rotate": "rotated",
}  # fmt: skip
WHOLE: Final = {
    "session.login": "logged in",
    "session.logout": "logged out",
    "session.switch_organization": "switched to this organization",
    "session.end_others": "ended other sessions",
    "session.read": "viewed a page",
    "password.update": "changed the password",
    "password.reset": "set a new password by mail",
    "second_factor.create": "set up a second factor",
    "second_factor.delete": "turned the second factor off",
    "members.accept": "accepted an invitation",
    "members.create": "invited a person",
    "members.delete": "removed a member or an invitation",
    "keys.delete": "revoked an API key",
    "audit.lost": "lost events while the audit log could not be written",
    "account.read": "viewed their own account",
    "home.read": "viewed the overview",
    "search.read": "searched",
}
# The last part of a route names the act more precisely than the action, which only says what right it needs.
ROUTE_VERBS: Final = {
    "again": "sent again",
    "archive": "archived",
    "cancel": "cancelled",
    "claim": "claimed",
    "compare": "compared",
    "decide": "decided",
    "decision": "decided",
    "delete": "deleted",
    "download": "downloaded",
    "erase": "erased the text of",
    "export": "exported",
    "link": "created a download link for",
    "links": "created a download link for",
    "redeliver": "sent again a delivery of",
    "release": "released",
    "remove": "removed",
    "rescore": "scored again",
    "retry": "retried",
    "revoke": "revoked",
    "rotate": "rotated the secret of",
    "rotate-secret": "rotated the secret of",
    "score": "scored",
    "suspend": "suspended",
    "test": "sent a test event to",
    "try": "tried",
    "verify": "verified",
}
SWITCHES: Final = frozenset({"status", "enabled"})  # members that switch an object on or off
ADDRESSES: Final = frozenset({"endpoint", "url"})


def describe(event: AuditEvent) -> str:
    """Describe the event as the predicate of a sentence about the actor, with the outcome unless it succeeded."""
    phrase = WHOLE.get(event.action) or _composed(event)
    if event.outcome == AuditEvent.Outcome.SUCCEEDED:
        return phrase
    return {
        AuditEvent.Outcome.REFUSED: f"tried, and was refused: {phrase}",
        AuditEvent.Outcome.FAILED: f"tried, and it failed: {phrase}",
        AuditEvent.Outcome.INTERRUPTED: f"started, and was interrupted: {phrase}",
    }.get(AuditEvent.Outcome(event.outcome), f"in progress: {phrase}")


def _of_settings(route: str) -> str:
    """Name the subject of a page of the settings, from its route."""
    _, _, name, *below = f"{route.rstrip('/')}//".split("/")[:5]
    singular, plural = SETTINGS.get(name, ("the settings", "the settings"))
    return singular if below and below[0].startswith(":") else plural


def _composed(event: AuditEvent) -> str:
    if event.resource == "settings":
        return f"{VERBS.get(event.action.rpartition('.')[2], 'used')} {_of_settings(event.route)}"
    resource, _, verb = event.action.rpartition(".")
    single, several = NAMES.get(event.resource, (labels.resource(event.resource),) * 2)
    count = event.objects_count
    what = f"{count:,} {several}" if count is not None and count != 1 else single if event.object_id else several
    return _act(event, verb, what) if resource else event.action


def _act(event: AuditEvent, verb: str, what: str) -> str:
    """Return the act with its object: what the route or the members say, or else the action's verb."""
    if verb != "read" or event.method not in ("GET", "HEAD"):
        last = event.route.rstrip("/").rpartition("/")[2]
        if event.resource == "keys" and last == "rotate":
            return f"rotated {what}"
        if last in ROUTE_VERBS:
            return f"{ROUTE_VERBS[last]} {what}"
    members = set(event.fields or ())
    if verb == "update" and ADDRESSES & members:
        return f"moved {what} to another address"
    if verb == "update" and (event.route.endswith("/switch") or (members and members <= SWITCHES)):
        return f"switched {what} on or off"
    return f"{VERBS.get(verb, labels.label(verb))} {what}"
