"""When periodic works last came to their end: what stands still shows by it (scores/engine/stalls.py)."""

from datetime import datetime, timedelta
from typing import Final

from autotune.core.clock import DatabaseNow, database_now
from scores.models import Pulse

SWEEP: Final = "sweep"
ERASE: Final = "erase"
RETAIN: Final = "retain"
SETTLE: Final = "settle"


def beat(name: str, now: datetime | None = None) -> None:
    """The work came to its end now.

    now  the database's time, if the caller has just read it
    """
    pulse = Pulse(name=name, at=now or database_now())
    Pulse.objects.bulk_create([pulse], update_conflicts=True, unique_fields=["name"], update_fields=["at"])


def begin(name: str) -> None:
    """From now on the work is waited for, if it never came to its end yet."""
    Pulse.objects.bulk_create([Pulse(name=name, at=database_now())], ignore_conflicts=True)


def is_recent(name: str, seconds: float) -> bool:
    """Whether the work came to its end, in any process, within the last so many seconds."""
    since = DatabaseNow() - timedelta(seconds=seconds)
    return Pulse.objects.filter(name=name, at__gt=since).exists()


def all_of_them() -> dict[str, datetime]:
    """When each last came to its end, by name."""
    return dict(Pulse.objects.values_list("name", "at"))
