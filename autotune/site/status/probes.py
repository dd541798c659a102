"""Report whether this process is alive (`/health`) and can accept work (`/ready`)."""

import os
import shutil
from collections.abc import Callable

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from autotune.core import redis
from autotune.core.api.operations import ApiStruct
from autotune.core.crypto import keychecks

MIN_FREE_BYTES = 64 * 2**20
PROBED, PROBED_S = "autotune:probed", 60  # a write, because a Redis whose memory is full still answers pings


class ProcessHealth(ApiStruct):
    status: str


class ReadinessCheck(ApiStruct):
    """`failed` makes the process not ready; `degraded` does not."""

    name: str
    status: str
    detail: str


class Readiness(ApiStruct):
    status: str
    checks: list[ReadinessCheck]


def readiness() -> Readiness:
    """Check what submitting needs: database, migrations, encryption and disk. Without a broker it is `degraded`."""
    checks = [_checked("database", _database), _checked("disk", _disk), _broker()]
    if checks[0].status == "ok":
        checks.insert(1, _checked("migrations", _migrations))
    if all(check.status == "ok" for check in checks[:2]):
        checks.insert(2, _checked("encryption", _encryption))
    states = {check.status for check in checks}
    status = "failed" if "failed" in states else "degraded" if "degraded" in states else "ok"
    return Readiness(status, checks)


def _checked(name: str, check: Callable[[], str]) -> ReadinessCheck:
    fault = check()
    return ReadinessCheck(name, "failed" if fault else "ok", fault)


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            if connection.vendor != "postgresql":
                cursor.execute("select 1")
                return ""
            cursor.execute("show transaction_read_only")  # "on" in a standby too
            return "The database is read-only." if cursor.fetchone() == ("on",) else ""
    except DatabaseError:
        return "The database does not answer."


def _migrations() -> str:
    if _Migrated.done:
        return ""
    try:
        executor = MigrationExecutor(connection)
        pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError:
        return "The migrations could not be read."
    _Migrated.done = not pending
    return f"{len(pending)} migrations are pending; run `manage.py migrate`." if pending else ""


class _Migrated:
    """Migrations do not go backwards while a process lives, so a good answer is kept."""

    done = False


def _encryption() -> str:
    """Check that the newest data keys open; remembered for a few seconds, because a key service may be slow."""
    try:
        refusal = keychecks.recent_refusal()
    except DatabaseError:
        return "The data keys could not be read."
    return refusal[:1].upper() + refusal[1:]


def _disk() -> str:
    settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    if not os.access(settings.DATA_DIR, os.W_OK):
        return "AUTOTUNE_DATA_DIR cannot be written."
    if shutil.disk_usage(settings.DATA_DIR).free < MIN_FREE_BYTES:
        return "AUTOTUNE_DATA_DIR is on a disk that is nearly full."
    return ""


def _broker() -> ReadinessCheck:
    if not settings.REDIS_URL:
        return ReadinessCheck("broker", "ok", "filesystem")
    if redis.attempt(lambda client: client.set(PROBED, 1, ex=PROBED_S), otherwise=False):
        return ReadinessCheck("broker", "ok", "redis")
    return ReadinessCheck("broker", "degraded", "Redis does not answer: scoring continues, but more slowly.")
