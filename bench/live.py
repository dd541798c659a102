#!/usr/bin/env python3
"""2,000 trainers' calls that wait at once, at the process `live` and at `web` only: `make bench-live`.

One sample a call, as OpenRLHF sends them, all at once; a stub grader takes --latency-ms for each batch, so that all of them
wait. It reports: how long it takes until all are stored, how long after its score a call is answered, what `live` needs
meanwhile, and how fast batches are submitted to `web` beside it, before, during and after. Then the same calls go to `web`
only, whose threads carry only some of them: with OpenRLHF's five tries, one second apart, as long as they last.

Exit status 1 when a call to `live` is not answered with its reward, or `live` takes more than --ceiling percent of a core while
all of them wait. (The time of a submission during the wait is printed beside it: on a machine that others use, that is mostly theirs.)
"""

import argparse, asyncio, datetime, json, os, pathlib, platform, statistics, sys, time, urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT)]

import aiohttp  # noqa: E402
import common  # noqa: E402
import psycopg  # noqa: E402
import redis  # noqa: E402

from autotune.site.local import databases, launch  # noqa: E402
from autotune.site.local.ports import LOOPBACK, free_port, listens  # noqa: E402
from autotune.site.local.supervisor import SupervisedProcess, Supervisor, SupervisorError  # noqa: E402

LOCAL_POSTGRES, LOCAL_REDIS = "postgres://postgres@127.0.0.1:5432/postgres", "redis://127.0.0.1:6379"
DATABASE, REDIS_NUMBER = "autotune_live", 10
TRIES, PAUSE_S = 5, 1.0  # OpenRLHF's
BATCH = 100
AHEAD = {
    "notBefore": (datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=2)).isoformat()
}  # no grader is asked


class Bench:
    def __init__(self, a):
        self.a = a
        self.database = databases.sibling(os.environ.get("DATABASE_URL") or LOCAL_POSTGRES, DATABASE)
        address = urllib.parse.urlsplit(os.environ.get("REDIS_URL") or LOCAL_REDIS)
        self.redis = urllib.parse.urlunsplit(address._replace(path=f"/{REDIS_NUMBER}"))
        self.port, self.live_port = free_port(range(8400, 8450)), free_port(range(8450, 8500))
        self.stub_port = free_port(range(9950, 9990))
        self.results, self.problems = {}, {}

    def main(self):
        databases.create_afresh(self.database)
        with redis.Redis.from_url(self.redis) as client:
            client.flushdb()
        data = ROOT / "var/bench-live"
        base = {**os.environ, "DATABASE_URL": self.database, "REDIS_URL": self.redis, "LOG_LEVEL": "ERROR",
                "AUTOTUNE_KEY_RATE_PER_MINUTE": "0"}  # fmt: skip
        env = launch.environment(
            base, port=self.port, data=data, grader_ports=[self.stub_port], live_port=self.live_port
        )
        with Supervisor(data / "logs") as tree:
            launch.manage(env, "migrate", "--noinput", "--verbosity", "0")
            self.key = launch.bootstrap(env, "Bench", "admin@bench.example")["apiKey"]
            stub = (sys.executable, str(HERE / "stub_grader.py"), "--verify", "--port", str(self.stub_port))
            tree.start(SupervisedProcess("stub", stub))
            launch.start_server(tree, env)
            tree.wait_for(lambda: listens(self.stub_port), "the start of the stub grader", 10)
            self.pids = tree.pids
            common.run(self.measure())
            tree.check()

    async def measure(self):
        limits = aiohttp.TCPConnector(limit=0)
        timeout = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(connector=limits, timeout=timeout) as self.http:
            await self.set_up()
            before = await self.submit(self.a.seconds)
            await self.calls("live", self.live_port, during=True)
            after = await self.submit(self.a.seconds)
            self.results["submission"] = {"before": before, "during": self.during, "after": after}
            print(json.dumps({"row": "submission", **self.results["submission"]}), flush=True)
            await self.calls("web", self.port, during=False)

    async def need(self, method, path, body):
        url = f"http://{LOOPBACK}:{self.port}/api/v1{path}"
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        async with self.http.request(method, url, data=common.dumps(body), headers=headers) as response:
            raw = await response.read()
            if response.status not in (200, 201, 202):
                raise SystemExit(f"{method} {path}: {response.status} {raw[:400]!r}")
            return common.loads(raw)

    async def set_up(self):
        stub = f"http://{LOOPBACK}:{self.stub_port}"
        capabilities = {"maxBatchSize": 128, "supportsDimensions": False, "supportsExplanations": False}
        capabilities |= {"supportsAsync": False, "avgLatencyMs": 50, "domains": []}
        grader = {"name": "stub", "endpoint": stub, "capabilities": capabilities, "limits": {"maxConcurrency": 64}}
        registration = await self.need("POST", "/graders", grader)
        secret = common.dumps({"secret": registration["credentials"]["sharedSecret"]})
        await (await self.http.post(f"{stub}/control/secret", data=secret)).read()
        await self.need("POST", f"/graders/{registration['grader']['id']}/verify", {})
        task = {"name": "bench", "promptTemplate": "{{prompt}}", "graderId": registration["grader"]["id"]}
        self.task = (await self.need("POST", "/tasks", task))["task"]["id"]
        options = common.dumps({"latency_ms": self.a.latency_ms})
        await (await self.http.post(f"{stub}/control/options", data=options)).read()
        body = {"taskId": self.task, "protocol": "openrlhf", "unscored": "hold"}
        self.url = (await self.need("POST", "/reward-endpoints", body))["url"]

    async def submit(self, seconds):
        """Milliseconds that a batch of 100 takes at `web`: the median, and the 95th of a hundred."""
        items = [
            {"taskId": self.task, "modelId": "m", "prompt": x["prompt"], "response": x["response"], **AHEAD}
            for x in common.completions(BATCH, 1)
        ]
        took, end = [], time.perf_counter() + seconds
        while time.perf_counter() < end:
            began = time.perf_counter()
            await self.need("POST", "/completions/batch", {"completions": items})
            took.append((time.perf_counter() - began) * 1000)
        return {
            "batches": len(took),
            "p50Ms": round(statistics.median(took), 1),
            "p95Ms": round(common.pct(took, 95)[0], 1),
        }

    async def calls(self, name, port, *, during):
        """All calls at once; with `during`, submission is measured as soon as all of them are stored."""
        since = self.newest()
        self.answered = []
        url = f"http://{LOOPBACK}:{port}{urllib.parse.urlsplit(self.url).path}"
        texts = common.completions(self.a.calls, f"{name}")
        began = time.time()
        meter = common.Meter({name: [self.pids[name]]})
        tasks = [asyncio.create_task(self.call_once(name, url, text, n)) for n, text in enumerate(texts)]
        stored = None
        if during:
            while (count := self.stored(since)) < self.a.calls and time.time() - began < 60:
                await asyncio.sleep(0.1)
            stored = time.time() - began
            still = self.a.calls - len(self.answered)
            rss = self.rss(self.pids[name])
            meanwhile = common.Meter({name: [self.pids[name]]})
            took = await self.submit(self.a.seconds)
            share = sum(meanwhile.stop(1000).values()) / meanwhile.seconds * 100
            left = self.a.calls - len(self.answered)
            self.during = {**took, "waiting": still, "waitingAfter": left, "liveCpuPercent": round(share, 1)}
            if count < self.a.calls:
                self.problem(f"only {count} of {self.a.calls} calls were stored in 60 s")
        await asyncio.gather(*tasks)
        used = meter.stop(1000)
        scored = self.scored(since)
        got = sorted(answered_at for answered_at, right in self.answered if right)
        lags = [(a - s) * 1000 for a, s in zip(got, scored)] if len(got) == len(scored) else []
        row = {
            "calls": self.a.calls, "answered": len(got), "refusedInTheEnd": self.a.calls - len(got),
            "seconds": round(time.time() - began, 1), "cpuSeconds": round(sum(used.values()), 2),
        }  # fmt: skip
        if stored is not None:
            row |= {"storedSeconds": round(stored, 2), "rssMiB": round(rss / 2**20)}
        if lags:
            row |= {"lagP50Ms": round(statistics.median(lags)), "lagP99Ms": round(common.pct(lags, 99)[0])}
        self.results[name] = row
        print(json.dumps({"row": name, **row}), flush=True)

    async def call_once(self, name, url, text, n):
        """One call as OpenRLHF makes it."""
        prompt = f"{text['prompt']} {n}:"
        body = common.dumps({"query": [prompt + text["response"]], "prompts": [prompt], "labels": [str(n)]})
        for attempt in range(TRIES):
            async with self.http.post(url, data=body, headers={"Content-Type": "application/json"}) as response:
                raw = await response.read()
                if response.status == 200:
                    answer = common.loads(raw)
                    right = len(answer["rewards"]) == 1 and answer["extra_logs"]["autotune_unscored"] == [0.0]
                    self.answered.append((time.time(), right))
                    return
            if attempt < TRIES - 1:
                await asyncio.sleep(PAUSE_S)
        self.answered.append((time.time(), False))
        if name == "live":
            self.problem(f"{response.status} {raw[:120]!r}")

    def problem(self, text):
        self.problems[text] = self.problems.get(text, 0) + 1

    # What the database knows

    def query(self, statement, *values):
        with psycopg.connect(self.database, autocommit=True) as db:
            return db.execute(statement, values).fetchall()

    def newest(self):
        return self.query("select max(id::text) from tasks_completion")[0][0] or "0"

    def stored(self, since):
        return self.query("select count(*) from tasks_completion where model_id = 'live' and id::text > %s", since)[0][
            0
        ]

    def scored(self, since):
        rows = self.query(
            "select extract(epoch from r.scored_at) from scores_reward r join tasks_completion c on c.id = r.completion_id "
            "where c.model_id = 'live' and c.id::text > %s order by 1", since,
        )  # fmt: skip
        return [float(row[0]) for row in rows]

    @staticmethod
    def rss(pid):
        """Resident bytes of the process and its children."""
        pids = [pid, *(int(p.name) for p in pathlib.Path("/proc").iterdir() if p.name.isdigit() and _parent(p) == pid)]
        return sum(
            int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") for pid in pids
        )

    def verdict(self):
        submission = self.results["submission"]
        idle = statistics.mean((submission["before"]["p50Ms"], submission["after"]["p50Ms"]))
        slower = (submission["during"]["p50Ms"] / idle - 1) * 100
        share = submission["during"]["liveCpuPercent"]
        kept = share <= self.a.ceiling and not self.problems and self.results["live"]["answered"] == self.a.calls
        line = (
            f"{self.results['live']['answered']:,} of {self.a.calls:,} calls answered by live, which takes {share} % "
            f"of a core while they wait (ceiling {self.a.ceiling:g} %); submission meanwhile {slower:+.1f} %: {'kept' if kept else 'MISSED'}"
        )
        return line, kept


def _parent(folder):
    try:
        return int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def main(a):
    bench = Bench(a)
    bench.main()
    line, kept = bench.verdict()
    facts = {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"), "cores": os.cpu_count(),
        "machine": platform.machine(), "python": platform.python_version(), "calls": a.calls, "latencyMs": a.latency_ms,
        "loadAverage": os.getloadavg()[0],
    }  # fmt: skip
    print(", ".join(f"{k} {v}" for k, v in facts.items()))
    for problem, count in bench.problems.items():
        print(f"{count} x {problem}")
    print(line)
    a.json.parent.mkdir(parents=True, exist_ok=True)
    report = {"facts": facts, "verdict": line, "results": bench.results}
    a.json.write_text(json.dumps(report, indent=1) + "\n")
    return not (kept or a.short)


if __name__ == "__main__":
    p = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    p.add_argument("--short", action="store_true", help="200 calls, no figures worth keeping")
    p.add_argument("--calls", type=int, default=2000, help="that wait at once")
    p.add_argument("--latency-ms", type=int, default=25_000, help="that the grader takes for a batch")
    p.add_argument("--seconds", type=float, default=10, help="for which submission is measured")
    p.add_argument("--ceiling", type=float, default=15, help="percent of a core that live may take while all wait")
    p.add_argument("--json", type=pathlib.Path, default=HERE / "results" / "live.json")
    args = p.parse_args()
    if args.short:
        args.calls, args.latency_ms, args.seconds = 200, 3000, 1
    try:
        raise SystemExit(main(args))
    except SupervisorError as e:
        raise SystemExit(str(e))
    except KeyboardInterrupt:
        raise SystemExit(130)
