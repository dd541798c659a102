"""Create or load an organization and its API key for a command that runs against a local server."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autotune.site.local import kept
from autotune.site.local.launch import bootstrap
from autotune.site.local.supervisor import SupervisorError


def obtain(env: Mapping[str, str], state: Path, *, organization: str, admin_email: str) -> tuple[dict[str, Any], bool]:
    """Return {organizationId, adminEmail, adminPassword, apiKey}, and whether they are new; `state` stores them.

    raises SupervisorError if the organization exists and its key is not in `state`: it cannot be shown again
    """
    account = bootstrap(env, organization, admin_email)
    if account["apiKey"]:
        return kept.replace(state, account), True  # the stored account belonged to a database that no longer exists
    stored_account = kept.read(state)
    if stored_account.get("organizationId") != account["organizationId"] or not stored_account.get("apiKey"):
        raise SupervisorError(
            f"The organization {organization!r} is in the database, but its API key is not in {state}: "
            "keys are shown once. Use another database, or drop this one to start again."
        )
    return stored_account, False
