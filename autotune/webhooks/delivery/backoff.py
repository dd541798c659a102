"""Decide when a failed delivery is retried, and when it is given up."""

import random
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

FIRST: Final = timedelta(seconds=5)
LONGEST: Final = timedelta(hours=4)
GIVE_UP: Final = timedelta(days=3)
MAX_RETRY_AFTER: Final = timedelta(hours=12)
DOUBLINGS: Final = 20  # far beyond LONGEST


def next_try(
    failures: int, queued_at: datetime, now: datetime, *, requested_wait: timedelta | None = None
) -> datetime | None:
    """Return when to try again after `failures` failures; None once three days have passed.

    The last try is at the end of the three days.


    requested_wait  the wait that the endpoint requested; it can lengthen the delay, up to MAX_RETRY_AFTER
    """
    end = queued_at + GIVE_UP
    if now >= end:
        return None
    wait = min(FIRST * 2 ** min(failures - 1, DOUBLINGS), LONGEST)
    wait *= random.uniform(0.75, 1.25)  # noqa: S311 - jitter, no secret
    if requested_wait is not None:
        wait = max(wait, min(requested_wait, MAX_RETRY_AFTER))
    return min(now + wait, end)


def retry_after(text: str | None, now: datetime) -> timedelta | None:
    """Return the wait of a `Retry-After` header, in seconds or until a date; None if it is neither."""
    value = (text or "").strip()
    if value.isascii() and value.isdigit() and len(value) <= 9:
        return timedelta(seconds=int(value))
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(until.replace(tzinfo=until.tzinfo or UTC) - now, timedelta())
