"""The scheduler of the process `beat`, which keeps the schedule that it read last while the database is away."""

import logging
import time
from typing import Any, Final

from django.db import DatabaseError, connection
from django_celery_beat.schedulers import DatabaseScheduler

from autotune.core import logs

logger = logging.getLogger(__name__)
outages = logs.repeating(__name__)
START_EVERY_S: Final = 0.5  # interval at which a beat that starts without its database looks for it


class Scheduler(DatabaseScheduler):
    """`--scheduler autotune.site.servers.beat:Scheduler`.

    While the database is away, django-celery-beat's own scheduler writes a traceback every five seconds, and ends the
    process at its next full read, which is due every five minutes.
    """

    def setup_schedule(self) -> None:
        _wait_for_database()
        super().setup_schedule()
        logger.info("beat: ready, %d jobs", len(self.schedule))

    def schedule_changed(self) -> bool:
        return _answers() and bool(super().schedule_changed())

    def sync(self) -> None:
        if _answers():
            super().sync()

    def all_as_schedule(self) -> dict[str, Any]:
        try:
            return super().all_as_schedule()
        except DatabaseError as exc:
            outages.warning("beat: the schedule cannot be read; beat keeps the last one: %s", exc)
            return dict(self._schedule or {})
        finally:
            connection.close()  # back to the pool: the next read gets one that works


def _wait_for_database() -> None:
    while not _answers():
        time.sleep(START_EVERY_S)


def _answers() -> bool:
    """Whether the database answers; the pool checks a connection before it hands it out."""
    try:
        connection.ensure_connection()
    except DatabaseError as exc:
        outages.warning("beat: the database is away: %s", exc)
        return False
    finally:
        connection.close()
    return True
