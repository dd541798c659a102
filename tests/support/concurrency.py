"""Several at once, and waiting for what another thread or process does."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from django.db import connection

PATIENCE_S = 60.0  # other tests' servers and browsers share the processors


def until(condition, *, seconds=PATIENCE_S, every_s=0.01):
    """The first true value of `condition()`; fails after `seconds`."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"{condition} did not come true within {seconds:g} s"
        time.sleep(every_s)
    return value


def together(*works):
    """Each in a thread and a connection of its own, released at one moment; their results in order."""
    start = threading.Barrier(len(works))

    def run(work):
        try:
            start.wait(PATIENCE_S)
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result(PATIENCE_S) for future in [pool.submit(run, work) for work in works]]


def aside(work):
    """`work` in a thread of its own, started now; `.result(seconds)` of what is returned."""
    pool = ThreadPoolExecutor(1)

    def run():
        try:
            return work()
        finally:
            connection.close()

    future = pool.submit(run)
    pool.shutdown(wait=False)
    return future
