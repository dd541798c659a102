"""Count what reward endpoints answer. Each process adds its counts to the rows every few seconds, and logs them.

A process that is killed loses the counts of its last seconds.
"""

import atexit
import logging
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import Error, connection
from django.db.models import F
from django.utils import timezone

from autotune.core import ids
from scores.live.unscored import NO_TEXT
from scores.models import RewardEndpoint

logger = logging.getLogger(__name__)
WARN_EVERY_S: Final = 10.0


@dataclass(slots=True)
class _Tally:
    answered: int = 0
    unscored: int = 0
    without_text: int = 0


@dataclass(slots=True)
class _Missing:
    """Codes of the samples without a score since the last warning, and its time (time.monotonic())."""

    codes: Counter[str] = field(default_factory=Counter)
    warned: float = float("-inf")


_lock = threading.Lock()
_tallies: dict[UUID, _Tally] = {}
_missing: dict[UUID, _Missing] = {}
_timer: threading.Timer | None = None


def note(endpoint_id: UUID, *, answered: int, stand_ins: int, codes: Counter[str]) -> None:
    """Count the answered samples, how many of them got a stand-in, and why scores were missing."""
    with _lock:
        tally = _tallies.setdefault(endpoint_id, _Tally())
        tally.answered += answered
        tally.unscored += stand_ins
        tally.without_text += codes[NO_TEXT]
    if codes:
        _warn(endpoint_id, codes)
    if settings.LIVE_COUNTS_EVERY_S:
        _later()
    else:
        fold()


def fold() -> None:
    """Add the counts since the last fold to the rows. Counts that cannot be written now are added later."""
    with _lock:
        tallies = dict(_tallies)
        _tallies.clear()
    for endpoint_id in sorted(tallies):
        tally = tallies[endpoint_id]
        try:
            RewardEndpoint.objects.filter(pk=endpoint_id).update(
                answered=F("answered") + tally.answered,
                unscored_count=F("unscored_count") + tally.unscored,
                without_text_count=F("without_text_count") + tally.without_text,
                last_used_at=timezone.now(),
            )
        except Error as exc:
            logger.warning("reward endpoint counts cannot be saved yet: %s", exc)
            _keep(endpoint_id, tally)


def _keep(endpoint_id: UUID, tally: _Tally) -> None:
    with _lock:
        there = _tallies.setdefault(endpoint_id, _Tally())
        there.answered += tally.answered
        there.unscored += tally.unscored
        there.without_text += tally.without_text


def _warn(endpoint_id: UUID, codes: Counter[str]) -> None:
    """Log at most one line per endpoint in WARN_EVERY_S, with the codes of all missing scores since the last line."""
    now = time.monotonic()
    with _lock:
        missing = _missing.setdefault(endpoint_id, _Missing())
        missing.codes += codes
        if now - missing.warned < WARN_EVERY_S:
            return
        missing_codes, missing.codes, missing.warned = missing.codes, Counter(), now
    by_code = ", ".join(f"{code} {count}" for code, count in sorted(missing_codes.items()))
    logger.warning("%s: %d samples had no score (%s)", ids.encode("rwd", endpoint_id), missing_codes.total(), by_code)


def _later() -> None:
    global _timer
    with _lock:
        if _timer is not None and _timer.is_alive():
            return
        _timer = threading.Timer(settings.LIVE_COUNTS_EVERY_S, _fold_in_thread)
        _timer.daemon = True
        _timer.start()


def _fold_in_thread() -> None:
    global _timer
    with _lock:
        _timer = None
    try:
        fold()
    finally:
        connection.close()
    with _lock:
        has_tallies = bool(_tallies)
    if has_tallies:
        _later()


@atexit.register
def _at_the_end() -> None:
    if _tallies:
        fold()
