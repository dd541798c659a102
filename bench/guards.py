"""What the shared protections of a grader cost, in each home: microseconds for refresh, take, note, without and with rivals.

    python bench/guards.py --home redis      # REDIS_URL, and a database as below for the grader's row
    python bench/guards.py --home database   # DATABASE_URL, else SQLite in a temporary directory

Makes the test database of DATABASE_URL and drops it. Rivals are processes that do the same at the same grader. The tokens
that all of them were granted are counted: more than the bucket held and got is an error.
"""

import argparse
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "autotune.settings")
RATE = 60_000
TAKE = 8


def main():
    args = arguments()
    folder = tempfile.TemporaryDirectory()
    os.environ["AUTOTUNE_DATA_DIR"] = folder.name
    import django

    django.setup()
    from django.conf import settings
    from django.db import connection
    from django.test.utils import setup_databases, teardown_databases

    if args.home == "database":
        settings.REDIS_URL = ""
    connection.settings_dict["TEST"]["NAME"] = (
        None if connection.vendor == "postgresql" else f"{folder.name}/bench.sqlite3"
    )
    test_databases = setup_databases(verbosity=0, interactive=False)
    try:
        for rivals in args.rivals:
            report(args, connection.vendor, rivals)
    finally:
        teardown_databases(test_databases, verbosity=0)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--home", choices=["redis", "database"], default="database")
    parser.add_argument("--rivals", type=int, nargs="+", default=[0, 3])
    parser.add_argument("--seconds", type=float, default=3.0)
    return parser.parse_args()


def report(args, vendor, rivals):
    from django.db import connections

    from tests.factories import GraderFactory

    grader = GraderFactory(max_concurrency=64, rate_per_minute=RATE)
    connections.close_all()
    if vendor == "postgresql":
        connections["default"].close_pool()  # the children make their own
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    begun = time.time()
    crowd = [context.Process(target=work, args=(grader, number, args.seconds, results)) for number in range(rivals + 1)]
    for process in crowd:
        process.start()
    measurements = sorted((results.get() for _ in crowd), key=lambda measurement: measurement[0])
    for process in crowd:
        process.join()
    allowed = RATE / 60 * (time.time() - begun) + RATE / 6
    granted = sum(measurement[2] for measurement in measurements)
    _, times, _ = measurements[0]
    home = "redis" if args.home == "redis" else vendor
    for name, spent in times.items():
        spent.sort()
        middle, late = statistics.median(spent), spent[int(len(spent) * 0.99)]
        print(f"{home:<11} rivals {rivals}  {name:<8} p50 {middle:6.0f} us  p99 {late:6.0f} us  of {len(spent)}")
    if granted > allowed:
        raise SystemExit(f"{granted} tokens were granted, {allowed:.0f} were there")


def work(grader, number, seconds, results):
    from django.db import connection

    from autotune.core import redis
    from graders.guards import CallReport, Guard

    redis._client = None
    guard = Guard(grader, f"bench-{number}")
    times, granted = {"refresh": [], "take": [], "note": []}, 0
    good, bad = [CallReport(ok=True, items=1)] * 63, [CallReport(ok=False, items=1)]

    def timed(name, act):
        start = time.perf_counter()
        result = act()
        times[name].append((time.perf_counter() - start) * 1e6)
        return result

    now = lambda: datetime.now(UTC)  # noqa: E731
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        timed("refresh", lambda: guard.refresh(grader, want=64, now=now()))
        granted += timed("take", lambda: guard.take(TAKE, now=now()))[0]
        timed("note", lambda: guard.note(good + bad, now=now()))  # a failure among 64 is written at once
    guard.close()
    connection.close()
    results.put((number, times, granted))


if __name__ == "__main__":
    main()
