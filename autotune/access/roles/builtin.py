"""The built-in roles, which a migration writes (docs/api/roles.md), and the check of custom permissions."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

CREATE, READ, UPDATE, DELETE = "create", "read", "update", "delete"
EVERYTHING = (CREATE, READ, UPDATE, DELETE)
ACTIONS = frozenset(EVERYTHING)
SCOPES = ("own", "organization", "all")
Action = Literal["create", "read", "update", "delete"]
Scope = Literal["own", "organization", "all"]
RESOURCES: Final = (
    "tasks", "completions", "shared_completions", "scores", "reasoning", "workflow_runs", "endpoint_graders",
    "listed_graders", "rubric_graders", "reviews", "feedback", "calibration", "canary_sets", "exports",
    "preference_pairs", "rewards", "reward_endpoints", "evaluations", "reports", "datasets", "experiments", "decks",
    "telemetry", "model_calls", "usage", "providers", "budgets", "alerts", "notifications", "views", "webhooks",
    "keys", "organizations", "members", "roles", "audit", "retention",
)  # fmt: skip
# Roles can allow these already, but no endpoint or page uses them yet, so the pages do not offer them.
COMING: Final = frozenset(
    {
        "rubric_graders", "feedback", "calibration", "canary_sets", "evaluations", "reports", "datasets", "experiments",
        "decks", "telemetry", "model_calls", "usage", "providers", "budgets", "alerts", "notifications", "views",
    }
)  # fmt: skip
OFFERED: Final = tuple(resource for resource in RESOURCES if resource not in COMING)
SHORT_NAMES: Final = MappingProxyType({"graders": ("endpoint_graders", "rubric_graders")})
RENAMED: Final = MappingProxyType({"runs": "workflow_runs"})
MAX_PERMISSIONS: Final = 200

OPERATOR = "training_operator"
GRADER_OWNER = "grader_owner"
REVIEWER = "reviewer"
ORGANIZATION_ADMIN = "organization_admin"
ADMIN = "admin"
COLLECTOR = "collector"

Permissions = dict[str, tuple[str, tuple[str, ...]]]


def _may(scope: str, actions: tuple[str, ...], *resources: str) -> Permissions:
    return dict.fromkeys(resources, (scope, actions))


_TRAINING_DATA = ("exports", "preference_pairs", "rewards", "reward_endpoints")
_EVALUATION = ("evaluations", "reports", "datasets", "experiments", "decks", "telemetry")
_FEEDBACK = ("feedback", "calibration", "canary_sets")

# Everybody has these only for themselves, administrators too: nobody reads another person's notifications.
_PERSONAL: Permissions = {
    **_may("own", (READ, UPDATE, DELETE), "notifications"),
    **_may("own", EVERYTHING, "views"),
}

_ORGANIZATION_ADMIN: Permissions = {
    **_may("organization", EVERYTHING, "tasks"),
    **_may("organization", (CREATE, READ, DELETE), "completions"),
    **_may("organization", (READ,), "shared_completions"),
    **_may("organization", (READ, DELETE), "scores"),
    **_may("organization", (READ,), "reasoning"),
    **_may("organization", (READ, UPDATE, DELETE), "workflow_runs"),
    **_may("organization", EVERYTHING, "endpoint_graders", "rubric_graders", "reviews", *_FEEDBACK),
    **_may("all", (READ,), "listed_graders"),
    **_may("organization", EVERYTHING, *_TRAINING_DATA, *_EVALUATION),
    **_may("organization", (READ,), "model_calls", "usage"),
    **_may("organization", EVERYTHING, "providers", "budgets", "alerts", "webhooks", "keys"),
    **_may("organization", (READ, UPDATE), "organizations"),
    **_may("organization", EVERYTHING, "members", "roles"),
    **_may("organization", (READ,), "audit"),
    **_may("organization", EVERYTHING, "retention"),
    **_PERSONAL,
}

BUILT_IN: dict[str, Permissions] = {
    GRADER_OWNER: {
        **_may("own", (READ,), "shared_completions", "scores", "reasoning", "workflow_runs"),
        **_may("own", EVERYTHING, "endpoint_graders", "rubric_graders"),
        **_may("own", (READ,), "reviews", *_FEEDBACK, "model_calls", "usage"),
        **_may("own", EVERYTHING, "alerts", "webhooks", "keys"),
        **_PERSONAL,
    },
    OPERATOR: {
        **_may("organization", (CREATE, READ, UPDATE), "tasks"),
        **_may("organization", (CREATE, READ), "completions"),
        **_may("organization", (READ,), "scores", "reasoning"),
        **_may("organization", (READ, UPDATE), "workflow_runs"),
        **_may("organization", (READ,), "endpoint_graders"),
        **_may("all", (READ,), "listed_graders"),
        **_may("organization", (CREATE, READ, UPDATE), "rubric_graders"),
        **_may("organization", (CREATE, READ), "reviews", *_FEEDBACK),
        **_may("organization", EVERYTHING, *_TRAINING_DATA, *_EVALUATION),
        **_may("organization", (READ,), "model_calls", "usage"),
        **_may("organization", EVERYTHING, "webhooks"),
        **_may("own", EVERYTHING, "alerts", "keys"),
        **_PERSONAL,
    },
    REVIEWER: {
        **_may("organization", (READ,), "tasks", "completions", "scores", "reasoning", "workflow_runs"),
        **_may("organization", (READ,), "endpoint_graders", "rubric_graders"),
        **_may("organization", (CREATE, READ, UPDATE), "reviews", *_FEEDBACK),
        **_may("organization", (READ,), *_EVALUATION),
        **_may("own", EVERYTHING, "alerts", "keys"),
        **_PERSONAL,
    },
    ORGANIZATION_ADMIN: _ORGANIZATION_ADMIN,
    ADMIN: {
        **{resource: ("all", actions) for resource, (_, actions) in _ORGANIZATION_ADMIN.items()},
        **_may("all", (CREATE, READ, UPDATE), "organizations"),
        **_PERSONAL,
    },
    COLLECTOR: _may("organization", (CREATE,), "telemetry"),
}


def permissions(name: str) -> list[dict[str, Any]]:
    """Return the permissions of a built-in role in the form that Role stores."""
    return [
        {"resource": resource, "actions": list(actions), "scope": scope}
        for resource, (scope, actions) in BUILT_IN[name].items()
    ]


def fault(permissions: Any) -> str | None:
    """Return what is wrong with permissions in the form that Role stores; None if the policy can read them."""
    if not isinstance(permissions, list):
        return "Give a list of {resource, actions, scope}."
    if len(permissions) > MAX_PERMISSIONS:
        return f"Give at most {MAX_PERMISSIONS} permissions."
    for entry in permissions:
        if not isinstance(entry, dict) or set(entry) != {"resource", "actions", "scope"}:
            return "Each entry is {resource, actions, scope}."
        actions = entry["actions"]
        if wrong := resource_fault(entry["resource"]):
            return wrong
        if not isinstance(actions, list) or not all(
            isinstance(action, str) and action in ACTIONS for action in actions
        ):
            return f"Actions are a list of {', '.join(EVERYTHING)}."
        if len(set(actions)) != len(actions):
            return "Name each action once."
        if entry["scope"] not in SCOPES:
            return f"A scope is one of {', '.join(SCOPES)}."
    return None


def resource_fault(resource: Any) -> str | None:
    """Return what is wrong with the name of a resource; None for a resource, or a short name for several."""
    if isinstance(resource, str) and (resource in RESOURCES or resource in SHORT_NAMES):
        return None
    if isinstance(resource, str) and resource in RENAMED:
        return f"The resource {resource} is now called {RENAMED[resource]}; enter {RENAMED[resource]}."
    return f"A resource is one of {', '.join((*RESOURCES, *SHORT_NAMES))}."


def expanded(permissions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the permissions as Role stores them: with the resources that a short name is for, in its place."""
    return [
        {**entry, "resource": resource}
        for entry in permissions
        for resource in SHORT_NAMES.get(entry["resource"], (entry["resource"],))
    ]
