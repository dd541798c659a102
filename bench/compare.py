#!/usr/bin/env python3
"""The server, BullMQ and the upper limits one after the other, in one table.

  compare.py --url http://127.0.0.1:8000 --key KEY --proc web=123 --proc worker=456 --proc beat=789 \\
             --proc postgres=1000 --proc redis=redis-server

Starts a stub grader of its own on --grader-port. Each round runs everything once; the table shows medians. Drains
(all submitted at once, grader at 0 ms) give completions/s and CPU; steady runs (--rate, grader at 50 to 70 ms) give
latency. CPU is that of the named processes, or of the comparator with its PostgreSQL and Redis; the load driver and
the grader never count. BullMQ runs where bullmq/node_modules is there. Without --url only the comparators run.
"""

import argparse, json, os, statistics, subprocess, sys, time, urllib.request
import common as c

HERE = os.path.dirname(os.path.abspath(__file__))
LIMITS = {"single": ["single", "-c", "32"], "batch": ["batch", "-b", "128", "-c", "4"]}


def control(path, body):
    urllib.request.urlopen(c.GRADER + "/control" + path, data=c.dumps(body), timeout=5).read()


def program(args, cwd=HERE):
    """The last line of JSON that a program prints. Exit status 1 means that its own checks failed."""
    done = subprocess.run(args, cwd=cwd, stdout=subprocess.PIPE, env={**os.environ, "BENCH_GRADER": c.GRADER})
    lines = [x for x in done.stdout.decode().splitlines() if x.startswith("{")]
    if not lines:
        raise SystemExit(f"{args[1]} printed no result (exit status {done.returncode})")
    return json.loads(lines[-1])


def python(name, *args):
    return program([sys.executable, name, *map(str, args)])


def fresh_tables():
    import psycopg

    with psycopg.connect(c.DB, autocommit=True) as db, open(os.path.join(HERE, "schema.sql")) as f:
        db.execute(f.read())


def limit(mode, n, stored):
    if stored:
        fresh_tables()
    return python("limits.py", *LIMITS[mode], "-n", n, *(["--persist"] if stored else []))


def bullmq(n, rate, concurrency):
    fresh_tables()
    meter = c.Meter({"postgres": [c.postmaster()], "redis": [c.redis_server()]})
    r = program(["node", "bench.mjs", str(n), str(concurrency), str(rate)], os.path.join(HERE, "bullmq"))
    r["cpuPer1000"].update(meter.stop(n))
    r["cpuSum"] = round(sum(r["cpuPer1000"].values()), 4)
    return r


def server(a, mode, rate, n):
    return python(
        "load_driver.py",
        "--url",
        a.url,
        "--key",
        a.key,
        "--grader-url",
        c.GRADER,
        "--mode",
        mode,
        "--rate",
        rate,
        "--total",
        n,
        "--wait",
        a.wait,
        "--batch",
        a.batch,
        *(["--patch-grader", a.patch_grader] if a.patch_grader else []),
        *[x for p in a.proc for x in ("--proc", p)],
    )


def plan(a):
    """(row name, drain or steady, what to run) in the order of running."""
    n, steady = a.total, int(a.rate * a.seconds)
    if "limits" not in a.skip:
        for mode in LIMITS:
            many = n * 5 if mode == "batch" else n  # the cheapest: more of them, for the clock's tick
            yield f"limit {mode}, nothing stored", False, lambda m=mode, k=many: limit(m, k, False)
            yield f"limit {mode}, stored", False, lambda m=mode: limit(m, n, True)
    if "bullmq" not in a.skip and os.path.isdir(os.path.join(HERE, "bullmq", "node_modules")):
        yield "BullMQ", False, lambda: bullmq(n, 0, 32)
        yield "BullMQ, steady", True, lambda: bullmq(steady, a.rate, 32)
    if a.url:
        for mode in LIMITS:
            yield f"server {mode}", False, lambda m=mode: server(a, m, 0, n)
            yield f"server {mode}, steady", True, lambda m=mode: server(a, m, a.rate, steady)


def table(results):
    """Medians of the rounds, and two ratios: CPU over that of the stored limit of the same kind of call, and
    CPU of BullMQ over this one, a drain against a drain and a steady run against a steady run."""

    def median(rows, of):
        return statistics.median([x for x in map(of, rows) if x is not None] or [float("nan")])

    def latency(p):
        """Of all completions by the clock of the database where it is known, else as seen by the client."""
        return lambda r: r.get("byCreatedAtMs", r["latencyMs"])[p]

    cpu = {name: median(rows, lambda r: r["cpuSum"]) for name, rows in results.items()}
    out = [
        ("what", "completions/s", "p50 ms", "p99 ms", "CPU s/1,000", "x stored limit", "BullMQ CPU / this", "checks")
    ]
    for name, rows in results.items():
        kind = "single" if "single" in name or "BullMQ" in name else "batch"
        bull = "BullMQ, steady" if "steady" in name else "BullMQ"

        def ratio(over, under):
            return f"{over / under:.1f}" if over and under else "-"

        out.append(
            (
                name,
                f"{median(rows, lambda r: r['perSecond']):,.0f}",
                f"{median(rows, latency('p50')):,.0f}",
                f"{median(rows, latency('p99')):,.0f}",
                f"{cpu[name]:.3f}",
                ratio(cpu[name], cpu.get(f"limit {kind}, stored")),
                ratio(cpu.get(bull), cpu[name]),
                "FAILED" if any(r.get("ok") is False for r in rows) else "ok" if "ok" in rows[0] else "",
            )
        )
    width = [max(len(r[i]) for r in out) for i in range(len(out[0]))]
    out.insert(1, ["-" * w for w in width])
    for r in out:
        print("| " + " | ".join(x.ljust(w) if i == 0 else x.rjust(w) for i, (x, w) in enumerate(zip(r, width))) + " |")


def main(a):
    c.GRADER = f"http://127.0.0.1:{a.grader_port}"
    results, failed = {}, False
    stub = subprocess.Popen(
        [sys.executable, "stub_grader.py", "--verify", "--port", str(a.grader_port)], cwd=HERE, stdout=subprocess.PIPE
    )
    try:
        if not stub.stdout.readline():
            raise SystemExit("the stub grader did not start")
        for k in range(a.rounds):
            for name, steady, job in plan(a):
                control("/options", {"latency_ms": 50 * steady, "jitter_ms": 20 * steady, "max_batch": 1000})
                control("/reset", {})
                try:
                    r = job()
                except SystemExit as e:  # the other rows are still worth having
                    print(f"{name}: {e}", file=sys.stderr)
                    failed = True
                    continue
                results.setdefault(name, []).append(r)
                print(json.dumps({"round": k + 1, "row": name, **r}), flush=True)
                time.sleep(a.pause)
    finally:
        stub.terminate()
        stub.wait()
    print()
    table(results)
    return failed or any(r.get("ok") is False for rows in results.values() for r in rows)


if __name__ == "__main__":
    p = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    p.add_argument("--url")
    p.add_argument("--key")
    p.add_argument("--proc", action="append", default=[], metavar="NAME=PID,PID or NAME=WORDS")
    p.add_argument("--grader-port", type=int, default=9900)
    p.add_argument("--patch-grader", help="see load_driver.py")
    p.add_argument("--total", type=int, default=5000, help="completions in a drain")
    p.add_argument("--batch", type=int, default=100, help="completions in one POST")
    p.add_argument("--rate", type=float, default=170, help="completions/s of the steady runs")
    p.add_argument("--seconds", type=float, default=15, help="length of the steady runs")
    p.add_argument("--rounds", type=int, default=1)
    p.add_argument("--pause", type=float, default=1, help="seconds between runs")
    p.add_argument("--wait", type=float, default=60, help="seconds to wait for the last scores")
    p.add_argument("--skip", action="append", default=[], choices=["limits", "bullmq"])
    raise SystemExit(main(p.parse_args()))
