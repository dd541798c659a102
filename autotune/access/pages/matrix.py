"""Show a role's permissions as a table of resources and actions, and parse the submitted table.

The table offers the resources that have a feature. What a role allows on the others was granted through the API, or
copied from a built-in role; the form lists it separately, so that saving the role does not drop it silently.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.http import QueryDict

from autotune.access import policy
from autotune.access.principal import OPEN, Principal, granted
from autotune.access.roles.builtin import COMING, EVERYTHING, SCOPES
from autotune.core import labels

MAX_ROWS: Final = 250
AREAS: Final[dict[str, tuple[str, ...]]] = {
    "Scoring": ("tasks", "completions", "shared_completions", "scores", "reasoning", "workflow_runs"),
    "Graders and reviews": ("endpoint_graders", "listed_graders", "reviews"),
    "Training": ("exports", "preference_pairs", "rewards", "reward_endpoints"),
    "The organization": ("webhooks", "keys", "organizations", "members", "roles", "audit", "retention"),
}
ABOUT: Final = {
    "shared_completions": "prompts and responses that their graders received",
    "reasoning": "what graders wrote about scores",
    "workflow_runs": "the scoring of one completion by one grader",
    "endpoint_graders": "graders that Autotune calls at an address",
    "listed_graders": "graders in the marketplace",
    "rewards": "rewards that a trainer reads",
    "keys": "API keys",
    "organizations": "name and details of the organization",
    "retention": "days, erasures and legal holds",
    "audit": "who did what",
}
SHORT: Final = {"own": "own", "organization": "org", "all": "all"}


@dataclass(frozen=True, slots=True)
class PermissionMatrixRow:
    """A role's rights on one resource. `cells`: the widest scope of each action, or ''."""

    resource: str
    about: str
    cells: Sequence[str]

    @property
    def empty(self) -> bool:
        return not any(self.cells)


@dataclass(frozen=True, slots=True)
class PermissionEditorRow:
    """One row of the editor. `actions`: (action, whether it is checked, the person's own scope in short or '')."""

    place: int
    resource: str
    about: str
    scope: str
    actions: Sequence[tuple[str, bool, str]]


@dataclass(frozen=True, slots=True)
class ReservedPermission:
    """A permission on a resource that has no feature yet. `value`: how the form sends it back."""

    value: str
    text: str


def read(permissions: Iterable[Mapping[str, Any]]) -> list[tuple[str, list[PermissionMatrixRow]]]:
    """Return the (area, rows) of the table, with a row for every offered resource."""
    grants = granted(permissions)
    return [
        (
            area,
            [
                PermissionMatrixRow(
                    resource,
                    ABOUT.get(resource, ""),
                    [SHORT.get(grants.get((resource, action), ""), "") for action in EVERYTHING],
                )
                for resource in resources
            ],
        )
        for area, resources in AREAS.items()
    ]


def editor(
    principal: Principal, permissions: Iterable[Mapping[str, Any]]
) -> list[tuple[str, list[PermissionEditorRow]]]:
    """Return the (area, rows) of the form: a row for each permission, and an empty one for each other resource."""
    entries_by_resource: dict[str, list[Mapping[str, Any]]] = {}
    for entry in permissions:
        entries_by_resource.setdefault(entry["resource"], []).append(entry)
    areas, place = [], 0
    for area, resources in AREAS.items():
        rows = []
        for resource in resources:
            for entry in entries_by_resource.get(resource, [{"scope": "", "actions": []}]):
                actions = [
                    (action, action in entry["actions"], _own(principal, resource, action)) for action in EVERYTHING
                ]
                rows.append(PermissionEditorRow(place, resource, ABOUT.get(resource, ""), entry["scope"], actions))
                place += 1
        areas.append((area, rows))
    return areas


def parse_permissions(data: QueryDict) -> list[dict[str, Any]]:
    """Return the permissions of the submitted form, unchecked; rows without an action or a scope are skipped."""
    permissions = []
    for place in range(MAX_ROWS):
        resource = data.get(f"resource-{place}")
        if resource is None:
            break
        scope, actions = data.get(f"scope-{place}", ""), data.getlist(f"do-{place}")
        if scope and actions:
            permissions.append({"resource": resource, "actions": actions, "scope": scope})
    return permissions + _coming_permissions(data)


def incomplete_resources(data: QueryDict) -> list[str]:
    """Return the resources with actions and no scope, or a scope and no action: the form must ask for the rest."""
    return [
        str(data[f"resource-{place}"])
        for place in range(MAX_ROWS)
        if f"resource-{place}" in data and bool(data.get(f"scope-{place}")) != bool(data.getlist(f"do-{place}"))
    ]


def echoed(data: QueryDict) -> list[dict[str, Any]]:
    """Return the submitted permissions for the form that is shown again, without unknown scopes and actions."""
    permissions = []
    for place in range(MAX_ROWS):
        scope = data.get(f"scope-{place}", "")
        actions = [action for action in data.getlist(f"do-{place}") if action in EVERYTHING]
        if f"resource-{place}" in data and (scope in SCOPES or actions):
            permissions.append(
                {"resource": data[f"resource-{place}"], "actions": actions, "scope": scope if scope in SCOPES else ""}
            )
    return permissions + [entry for entry in _coming_permissions(data) if entry["resource"] in COMING]


def coming(permissions: Iterable[Mapping[str, Any]]) -> list[ReservedPermission]:
    """Return the permissions on resources that have no feature yet, in the order in which the role has them."""
    return [
        ReservedPermission(
            f"{entry['resource']}:{entry['scope']}:{','.join(entry['actions'])}",
            f"{labels.resource(entry['resource'])}: {', '.join(entry['actions'])} ({entry['scope']})",
        )
        for entry in permissions
        if entry["resource"] in COMING
    ]


def _coming_permissions(data: QueryDict) -> list[dict[str, Any]]:
    """Return the permissions that the form sends back as `coming`, unchecked."""
    parts = [value.split(":", 2) for value in data.getlist("coming")[:MAX_ROWS]]
    return [
        {"resource": resource, "actions": actions.split(","), "scope": scope}
        for resource, scope, actions in ((*part, "", "")[:3] for part in parts)
    ]


def _own(principal: Principal, resource: str, action: str) -> str:
    """Return the person's own scope of the action in short, or ''. Everybody may give rights that are open to all."""
    if resource == OPEN:
        return "all"
    return SHORT.get(policy.reach(principal, resource, action) or "", "")
