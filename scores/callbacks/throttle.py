"""How often one callback address may be used: a flood of repeats must not cost the others their turn.

Counted in each process, by the second; nobody but the grader knows the address, so nobody else can use up its turns.
"""

import threading
import time
from typing import Final

PER_SECOND: Final = 20
_lock = threading.Lock()
_second = 0
_counts: dict[bytes, int] = {}


def admitted(address: bytes) -> bool:
    """Whether the address may be used once more in this second."""
    global _second
    now = int(time.monotonic())
    with _lock:
        if now != _second:
            _second = now
            _counts.clear()
        count = _counts[address] = _counts.get(address, 0) + 1
    return count <= PER_SECOND
