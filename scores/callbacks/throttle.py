"""Limit how often a callback address may be used, so that many repeats of one callback do not delay the others.

Each process counts requests by the second. Only the grader knows the address, so no one else can use up its limit.
"""

import threading
import time
from typing import Final

PER_SECOND: Final = 20
_lock = threading.Lock()
_second = 0
_counts: dict[bytes, int] = {}


def admitted(address: bytes) -> bool:
    """Count a use of the address, and return whether it is within the limit of this second."""
    global _second
    now = int(time.monotonic())
    with _lock:
        if now != _second:
            _second = now
            _counts.clear()
        count = _counts[address] = _counts.get(address, 0) + 1
    return count <= PER_SECOND
