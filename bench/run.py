#!/usr/bin/env python3
"""Measures this server on this machine: `make bench`, and `make bench-short` in CI.

Starts web, worker and beat on a database of its own (autotune_bench, made afresh), a Redis number of its own (8,
emptied) and the stub grader, then runs the load driver: a drain of 20,000 completions and a steady 10,000 a minute, for
a batch grader and for a single-call grader, with the upper limits (limits.py) in the same sitting. The table shows
medians of --rounds; all results go to a JSON file. Exit status 1 when a completion was lost, scored twice or wrongly.
"""

import argparse, datetime, json, os, pathlib, platform, statistics, subprocess, sys, urllib.parse, urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT)]

import common  # noqa: E402
import psycopg  # noqa: E402
import redis  # noqa: E402

from autotune.site.local import databases, launch  # noqa: E402
from autotune.site.local.ports import LOOPBACK, free_port, listens  # noqa: E402
from autotune.site.local.supervisor import SupervisedProcess, Supervisor, SupervisorError  # noqa: E402

LOCAL_POSTGRES = "postgres://postgres@127.0.0.1:5432/postgres"
LOCAL_REDIS = "redis://127.0.0.1:6379"
DATABASE, LIMITS_DATABASE, REDIS_NUMBER = "autotune_bench", "autotune_bench_limits", 8
UNTHROTTLED = {"AUTOTUNE_KEY_RATE_PER_MINUTE": "0", "LOG_LEVEL": "WARNING"}
PATCH = {"limits": {"ratePerMinute": None, "maxConcurrency": 256}}
PER_MINUTE = 10_000
GRADER_MS = 50  # the steady runs' grader; that of the drains answers at once
MODES = ("batch", "single")
FLOORS = {"batch drain": 60_000, "single drain": 30_000}  # scored a minute
P99_FLOOR_MS = 500


class Bench:
    def __init__(self, a):
        self.a = a
        postgres = os.environ.get("DATABASE_URL") or LOCAL_POSTGRES
        self.database = databases.sibling(postgres, DATABASE)
        self.limits_database = databases.sibling(postgres, LIMITS_DATABASE)
        address = urllib.parse.urlsplit(os.environ.get("REDIS_URL") or LOCAL_REDIS)
        self.redis = urllib.parse.urlunsplit(address._replace(path=f"/{REDIS_NUMBER}"))
        self.stub_port = free_port(range(9900, 9950))
        self.stub = f"http://{LOOPBACK}:{self.stub_port}"
        self.results = {}

    def environment(self):
        port = int(os.environ.get("PORT") or free_port(range(8200, 8300)))
        base = {**os.environ, "DATABASE_URL": self.database, "REDIS_URL": self.redis, **UNTHROTTLED}
        return launch.environment(base, port=port, data=ROOT / "var/bench", grader_ports=[self.stub_port])

    def main(self):
        databases.create_afresh(self.database)
        databases.create_if_missing(self.limits_database)
        try:
            with redis.Redis.from_url(self.redis) as client:
                client.flushdb()
                redis_pid = client.info("server")["process_id"]
        except redis.RedisError as e:
            raise SupervisorError(f"Redis: {e}") from e
        with Supervisor(ROOT / "var/bench/logs") as tree:
            env = self.environment()
            launch.manage(env, "migrate", "--noinput", "--verbosity", "0")
            report = launch.bootstrap(env, "Bench", "admin@bench.example")
            tree.start(
                SupervisedProcess(
                    "stub", (sys.executable, str(HERE / "stub_grader.py"), "--verify", "--port", str(self.stub_port))
                )
            )
            self.url, self.key = launch.start_server(tree, env, workers=self.a.workers), report["apiKey"]
            tree.wait_for(lambda: listens(self.stub_port), "the start of the stub grader", 10)
            workers = ",".join(str(pid) for name, pid in tree.pids.items() if name.startswith("worker"))
            self.procs = self.living(
                {
                    "web": tree.pids["web"],
                    "worker": workers,
                    "beat": tree.pids["beat"],
                    "postgres": self.postmaster(),
                    "redis": redis_pid,
                }
            )
            for n in range(self.a.rounds):
                for row, job in self.plan():
                    result = job()
                    tree.check()
                    self.results.setdefault(row, []).append(result)
                    print(json.dumps({"round": n + 1, "row": row, **result}), flush=True)

    @staticmethod
    def living(procs):
        """Those whose processes are of this machine: a server elsewhere has no figure here."""
        return [
            f"{name}={pids}"
            for name, pids in procs.items()
            if pids and all(os.path.exists(f"/proc/{pid}") for pid in str(pids).split(","))
        ]

    def postmaster(self):
        with psycopg.connect(self.database) as db:
            try:
                with open(f"/proc/{db.info.backend_pid}/stat") as f:
                    return int(f.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                return 0

    def plan(self):
        """(row, what to run) in the order of running."""
        a = self.a
        for mode in MODES:
            yield f"{mode} drain", lambda m=mode: self.load(m, 0, ["--rate", 0, "--total", a.total])
        for mode in MODES:
            yield (
                f"{mode} steady",
                lambda m=mode: self.load(m, GRADER_MS, ["--rate", a.per_minute / 60, "--seconds", a.seconds]),
            )
        if not a.short:
            yield "limit batch, stored", lambda: self.limit("batch", "-b", 128, "-c", 4, "-n", a.total)
            yield "limit single, stored", lambda: self.limit("single", "-c", 32, "-n", a.total // 2)

    def load(self, mode, latency_ms, how):
        self.control("/options", {"latency_ms": latency_ms, "jitter_ms": 0})
        return self.program(
            "load_driver.py",
            "--url",
            self.url,
            "--key",
            self.key,
            "--grader-url",
            self.stub,
            "--mode",
            mode,
            "--grader-latency-ms",
            latency_ms,
            "--patch-grader",
            json.dumps(PATCH),
            "--wait",
            self.a.wait,
            *how,
            *[x for p in self.procs for x in ("--proc", p)],
        )

    def limit(self, *how):
        self.control("/options", {"latency_ms": 0, "jitter_ms": 0, "max_batch": 1000})
        self.control("/secret", {"secret": common.SECRET})
        with psycopg.connect(self.limits_database, autocommit=True) as db:
            db.execute((HERE / "schema.sql").read_text())
        return self.program("limits.py", *how, "--persist")

    def control(self, path, body):
        urllib.request.urlopen(f"{self.stub}/control{path}", data=json.dumps(body).encode(), timeout=5).read()

    def program(self, name, *args):
        """The last line of JSON that a program of this folder prints."""
        env = {**os.environ, "BENCH_GRADER": self.stub, "BENCH_DB": self.limits_database, "BENCH_REDIS": self.redis}
        done = subprocess.run(
            [sys.executable, str(HERE / name), *map(str, args)],
            cwd=HERE,
            env=env,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        lines = [x for x in done.stdout.splitlines() if x.startswith("{")]
        if not lines:
            raise SupervisorError(f"{name} printed no result (exit status {done.returncode})")
        return json.loads(lines[-1])

    def table(self):
        """Markdown: medians over the rounds."""

        def median(rows, of):
            values = [x for x in map(of, rows) if x is not None]
            return statistics.median(values) if values else float("nan")

        out = [("what", "completions/s", "a minute", "p50 ms", "p99 ms", "CPU s/1,000", "checks")]
        for name, rows in self.results.items():
            rate = median(rows, lambda r: r["perSecond"])
            latency = [median(rows, lambda r, p=p: r.get("byCreatedAtMs", r["latencyMs"])[p]) for p in ("p50", "p99")]
            out.append(
                (
                    name,
                    f"{rate:,.0f}",
                    f"{rate * 60:,.0f}",
                    f"{latency[0]:,.0f}",
                    f"{latency[1]:,.0f}",
                    f"{median(rows, lambda r: r['cpuSum']):.3f}",
                    "FAILED" if any(r.get("ok") is False for r in rows) else "ok" if "ok" in rows[0] else "-",
                )
            )
        width = [max(len(r[i]) for r in out) for i in range(len(out[0]))]
        out.insert(1, ["-" * width[0], *("-" * (w - 1) + ":" for w in width[1:])])
        return "\n".join(
            "| " + " | ".join(x.ljust(w) if i == 0 else x.rjust(w) for i, (x, w) in enumerate(zip(r, width))) + " |"
            for r in out
        )

    def floors(self):
        """Compare each median with its promised value, one line each."""
        for row, floor in FLOORS.items():
            rate = statistics.median(r["perSecond"] for r in self.results[row]) * 60
            yield f"{row}: {rate:,.0f} a minute, floor {floor:,}: {'kept' if rate >= floor else 'MISSED'}"
        for mode in MODES:
            p99 = statistics.median(r["byCreatedAtMs"]["p99"] for r in self.results[f"{mode} steady"])
            yield (
                f"{mode} steady: p99 {p99:,.0f} ms at {self.a.per_minute:,} a minute, ceiling {P99_FLOOR_MS} ms: "
                f"{'kept' if p99 < P99_FLOOR_MS else 'MISSED'}"
            )

    def facts(self):
        with psycopg.connect(self.database) as db:
            version = db.execute("show server_version").fetchone()[0]
        return {
            "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "postgresql": version,
            "machine": platform.machine(),
            "workers": self.a.workers,
            "rounds": self.a.rounds,
        }


def main(a):
    bench = Bench(a)
    bench.main()
    facts = bench.facts()
    print("\n" + bench.table() + "\n\n" + ", ".join(f"{k} {v}" for k, v in facts.items()))
    if not a.short:
        print(*bench.floors(), sep="\n")
    a.json.parent.mkdir(parents=True, exist_ok=True)
    a.json.write_text(json.dumps({"facts": facts, "results": bench.results}, indent=1) + "\n")
    print(f"all results: {a.json}")
    return any(r.get("ok") is False for rows in bench.results.values() for r in rows)


if __name__ == "__main__":
    p = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    p.add_argument("--short", action="store_true", help="a small form that only proves that every score is right")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--total", type=int, default=20_000, help="completions in a drain")
    p.add_argument("--per-minute", type=int, default=PER_MINUTE, help="load of the steady runs")
    p.add_argument("--seconds", type=float, default=60, help="length of the steady runs")
    p.add_argument("--wait", type=float, default=120, help="seconds to wait for the last scores")
    p.add_argument("--workers", type=int, default=2, help="worker processes")
    p.add_argument("--json", type=pathlib.Path, default=HERE / "results" / "bench.json")
    args = p.parse_args()
    if args.short:
        args.rounds, args.total, args.per_minute, args.seconds = 1, 1000, 3000, 5
    try:
        raise SystemExit(main(args))
    except SupervisorError as e:
        raise SystemExit(str(e))
    except KeyboardInterrupt:
        raise SystemExit(130)
