"""System checks of the core. `manage.py check` runs them, and so do most commands before they start."""

from collections.abc import Sequence
from typing import Any

from django.core import checks
from django.core.checks import CheckMessage

from autotune.core import connections
from autotune.core.crypto import keychecks


@checks.register()
def master_keys(app_configs: Sequence[Any] | None, **_: Any) -> list[CheckMessage]:
    """Check that the master keys open the data keys of the database, unless it is away or not migrated yet."""
    if app_configs is not None:
        return []
    try:
        refusal = keychecks.refusal()
    except connections.ERRORS:
        return []
    if not refusal:
        return []
    hint = "Set AUTOTUNE_ENCRYPTION_KEYS to the keys of this database; see docs/encryption.md."
    return [checks.Error(f"{refusal[0].upper()}{refusal[1:]}", hint=hint, id="autotune.E001")]
