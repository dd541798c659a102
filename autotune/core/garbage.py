"""How often a long-lived process looks for reference cycles.

Python looks after every 700 new containers, and now and then through all it has loaded. A batch of rows makes thousands
of tuples, none of them in a cycle: exports spent about a fifth of their processor time on it.
"""

import gc
from typing import Final

NEW_CONTAINERS: Final = 50_000  # a few MiB of what may be garbage


def settle() -> None:
    """Called once, when the process has loaded its code: that is never looked through again, the rest seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_CONTAINERS, 50, 100)
