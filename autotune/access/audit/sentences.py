"""Describe audit events in words: `keys.create` as “created an API key”."""

from typing import Final

from django.urls import NoReverseMatch, reverse

from autotune.access.models import AuditEvent
from autotune.core import ids

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
PAGES: Final = {
    "task": ("task", "task_id"), "comp": ("completion", "completion_id"), "score": ("score", "score_id"),
    "run": ("workflow_run", "run_id"), "grader": ("grader", "grader_id"), "rev": ("review", "review_id"),
    "exp": ("export", "export_id"), "whk": ("webhook", "webhook_id"), "key": ("api_key", "key_id"),
    "role": ("role", "role_id"), "member": ("member", "member_id"), "rwd": ("reward_endpoint", "endpoint_id"),
}  # fmt: skip


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


def page_of(object_id: str) -> str:
    """Return the address of an object's page; '' if it has none."""
    kind = object_id.rpartition("_")[0]
    if kind not in PAGES:
        return ""
    name, parameter = PAGES[kind]
    try:
        return reverse(name, kwargs={parameter: ids.decode(kind, object_id)})
    except (NoReverseMatch, ValueError):
        return ""


def _of_settings(route: str) -> str:
    """Name the subject of a page of the settings, from its route."""
    _, _, name, *below = f"{route.rstrip('/')}//".split("/")[:5]
    singular, plural = SETTINGS.get(name, ("the settings", "the settings"))
    return singular if below and below[0].startswith(":") else plural


def _composed(event: AuditEvent) -> str:
    if event.resource == "settings":
        return f"{VERBS.get(event.action.rpartition('.')[2], 'used')} {_of_settings(event.route)}"
    resource, _, verb = event.action.rpartition(".")
    single, several = NAMES.get(event.resource, (event.resource.replace("_", " "),) * 2)
    count = event.objects_count
    what = f"{count:,} {several}" if count is not None and count != 1 else single if event.object_id else several
    return f"{VERBS.get(verb, verb.replace('_', ' '))} {what}" if resource else event.action
