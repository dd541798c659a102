"""An organization for a command that runs against a local server, with the key that was made for it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autotune.site.local import kept
from autotune.site.local.launch import bootstrap
from autotune.site.local.supervisor import SupervisorError


def obtain(env: Mapping[str, str], state: Path, *, organization: str, admin_email: str) -> tuple[dict[str, Any], bool]:
    """{organizationId, adminEmail, adminPassword, apiKey} and whether they are new; kept in `state` from the first run.

    raises SupervisorError if the organization is there and its key is not in `state`: it cannot be told again
    """
    made = bootstrap(env, organization, admin_email)
    if made["apiKey"]:
        return kept.replace(state, made), True  # what was kept belonged to a database that is no more
    known = kept.read(state)
    if known.get("organizationId") != made["organizationId"] or not known.get("apiKey"):
        raise SupervisorError(
            f"The organization {organization!r} is in the database, but its API key is not in {state}: "
            "keys are shown once. Use another database, or remove this one to start anew."
        )
    return known, False
