"""The resources and acts that the audit log's page offers as filters: those for which events can exist."""

from typing import Final

from autotune.access.roles.builtin import OFFERED
from autotune.core import labels

BESIDE_ROLES: Final = ("admin", "password", "people", "second_factor", "session")  # resources that no role mentions
NO_EVENTS: Final = frozenset({"reasoning", "shared_completions"})  # only limit what other resources show
ACTIONS: Final = {
    "session.login": "log in", "password.update": "change a password", "members.accept": "accept an invitation",
    "second_factor.create": "set up a second factor", "second_factor.delete": "turn a second factor off",
    "audit.lost": "lose events",
}  # fmt: skip
VERBS: Final = ("create", "update", "delete")


def resource_choices() -> list[tuple[str, str]]:
    """Return the resources to choose from, with their labels."""
    resources = (set(OFFERED) | set(BESIDE_ROLES)) - NO_EVENTS
    return sorted(((name, labels.resource(name)) for name in resources), key=lambda choice: choice[1].casefold())


def action_choices() -> list[tuple[str, str]]:
    """Return the acts to choose from, with their labels, by the resource that they concern."""
    acts = [
        (f"{resource}.{verb}", f"{label}: {verb}")
        for resource, label in resource_choices()
        if resource not in BESIDE_ROLES
        for verb in VERBS
    ]
    return [*acts, *((action, label.capitalize()) for action, label in ACTIONS.items())]
