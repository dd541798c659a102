"""Record when each periodic job last finished, so that stalled jobs can be detected (scores/engine/stalls.py)."""

from datetime import datetime, timedelta
from typing import Final

from autotune.core.clock import DatabaseNow, database_now
from scores.models import Pulse

SWEEP: Final = "sweep"
ERASE: Final = "erase"
RETAIN: Final = "retain"
SETTLE: Final = "settle"


def beat(name: str, now: datetime | None = None) -> None:
    """Record that a job has finished.

    now  the database's time, if the caller has just read it
    """
    pulse = Pulse(name=name, at=now or database_now())
    Pulse.objects.bulk_create([pulse], update_conflicts=True, unique_fields=["name"], update_fields=["at"])


def begin(name: str) -> None:
    """Start waiting for a job that never finished: from now on it counts as stalled if it does not finish in time."""
    Pulse.objects.bulk_create([Pulse(name=name, at=database_now())], ignore_conflicts=True)


def is_recent(name: str, seconds: float) -> bool:
    """Whether the job finished, in any process, within the last `seconds` seconds."""
    since = DatabaseNow() - timedelta(seconds=seconds)
    return Pulse.objects.filter(name=name, at__gt=since).exists()


def all_of_them() -> dict[str, datetime]:
    """The time at which each job last finished, by name."""
    return dict(Pulse.objects.values_list("name", "at"))
