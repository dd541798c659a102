#!/usr/bin/env python3
"""Drains after statistics of an idle queue, and the time estimate of a submission: `make bench-plans ARGS=--drains`.

Three drains of as many completions in one database, with an ANALYZE of the idle queue before each: the third must take at
most 10 % more of PostgreSQL's CPU than the first. Then one with 1,500,000 scores stored, which may take 15 % more than the
median of those three. Then a long queue, and in the middle of its drain a submission whose
`estimatedScoreTimeMs` is compared with the time that it took: at most twice, at least half. The drain runs in this process
against stub_grader.py; CPU is that of the server's processes of this database, from /proc.
"""

import os, pathlib, statistics, subprocess, sys, threading, time  # noqa: E401

HERE = pathlib.Path(__file__).resolve().parent
PORT = 9917
CHUNK = 250_000
TICKS = os.sysconf("SC_CLK_TCK")


def backend_cpu():
    """CPU seconds of the PostgreSQL processes that serve this database."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("select pid from pg_stat_activity where datname = current_database()")
        pids = [row[0] for row in cursor.fetchall()]
    total = 0
    for pid in pids:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def has_queued_runs(grader):
    """Whether a run is due or leased, by the indexes of these states: a search through all runs would grow with them."""
    from scores.models import WorkflowRun

    runs = WorkflowRun.objects.filter(grader=grader)
    return any(runs.filter(status=status).exists() for status in ("pending", "running"))


def drain(grader):
    from scores.engine import drains

    while has_queued_runs(grader):
        drains.drain(grader.pk)


def submit(world, count):
    for _ in range(0, count, 2_000):
        world.submit(world.task, min(2_000, count))


def report(drains, each, long, stored):
    from django.db import connection
    from django.test import override_settings

    from autotune.core.outbound.addresses import parse_allow
    from bench.plan_states import World

    stub = subprocess.Popen(
        [sys.executable, HERE / "stub_grader.py", "--port", str(PORT), "--max-batch", "100"], stdout=-3
    )
    try:
        from tests.factories import SECRET

        with override_settings(AUTOTUNE_OUTBOUND_ALLOW_GRADERS=parse_allow(f"127.0.0.1/32:{PORT}"), REDIS_URL=""):
            import json, urllib.request  # noqa: E401

            time.sleep(1.5)
            body = json.dumps({"secret": SECRET}).encode()
            urllib.request.urlopen(
                urllib.request.Request(f"http://127.0.0.1:{PORT}/control/secret", body, method="POST")
            )
            world = World(f"http://127.0.0.1:{PORT}")
            world.webhook.delete()
            world.filler.world.webhook = world.webhook
            figures = drained(world, connection, drains, each)
            with_history = drained_with_history(world, connection, each, stored) / statistics.median(figures)
            ratio = estimated(world, long)
    finally:
        stub.terminate()
        stub.wait()
    worst = figures[-1] / figures[0]
    print(
        f"\nthird drain / first: {worst:.2f} (at most 1.10); with {stored:,} stored / median: {with_history:.2f} (at most 1.15)"
    )
    print(f"estimate / actual: {ratio:.2f} (0.5 to 2)")
    return worst > 1.10 or with_history > 1.15 or not 0.5 <= ratio <= 2


def drained(world, connection, drains, each):
    """PostgreSQL's CPU seconds per 1,000 of each drain."""
    print("| drain | completions/s | PostgreSQL CPU s/1,000 |\n| --- | ---: | ---: |")
    submit(world, each)
    drain(world.grader)  # gives the queue a history
    connection.close = lambda: None  # one backend, whose CPU is counted
    return [measured_drain(world, connection, each, number + 1) for number in range(drains)]


def measured_drain(world, connection, each, name):
    """PostgreSQL's CPU seconds per 1,000 of one drain."""
    with connection.cursor() as cursor:
        cursor.execute("vacuum analyze")  # dead entries of the queue must not count,
        cursor.execute("checkpoint")  # nor writing the pages of a history that was stored a moment ago
    submit(world, each)
    before, began = backend_cpu(), time.monotonic()
    drain(world.grader)
    took, cpu = time.monotonic() - began, backend_cpu() - before
    check_scored(world)
    print(f"| {name} | {each / took:,.0f} | {cpu / each * 1000:.3f} |", flush=True)
    return cpu / each * 1000


def check_scored(world):
    """Stop if a submitted completion has no score: a drain whose calls fail is quick too."""
    from scores.models import Score

    scored = Score.objects.filter(completion__external_id__startswith="new-").count()
    if scored != world.number:
        raise SystemExit(f"{scored:,} scores of {world.number:,} completions")


def drained_with_history(world, connection, each, stored):
    """The same of a drain with many scores stored."""
    for start in range(0, stored, CHUNK):
        world.filler.finished(min(CHUNK, stored - start))
    return measured_drain(world, connection, each, f"with {stored:,} stored")


def estimated(world, long):
    """The estimated time of a submission behind a long queue, divided by the actual time."""
    from scores.intake import estimates

    del __import__("django.db").db.connection.close
    submit(world, long)
    worker = threading.Thread(target=drain, args=(world.grader,))
    worker.start()
    time.sleep(8)
    estimates.forget()
    began = time.monotonic()
    from scores.models import WorkflowRun

    queued = WorkflowRun.objects.filter(grader=world.grader, status="pending").count()
    world.submit(world.task, 10)
    world.grader.refresh_from_db()
    estimated_ms = estimates.milliseconds(world.grader, {2: 10}, world.organization.pk)
    worker.join()
    took_ms = (time.monotonic() - began) * 1000
    print(f"\n{queued:,} queued: estimated {estimated_ms:,} ms, took {took_ms:,.0f} ms")
    return estimated_ms / took_ms
