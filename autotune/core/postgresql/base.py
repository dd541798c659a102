"""The engine `autotune.core.postgresql` of DATABASES: Django's own backend with a `ResilientPool`."""

from collections.abc import Callable
from typing import Any

from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.postgresql import base

from autotune.core.postgresql.pool import ResilientPool


class DatabaseWrapper(base.DatabaseWrapper):
    """Builds the pool itself: Django accepts options of a pool, but neither its class nor its `check`."""

    _connection_pools: dict[str, ResilientPool]  # Django's, by alias
    _configure_connection: Callable[[Any], bool]

    @property
    def pool(self) -> ResilientPool | None:
        options: dict[str, Any] | None = self.settings_dict["OPTIONS"].get("pool")
        if self.alias == NO_DB_ALIAS or not options:
            return None
        if self.alias not in self._connection_pools:
            pool = ResilientPool(
                kwargs={**self.get_connection_params(), "autocommit": True},  # Django sets its own mode later
                configure=self._configure_connection,
                **options,
            )
            self._connection_pools.setdefault(
                self.alias, pool
            )  # if two threads arrive, the first wins; no pool is open yet
        return self._connection_pools[self.alias]
