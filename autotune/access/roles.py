"""The built-in roles, as the data that a migration writes (docs/api.md, "Roles")."""

from typing import Any

CREATE, READ, UPDATE, DELETE = "create", "read", "update", "delete"
EVERYTHING = (CREATE, READ, UPDATE, DELETE)
ACTIONS = frozenset(EVERYTHING)
SCOPES = ("own", "organization", "all")
RESOURCES = (
    "tasks", "completions", "scores", "runs", "endpoint_graders", "listed_graders", "rubric_graders", "reviews",
    "exports", "evaluations", "model_calls", "webhooks", "keys", "administration",
)  # fmt: skip

OPERATOR = "training_operator"
GRADER_OWNER = "grader_owner"
REVIEWER = "reviewer"
ORGANIZATION_ADMIN = "organization_admin"
ADMIN = "admin"


def _may(scope: str, *actions: str) -> tuple[str, tuple[str, ...]]:
    return scope, actions


_ORGANIZATION_ADMIN = {
    "tasks": _may("organization", *EVERYTHING),
    "completions": _may("organization", CREATE, READ, DELETE),
    "scores": _may("organization", READ, DELETE),
    "runs": _may("organization", READ, UPDATE, DELETE),
    "endpoint_graders": _may("organization", *EVERYTHING),
    "rubric_graders": _may("organization", *EVERYTHING),
    "reviews": _may("organization", *EVERYTHING),
    "exports": _may("organization", *EVERYTHING),
    "evaluations": _may("organization", *EVERYTHING),
    "model_calls": _may("organization", *EVERYTHING),
    "webhooks": _may("organization", *EVERYTHING),
    "keys": _may("organization", *EVERYTHING),
    "administration": _may("organization", *EVERYTHING),
}

BUILT_IN: dict[str, dict[str, tuple[str, tuple[str, ...]]]] = {
    GRADER_OWNER: {
        "scores": _may("own", READ),
        "runs": _may("own", READ),
        "endpoint_graders": _may("own", *EVERYTHING),
        "rubric_graders": _may("own", *EVERYTHING),
        "reviews": _may("own", READ),
        "model_calls": _may("own", READ),
        "webhooks": _may("own", *EVERYTHING),
        "keys": _may("own", *EVERYTHING),
    },
    OPERATOR: {
        "tasks": _may("organization", CREATE, READ, UPDATE),
        "completions": _may("organization", CREATE, READ),
        "scores": _may("organization", READ),
        "runs": _may("organization", READ, UPDATE),
        "endpoint_graders": _may("organization", READ),
        "listed_graders": _may("all", READ),
        "rubric_graders": _may("organization", CREATE, READ, UPDATE),
        "reviews": _may("organization", CREATE, READ),
        "exports": _may("organization", *EVERYTHING),
        "evaluations": _may("organization", *EVERYTHING),
        "model_calls": _may("organization", READ),
        "webhooks": _may("organization", *EVERYTHING),
        "keys": _may("own", *EVERYTHING),
    },
    REVIEWER: {
        "tasks": _may("organization", READ),
        "completions": _may("organization", READ),
        "scores": _may("organization", READ),
        "runs": _may("organization", READ),
        "endpoint_graders": _may("organization", READ),
        "rubric_graders": _may("organization", READ),
        "reviews": _may("organization", CREATE, READ, UPDATE),
        "evaluations": _may("organization", READ),
        "keys": _may("own", *EVERYTHING),
    },
    ORGANIZATION_ADMIN: _ORGANIZATION_ADMIN,
    ADMIN: {
        **{resource: ("all", actions) for resource, (_, actions) in _ORGANIZATION_ADMIN.items()},
        "listed_graders": _may("all", READ),
    },
}


def permissions(name: str) -> list[dict[str, Any]]:
    """The permissions of a built-in role in the form that Role stores."""
    return [
        {"resource": resource, "actions": list(actions), "scope": scope}
        for resource, (scope, actions) in BUILT_IN[name].items()
    ]


def fault(permissions: Any) -> str | None:
    """What is wrong with permissions in the form that Role stores, in a sentence; None if the policy can read them."""
    if not isinstance(permissions, list):
        return "Give a list of {resource, actions, scope}."
    for entry in permissions:
        if not isinstance(entry, dict) or set(entry) != {"resource", "actions", "scope"}:
            return "Each entry is {resource, actions, scope}."
        actions = entry["actions"]
        if entry["resource"] not in RESOURCES:
            return f"A resource is one of {', '.join(RESOURCES)}."
        if not isinstance(actions, list) or not all(isinstance(one, str) and one in ACTIONS for one in actions):
            return f"Actions are a list of {', '.join(EVERYTHING)}."
        if entry["scope"] not in SCOPES:
            return f"A scope is one of {', '.join(SCOPES)}."
    return None
