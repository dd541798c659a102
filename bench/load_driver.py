#!/usr/bin/env python3
"""Open-loop load on a server of the API in docs/api/. Needs its URL, an API key of an admin, and stub_grader.py.

  load_driver.py --url http://127.0.0.1:8000 --key KEY --rate 170 --seconds 60      steady
  load_driver.py --url ... --key KEY --rate 0 --total 20000                         drain: all at once, then wait
  load_driver.py ... --mode single                                                  a grader without batches
  load_driver.py ... --proc web=123 --proc worker=456,457 --proc postgres=89        CPU of the server too

It makes a grader and a task of its own, hands the shared secret to the stub, lets the server verify it, then POSTs.
Batches are due at fixed times whatever the server does, and latency counts from the due time, so a stalled server
cannot hide its queue. At the end every accepted completion must have exactly one score with the value that this
program computes itself. Prints one line of JSON; the exit status is 1 when anything was lost, doubled or wrong.
"""

import argparse, asyncio, datetime, json, random, time, urllib.parse
import aiohttp
import common as c

API = "/api/v1"
WATCHERS = 2  # scores waited for at once; few, because a waiting request may hold a thread of the server


class Driver:
    def __init__(self, a):
        self.a, self.errors = a, {}
        self.ingest, self.sampled, self.watched = [], [], {}  # latencies; id -> due of what is still to be seen
        self.expected, self.due, self.estimates = {}, {}, []  # id -> value; id -> due
        self.sending, self.watching, self.last, self.warm = True, 0, 0, frozenset()

    def error(self, what):
        self.errors[what] = self.errors.get(what, 0) + 1

    async def call(self, method, path, body=None):
        """(status, decoded answer) of one call to the server."""
        data = None if body is None else c.dumps(body)
        async with self.http.request(
            method,
            self.a.url + API + path,
            data=data,
            headers={"Authorization": f"Bearer {self.a.key}", "Content-Type": "application/json"},
        ) as r:
            raw = await r.read()
            try:
                return r.status, c.loads(raw)
            except ValueError:
                return r.status, {"detail": raw[:200].decode("utf-8", "replace")}

    async def need(self, status, method, path, body=None):
        """The answer of a call without which nothing can be measured."""
        got, answer = await self.call(method, path, body)
        if got != status:
            raise SystemExit(f"{method} {path}: {got}, expected {status}: {json.dumps(answer)[:600]}")
        return answer

    async def stub(self, method, path, body=None):
        async with self.http.request(method, self.a.grader_url + "/control" + path, data=body and c.dumps(body)) as r:
            return c.loads(await r.read())

    async def set_up(self):
        a, name = self.a, f"bench-{time.time_ns()}"
        registration = await self.need(
            201,
            "POST",
            "/graders",
            {
                "name": name,
                "description": "Stub grader of the benchmark",
                "endpoint": a.grader_url,
                "capabilities": {
                    "maxBatchSize": a.max_batch if a.mode == "batch" else 1,
                    "supportsDimensions": False,
                    "supportsExplanations": False,
                    "supportsAsync": False,
                    "avgLatencyMs": a.grader_latency_ms,
                    "domains": [],
                },
            },
        )
        grader = registration["grader"]["id"]
        await self.stub("POST", "/secret", {"secret": registration["credentials"]["sharedSecret"]})
        if a.patch_grader:
            await self.need(200, "PATCH", f"/graders/{grader}", json.loads(a.patch_grader))
        verified = await self.need(200, "POST", f"/graders/{grader}/verify", {})
        if not verified["verified"]:
            raise SystemExit(f"grader not verified: {json.dumps(verified)}")
        self.task = (
            await self.need(
                201,
                "POST",
                "/tasks",
                {"name": name, "description": "Benchmark", "promptTemplate": "{{prompt}}", "graderId": grader},
            )
        )["task"]["id"]

    async def warm_up(self, data):
        """Scores some completions outside the measurement, so that connections, caches and pools are there."""
        await asyncio.gather(
            *(self.send(time.perf_counter(), data[k : k + self.a.batch]) for k in range(0, len(data), self.a.batch))
        )
        await self.all_scored(time.perf_counter() + self.a.wait)
        self.warm = frozenset(self.expected)
        for kept in (self.ingest, self.watched, self.estimates, self.due):
            kept.clear()
        await self.stub("POST", "/options", {"fail_rate": self.options["fail_rate"]})
        await self.stub("POST", "/reset")

    async def send(self, due, chunk):
        """One POST of the chunk, and its ids noted; `due` is what latency counts from."""
        items = [
            {
                "taskId": self.task,
                "modelId": "bench-model",
                "prompt": x["prompt"],
                "response": x["response"],
                "externalId": x["id"],
                "metadata": {"bench": True},
            }
            for x in chunk
        ]
        async with self.slots:
            try:
                if self.a.batch == 1:
                    status, answer = await self.call("POST", "/completions", items[0])
                    stored = [answer.get("completion")] * ("completion" in answer)
                else:
                    status, answer = await self.call("POST", "/completions/batch", {"completions": items})
                    stored = answer.get("completions", [])
            except (aiohttp.ClientError, asyncio.TimeoutError) as e:
                return self.error(type(e).__name__)
        if status != 202:
            return self.error(f"{status} {answer.get('code') or str(answer)[:120]}")
        self.ingest.append(time.perf_counter() - due)
        if len(stored) != len(chunk):
            self.error("202 with another number of completions")
        self.estimates.append(answer.get("estimatedScoreTimeMs"))
        for x, m in zip(chunk, stored):
            self.expected[m["id"]], self.due[m["id"]] = c.value_of(m["id"], x["response"]), due
        k = int(len(stored) * self.share + random.random())  # samples of this POST, at random places in it
        if self.a.rate:
            k = min(k, WATCHERS - len(self.watched) - self.watching)
        for j in sorted(random.sample(range(len(stored)), max(0, min(k, len(stored))))):
            self.watched[stored[j]["id"]] = due

    async def look(self, i, due, query=""):
        """Asks for one score; True when it is final."""
        try:
            status, answer = await self.call("GET", f"/completions/{i}/score{query}")
        except (aiohttp.ClientError, asyncio.TimeoutError) as e:
            return self.error(f"score: {type(e).__name__}")
        if status != 200:
            return self.error(f"score: {status}")
        if answer["status"] in ("pending", "processing"):
            return False
        self.last = time.perf_counter()
        self.sampled.append(self.last - due)
        if answer["status"] != "completed" or (answer["score"] or {}).get("value") != self.expected[i]:
            self.error(f"score: status {answer['status']}, or another value than expected")
        return True

    async def watch(self):
        """Waits for the oldest sample, then the next: by long poll, which costs the server one request for a sample,
        or by asking --polls times a second. A queue is served in order, so the next is seldom done much earlier."""
        while self.sending or self.watched:
            if not self.watched:
                await asyncio.sleep(0.005)
                continue
            i = next(iter(self.watched))
            due = self.watched.pop(i)
            self.watching += 1
            while not await self.look(i, due, "" if self.a.polls else "?wait=30"):
                await asyncio.sleep(1 / (self.a.polls or 20))
            self.watching -= 1

    async def pages(self):
        """Every score of the task."""
        path = first = f"/scores?taskId={self.task}&limit=1000"
        for _ in range(2 + len(self.expected) // 100):  # a cursor that goes round must not hang the run
            answer = await self.need(200, "GET", path)
            for s in answer["scores"]:
                yield s
            cursor = answer["pagination"]["nextCursor"]
            if not cursor:
                return
            path = f"{first}&cursor={urllib.parse.quote(cursor, safe='')}"
        self.error("GET /scores: no last page")

    async def all_scored(self, until):
        """Waits until the server counts as many scores as it accepted completions; with `page` its total is exact."""
        while time.perf_counter() < until:
            first = await self.need(200, "GET", f"/scores?taskId={self.task}&limit=1&page=1")
            if first["pagination"]["total"] >= len(self.expected):
                return
            await asyncio.sleep(0.05)
            self.last = time.perf_counter()
        self.error(f"scores missing after {self.a.wait:g} s")

    async def check(self):
        """Counts of what is wrong with the scores, and all latencies by the server's own createdAt."""
        wrong, seen, latencies = {"twice": 0, "unknown": 0, "wrongValue": 0}, set(), []
        offset = time.time() - time.perf_counter()
        async for s in self.pages():
            i = s["completionId"]
            if i not in self.expected:
                wrong["unknown"] += 1
                continue
            wrong["twice"] += i in seen
            wrong["wrongValue"] += s["value"] != self.expected[i] or s["confidence"] != 0.9
            if i not in seen and i not in self.warm:
                scored_at = datetime.datetime.fromisoformat(s["createdAt"].replace("Z", "+00:00")).timestamp()
                latencies.append(scored_at - offset - self.due[i])
            seen.add(i)
        return {"missing": len(self.expected) - len(seen), **wrong}, latencies

    async def main(self):
        a, self.slots = self.a, asyncio.Semaphore(self.a.connections)
        self.total = a.total or int(a.rate * a.seconds)
        self.share = min(1, (a.samples if a.rate else a.samples / 4) / max(1, self.total))
        named = c.roots(a.proc)
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=90)
        ) as self.http:
            self.options = await self.stub(
                "POST",
                "/options",
                {  # no failures until the measurement
                    "fail_rate": 0,
                    "max_batch": a.max_batch if a.mode == "batch" else 1,
                },
            )
            try:
                return await self.measure(named)
            finally:
                await self.stub("POST", "/options", self.options)

    async def measure(self, named):
        a = self.a
        await self.set_up()
        data = c.completions(
            a.warm_up + self.total,
            time.time_ns(),
            (a.prompt_chars,) if a.prompt_chars else (500, 800, 1200, 2000),
            a.response_chars,
        )
        await self.warm_up(data[: a.warm_up])
        del data[: a.warm_up]
        watchers = [asyncio.create_task(self.watch()) for _ in range(WATCHERS)]
        meter, sends = c.Meter(named), []
        for k in range(0, self.total, a.batch):
            due = meter.start + (k / a.rate if a.rate else 0)
            await asyncio.sleep(max(0, due - time.perf_counter()))
            sends.append(asyncio.create_task(self.send(due, data[k : k + a.batch])))
        await asyncio.gather(*sends)
        sent = time.perf_counter() - meter.start
        if self.due:
            i, due = self.due.popitem()
            self.due[i] = self.watched[i] = due  # the last one too
        self.sending = False
        until = time.perf_counter() + a.wait
        done, late = await asyncio.wait(watchers, timeout=a.wait)
        for w in late:
            w.cancel()
        for w in done:
            w.result()
        await self.all_scored(until)
        n = len(self.expected) - len(self.warm)
        used = meter.stop(n)
        stub = await self.stub("GET", "/stats")
        verdict, latencies = await self.check()
        ok = not self.errors and n == self.total and not any(verdict.values()) and not stub["badSignatures"]
        c.line(
            f"server {a.mode} rate={a.rate:g} batch={a.batch}",
            n,
            max(self.last - meter.start, 1e-9),
            self.sampled,
            used,
            ("driver",),
            ok=ok,
            sent=self.total,
            acceptedPerSecond=round(n / sent, 1),
            ingestMs=c.p50_p99(self.ingest),
            sampled=len(self.sampled),
            byCreatedAtMs=c.p50_p99(latencies),
            estimatedScoreTimeMs=c.pct([e for e in self.estimates if e is not None], 50)[0],
            graderCallsPer1000=round(stub["requests"] * 1e3 / max(1, n), 1),
            check=verdict,
            grader=stub,
            errors=self.errors,
        )
        return not ok


if __name__ == "__main__":
    p = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    p.add_argument("--url", required=True)
    p.add_argument("--key", required=True)
    p.add_argument("--grader-url", default=c.GRADER, help="the stub, as this program and the server reach it")
    p.add_argument("--mode", choices=["batch", "single"], default="batch", help="how the grader is called")
    p.add_argument("--max-batch", type=int, default=128)
    p.add_argument("--grader-latency-ms", type=int, default=50, help="declared to the server as avgLatencyMs")
    p.add_argument("--patch-grader", help='JSON to PATCH the grader with, such as {"limits": {"ratePerMinute": null}}')
    p.add_argument("--rate", type=float, default=170, help="completions/s; 0 = all at once")
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--total", type=int, default=0, help="completions, instead of --seconds")
    p.add_argument("--batch", type=int, default=100, help="completions in one POST; 1 uses POST /completions")
    p.add_argument("--prompt-chars", type=int, default=0, help="0: a mix of 500 to 2,000")
    p.add_argument("--response-chars", type=int, default=2000)
    p.add_argument("--connections", type=int, default=8)
    p.add_argument(
        "--samples", type=int, default=100, help="scores watched in a steady run, a quarter of it in a drain"
    )
    p.add_argument("--polls", type=float, default=0, help="ask for a watched score so often a second; 0: ?wait=30")
    p.add_argument("--warm-up", type=int, default=200, help="completions scored before the measurement begins")
    p.add_argument("--wait", type=float, default=60, help="seconds to wait for the last scores")
    p.add_argument(
        "--proc",
        action="append",
        default=[],
        metavar="NAME=PID,PID or NAME=WORDS",
        help="a process tree whose CPU is reported, by pids or by words of its command line",
    )
    try:
        raise SystemExit(c.run(Driver(p.parse_args()).main()))
    except aiohttp.ClientConnectorError as e:
        raise SystemExit(f"not reachable: {e}")
