"""System checks of the core: `manage.py check`, and what runs before most commands."""

from collections.abc import Sequence
from typing import Any

from django.core import checks
from django.core.checks import CheckMessage
from django.db import DatabaseError

from autotune.core import keychecks


@checks.register()
def master_keys(app_configs: Sequence[Any] | None, **_: Any) -> list[CheckMessage]:
    """The master keys open what is in the database. Where it is away, or not migrated yet, there is nothing to say."""
    if app_configs is not None:
        return []
    try:
        refusal = keychecks.refusal()
    except DatabaseError:
        return []
    except Exception as exc:
        if type(exc).__name__ != "PoolTimeout":
            raise
        return []
    if not refusal:
        return []
    hint = "Set AUTOTUNE_ENCRYPTION_KEYS to the keys of this database; docs/encryption.md says more."
    return [checks.Error(f"{refusal[0].upper()}{refusal[1:]}", hint=hint, id="autotune.E001")]
