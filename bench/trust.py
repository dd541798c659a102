#!/usr/bin/env python3
"""What trust costs: batch submission with audit, idempotency and throttling on, and off, side by side: `make bench-trust`.

Two web servers on one database and one Redis: the product, and the same code with audit and throttling taken out
(bare.py). Idempotency is off where the request has no `Idempotency-Key`. Nothing is scored meanwhile: no worker runs.
Short rounds go round the variants, forwards and backwards in turn, so that a machine whose pace drifts slows all alike; the
figure is the median of the ratios inside a round, with its 95 % interval (bootstrap). `bare` runs twice in each round: the
ratio of its two runs is the ratio that noise of the machine produces.

Exit status 1 when the overhead of all three is not under --ceiling, or a request failed.
"""

import argparse, asyncio, datetime, json, os, pathlib, platform, random, statistics, sys, time, urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT)]

import aiohttp  # noqa: E402
import common  # noqa: E402
import psycopg  # noqa: E402
import redis  # noqa: E402

from autotune.site.local import databases, launch  # noqa: E402
from autotune.site.local.ports import LOOPBACK, answers, free_port, listens  # noqa: E402
from autotune.site.local.supervisor import SupervisedProcess, Supervisor, SupervisorError  # noqa: E402

LOCAL_POSTGRES, LOCAL_REDIS = "postgres://postgres@127.0.0.1:5432/postgres", "redis://127.0.0.1:6379"
DATABASE, REDIS_NUMBER = "autotune_trust", 8
RATE_PER_MINUTE = 1_000_000  # of a key: throttling counts, and refuses nobody
SERVERS = {"bare": "bench.bare:application", "full": "autotune.wsgi:application"}
# variant: (server, whether its requests carry an Idempotency-Key)
VARIANTS = {
    "bare": ("bare", False),
    "idempotency": ("bare", True),
    "audit and throttling": ("full", False),
    "all three": ("full", True),
    "bare again": ("bare", False),
}
BODIES = 16
SEALING = """
import json, time
from django.db import transaction
from autotune.access.audit import sealing, trail
sealing.seal()
began = time.perf_counter()
with transaction.atomic():
    for n in range(COUNT):
        trail.record(action="bench.event", resource="bench", actor="bench", fields=["name"])
written = time.perf_counter()
sealed = sealing.seal()
done = time.perf_counter()
assert sealed.count >= COUNT and not sealed.refused, sealed
print(json.dumps({"events": sealed.count, "writtenPerSecond": round(COUNT / (written - began)),
                  "sealedPerSecond": round(sealed.count / (done - written))}))
"""


class Bench:
    def __init__(self, a):
        self.a = a
        self.database = databases.sibling(os.environ.get("DATABASE_URL") or LOCAL_POSTGRES, DATABASE)
        address = urllib.parse.urlsplit(os.environ.get("REDIS_URL") or LOCAL_REDIS)
        self.redis = urllib.parse.urlunsplit(address._replace(path=f"/{REDIS_NUMBER}"))
        self.stub_port = free_port(range(9950, 9990))
        self.ports, self.results, self.errors = {}, {}, {}

    # The servers

    def environment(self, name):
        base = {
            **os.environ,
            "DATABASE_URL": self.database,
            "REDIS_URL": self.redis,
            "LOG_LEVEL": "WARNING",
            "AUTOTUNE_KEY_RATE_PER_MINUTE": str(RATE_PER_MINUTE),
        }
        self.ports[name] = free_port(range(8300 + 50 * len(self.ports), 8350 + 50 * len(self.ports)))
        return launch.environment(
            base, port=self.ports[name], data=ROOT / "var/bench-trust", grader_ports=[self.stub_port]
        )

    def main(self):
        databases.create_afresh(self.database)
        with redis.Redis.from_url(self.redis) as client:
            client.flushdb()
            self.redis_pid = client.info("server")["process_id"]
        with Supervisor(ROOT / "var/bench-trust/logs") as tree:
            environments = {name: self.environment(name) for name in SERVERS}
            launch.manage(environments["full"], "migrate", "--noinput", "--verbosity", "0")
            self.key = launch.bootstrap(environments["full"], "Bench", "admin@bench.example")["apiKey"]
            stub = (sys.executable, str(HERE / "stub_grader.py"), "--verify", "--port", str(self.stub_port))
            tree.start(SupervisedProcess("stub", stub))
            for name, entry in SERVERS.items():
                tree.start(self.web(name, entry, environments[name]))
            for name, port in self.ports.items():
                tree.wait_for(lambda p=port: answers(p, launch.READY_PATH), f"the start of {name}", 60)
            tree.wait_for(lambda: listens(self.stub_port), "the start of the stub grader", 10)
            self.pids = tree.pids
            common.run(self.measure())
            tree.check()
        self.sealing = self.seal(environments["full"])

    @staticmethod
    def web(name, entry, env):
        web = next(process for process in launch.server_processes(env) if process.name == "web")
        command = web.command[-1].replace(SERVERS["full"], entry)
        return SupervisedProcess(f"web-{name}", (*web.command[:-1], command), env=env, cwd=ROOT)

    # The load

    async def measure(self):
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as self.http:
            await self.set_up()
            a = self.a
            await self.sides(f"batch of {a.batch}", self.batches(a.batch), a.rounds, a.posts, a.connections)
            if not (a.short or a.brief):
                await self.sides("batch of 1,000", self.batches(1000), a.rounds // 2, a.posts // 5, a.connections)
                await self.sides("one completion", self.singles(), a.rounds // 2, a.posts * 2, a.connections)
            await self.sides("read of a completion", self.reads(), a.rounds // 2, a.posts * 2, 1)

    async def call(self, server, method, path, body=None, headers=()):
        url = f"http://{LOOPBACK}:{self.ports[server]}/api/v1{path}"
        all_headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json", **dict(headers)}
        async with self.http.request(method, url, data=body, headers=all_headers) as response:
            return response.status, await response.read()

    async def need(self, method, path, body=None):
        status, raw = await self.call("full", method, path, None if body is None else common.dumps(body))
        if status not in (200, 201, 202):
            raise SystemExit(f"{method} {path}: {status} {raw[:400]!r}")
        return common.loads(raw)

    async def set_up(self):
        """A verified grader, a task, and one completion to read."""
        stub = f"http://{LOOPBACK}:{self.stub_port}"
        capabilities = {"maxBatchSize": 128, "supportsDimensions": False, "supportsExplanations": False}
        capabilities |= {"supportsAsync": False, "avgLatencyMs": 50, "domains": []}
        grader = {"name": "stub", "description": "Stub", "endpoint": stub, "capabilities": capabilities}
        registration = await self.need("POST", "/graders", grader)
        secret = common.dumps({"secret": registration["credentials"]["sharedSecret"]})
        await (await self.http.post(f"{stub}/control/secret", data=secret)).read()
        await self.need("POST", f"/graders/{registration['grader']['id']}/verify", {})
        task = {"name": "bench", "promptTemplate": "{{prompt}}", "graderId": registration["grader"]["id"]}
        self.task = (await self.need("POST", "/tasks", task))["task"]["id"]
        self.read = (await self.need("POST", "/completions", self.items(1)[0]))["completion"]["id"]

    def items(self, count, seed=1):
        return [
            {"taskId": self.task, "modelId": "bench-model", "prompt": x["prompt"], "response": x["response"]}
            for x in common.completions(count, seed)
        ]

    def batches(self, size):
        return (
            "POST",
            "/completions/batch",
            202,
            [common.dumps({"completions": self.items(size, n)}) for n in range(BODIES)],
        )

    def singles(self):
        return "POST", "/completions", 202, [common.dumps(item) for item in self.items(BODIES * 4)]

    def reads(self):
        return "GET", f"/completions/{self.read}", 200, [None]

    async def sides(self, row, what, rounds, posts, connections):
        """`rounds` times each variant, `posts` requests at a time; the first round warms up and does not count."""
        variants = [v for v in VARIANTS if what[0] == "POST" or v != "idempotency" and v != "all three"]
        got = {variant: [] for variant in variants}
        for n in range(rounds + 1):
            for variant in variants if n % 2 else reversed(variants):
                measurement = await self.once(variant, what, posts if n else max(4, posts // 4), connections)
                if n:
                    got[variant].append(measurement)
        self.results[row] = got
        print(json.dumps({"row": row, **{v: self.median(got[v], "ms") for v in variants}}), flush=True)

    async def once(self, variant, what, posts, connections):
        """Wall and CPU milliseconds for each request of one short run."""
        server, keyed = VARIANTS[variant]
        method, path, expected, bodies = what
        left, latencies = iter(range(posts)), []

        async def sender():
            for n in left:
                headers = {"Idempotency-Key": f"{random.getrandbits(128):032x}"} if keyed else {}
                began = time.perf_counter()
                status, raw = await self.call(server, method, path, bodies[n % len(bodies)], headers)
                latencies.append(time.perf_counter() - began)
                if status != expected:
                    problem = f"{variant}: {status} {raw[:200]!r}"
                    self.errors[problem] = self.errors.get(problem, 0) + 1

        meter = common.Meter(
            {"web": [self.pids[f"web-{server}"]], "postgres": [self.postmaster()], "redis": [self.redis_pid]}
        )
        await asyncio.gather(*(sender() for _ in range(connections)))
        used = meter.stop(1000 * posts)
        return {
            "ms": meter.seconds * 1000 / posts,
            "cpuMs": sum(used.values()) * 1000,
            "p50": common.pct(latencies, 50)[0] * 1000,
        }

    def postmaster(self):
        if not hasattr(self, "_postmaster"):
            with psycopg.connect(self.database) as db:
                self._postmaster = common.stat(db.info.backend_pid)[0]
        return self._postmaster

    # What came of it

    @staticmethod
    def median(runs, of):
        return round(statistics.median(run[of] for run in runs), 3)

    def ratio(self, row, variant, of="ms"):
        """(median, low, high) of variant over bare, paired by round; bare is the mean of its two runs around."""
        got = self.results[row]
        if variant == "bare again":
            pairs = [x[of] / y[of] for x, y in zip(got[variant], got["bare"])]
        else:
            pairs = [2 * x[of] / (y[of] + z[of]) for x, y, z in zip(got[variant], got["bare"], got["bare again"])]
        draw = random.Random(1)
        spread = sorted(statistics.median(draw.choices(pairs, k=len(pairs))) for _ in range(2000))
        return statistics.median(pairs), spread[50], spread[1949]

    def table(self):
        """Markdown: milliseconds and CPU for a request, and the ratios to bare."""
        out = [("what", "variant", "ms a request", "time / bare", "95 %", "CPU ms a request", "CPU / bare")]
        for row, got in self.results.items():
            for variant, runs in got.items():
                ratio, low, high = self.ratio(row, variant)
                cpu = self.ratio(row, variant, "cpuMs")[0]
                own = variant == "bare"
                out.append(
                    (row, variant, f"{self.median(runs, 'ms'):.2f}", "" if own else f"{ratio:.3f}",
                     "" if own else f"{low:.3f}–{high:.3f}", f"{self.median(runs, 'cpuMs'):.2f}", "" if own else f"{cpu:.3f}")
                )  # fmt: skip
        width = [max(len(line[i]) for line in out) for i in range(len(out[0]))]
        out.insert(1, ["-" * w if i < 2 else "-" * (w - 1) + ":" for i, w in enumerate(width)])
        return "\n".join(
            "| " + " | ".join(x.ljust(w) if i < 2 else x.rjust(w) for i, (x, w) in enumerate(zip(line, width))) + " |"
            for line in out
        )

    def seal(self, env):
        """Events a second: written, and sealed, by one process with nothing else to do."""
        code = SEALING.replace("COUNT", str(400 if self.a.short else 10_000))
        return json.loads(launch.manage(env, "shell", "--no-imports", "-v", "0", "-c", code).strip().splitlines()[-1])

    def verdict(self):
        """(line, whether it holds): throughput lost by all three on batch submission."""
        row = f"batch of {self.a.batch}"
        ratio, low, high = self.ratio(row, "all three")
        lost = [(1 - 1 / x) * 100 for x in (ratio, low, high)]
        return (
            f"{row}: all three cost {lost[0]:.1f} % of throughput (95 %: {lost[1]:.1f} to {lost[2]:.1f}), "
            f"ceiling {self.a.ceiling:g} %: {'kept' if lost[0] < self.a.ceiling else 'MISSED'}",
            lost[0] < self.a.ceiling,
        )


def main(a):
    bench = Bench(a)
    bench.main()
    facts = {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "cores": os.cpu_count(), "machine": platform.machine(), "python": platform.python_version(),
        "rounds": a.rounds, "requests": a.posts, "connections": a.connections,
    }  # fmt: skip
    line, kept = bench.verdict()
    print("\n" + bench.table() + "\n\n" + ", ".join(f"{k} {v}" for k, v in facts.items()) + "\n" + line)
    print(
        "the sealer: {events:,} events, {sealedPerSecond:,}/s; written {writtenPerSecond:,}/s".format(**bench.sealing)
    )
    for problem, count in bench.errors.items():
        print(f"{count} x {problem}")
    a.json.parent.mkdir(parents=True, exist_ok=True)
    a.json.write_text(
        json.dumps({"facts": facts, "verdict": line, "sealing": bench.sealing, "results": bench.results}, indent=1)
        + "\n"
    )
    print(f"all results: {a.json}")
    return bool(bench.errors) or not (kept or a.short)


if __name__ == "__main__":
    p = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    p.add_argument("--short", action="store_true", help="a small form that only proves that every variant works")
    p.add_argument("--brief", action="store_true", help="only the batch and the read")
    p.add_argument("--rounds", type=int, default=30, help="rounds over the variants")
    p.add_argument("--posts", type=int, default=20, help="requests of one run")
    p.add_argument("--batch", type=int, default=100, help="completions in one request")
    p.add_argument("--connections", type=int, default=4)
    p.add_argument("--ceiling", type=float, default=10, help="percent of throughput that the three may cost")
    p.add_argument("--json", type=pathlib.Path, default=HERE / "results" / "trust.json")
    args = p.parse_args()
    if args.short:
        args.rounds, args.posts = 2, 8
    try:
        raise SystemExit(main(args))
    except SupervisorError as e:
        raise SystemExit(str(e))
    except KeyboardInterrupt:
        raise SystemExit(130)
