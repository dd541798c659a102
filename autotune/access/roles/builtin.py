"""The built-in roles, which a migration writes (docs/api/roles.md), and the check of custom permissions."""

from typing import Any, Final, Literal, get_args

CREATE, READ, UPDATE, DELETE = "create", "read", "update", "delete"
EVERYTHING = (CREATE, READ, UPDATE, DELETE)
ACTIONS = frozenset(EVERYTHING)
SCOPES = ("own", "organization", "all")
Action = Literal["create", "read", "update", "delete"]
Scope = Literal["own", "organization", "all"]
Resource = Literal[
    "tasks", "completions", "shared_completions", "scores", "reasoning", "runs", "endpoint_graders", "listed_graders",
    "rubric_graders", "reviews", "feedback", "exports", "preference_pairs", "rewards", "reward_endpoints",
    "evaluations", "reports", "decks", "telemetry", "model_calls", "usage", "providers", "budgets", "webhooks", "keys",
    "organizations", "members", "roles", "audit", "retention",
]  # fmt: skip
RESOURCES: Final[tuple[str, ...]] = get_args(Resource)
MAX_PERMISSIONS: Final = 200

OPERATOR = "training_operator"
GRADER_OWNER = "grader_owner"
REVIEWER = "reviewer"
ORGANIZATION_ADMIN = "organization_admin"
ADMIN = "admin"

Permissions = dict[str, tuple[str, tuple[str, ...]]]


def _may(scope: str, actions: tuple[str, ...], *resources: str) -> Permissions:
    return dict.fromkeys(resources, (scope, actions))


_TRAINING_DATA = ("exports", "preference_pairs", "rewards", "reward_endpoints")
_EVALUATION = ("evaluations", "reports", "decks", "telemetry")

_ORGANIZATION_ADMIN: Permissions = {
    **_may("organization", EVERYTHING, "tasks"),
    **_may("organization", (CREATE, READ, DELETE), "completions"),
    **_may("organization", (READ,), "shared_completions"),
    **_may("organization", (READ, DELETE), "scores"),
    **_may("organization", (READ,), "reasoning"),
    **_may("organization", (READ, UPDATE, DELETE), "runs"),
    **_may("organization", EVERYTHING, "endpoint_graders", "rubric_graders", "reviews", "feedback"),
    **_may("organization", EVERYTHING, *_TRAINING_DATA, *_EVALUATION),
    **_may("organization", (READ,), "model_calls", "usage"),
    **_may("organization", EVERYTHING, "providers", "budgets", "webhooks", "keys"),
    **_may("organization", (READ, UPDATE), "organizations"),
    **_may("organization", EVERYTHING, "members", "roles"),
    **_may("organization", (READ,), "audit"),
    **_may("organization", EVERYTHING, "retention"),
}

BUILT_IN: dict[str, Permissions] = {
    GRADER_OWNER: {
        **_may("own", (READ,), "shared_completions", "scores", "reasoning", "runs"),
        **_may("own", EVERYTHING, "endpoint_graders", "rubric_graders"),
        **_may("own", (READ,), "reviews", "feedback", "model_calls", "usage"),
        **_may("own", EVERYTHING, "webhooks", "keys"),
    },
    OPERATOR: {
        **_may("organization", (CREATE, READ, UPDATE), "tasks"),
        **_may("organization", (CREATE, READ), "completions"),
        **_may("organization", (READ,), "scores", "reasoning"),
        **_may("organization", (READ, UPDATE), "runs"),
        **_may("organization", (READ,), "endpoint_graders"),
        **_may("all", (READ,), "listed_graders"),
        **_may("organization", (CREATE, READ, UPDATE), "rubric_graders"),
        **_may("organization", (CREATE, READ), "reviews", "feedback"),
        **_may("organization", EVERYTHING, *_TRAINING_DATA, *_EVALUATION),
        **_may("organization", (READ,), "model_calls", "usage"),
        **_may("organization", EVERYTHING, "webhooks"),
        **_may("own", EVERYTHING, "keys"),
    },
    REVIEWER: {
        **_may("organization", (READ,), "tasks", "completions", "scores", "reasoning", "runs"),
        **_may("organization", (READ,), "endpoint_graders", "rubric_graders"),
        **_may("organization", (CREATE, READ, UPDATE), "reviews", "feedback"),
        **_may("organization", (READ,), *_EVALUATION),
        **_may("own", EVERYTHING, "keys"),
    },
    ORGANIZATION_ADMIN: _ORGANIZATION_ADMIN,
    ADMIN: {
        **{resource: ("all", actions) for resource, (_, actions) in _ORGANIZATION_ADMIN.items()},
        **_may("all", (READ,), "listed_graders"),
        **_may("all", (CREATE, READ, UPDATE), "organizations"),
    },
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
        if entry["resource"] not in RESOURCES:
            return f"A resource is one of {', '.join(RESOURCES)}."
        if not isinstance(actions, list) or not all(
            isinstance(action, str) and action in ACTIONS for action in actions
        ):
            return f"Actions are a list of {', '.join(EVERYTHING)}."
        if len(set(actions)) != len(actions):
            return "Name each action once."
        if entry["scope"] not in SCOPES:
            return f"A scope is one of {', '.join(SCOPES)}."
    return None
