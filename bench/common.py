"""Shared by the harness: protocol signing, the score that can be recomputed, payloads, percentiles, CPU of processes."""

import hashlib, hmac, json, os, random, re, socket, time, urllib.parse, uuid

try:
    import orjson

    loads, dumps = orjson.loads, orjson.dumps
except ImportError:
    loads, dumps = json.loads, lambda o: json.dumps(o, separators=(",", ":"), ensure_ascii=False).encode()

DB = os.environ.get("BENCH_DB", "postgresql://postgres@127.0.0.1:5432/bench")
REDIS = os.environ.get("BENCH_REDIS", "redis://127.0.0.1:6379/9")
GRADER = os.environ.get("BENCH_GRADER", "http://127.0.0.1:9900")
SECRET = os.environ.get("BENCH_GRADER_SECRET", "atgs_benchmark0000000000000000000000000000000000000")


# The grader protocol, version 1 (../docs/protocol/README.md)


def sign(secret, timestamp, request_id, body):
    """Hexadecimal signature; every argument is bytes."""
    return hmac.digest(secret, b"%b.%b.%b" % (timestamp, request_id, body), "sha256").hex()


def value_of(completion_id, response):
    """The score that stub_grader.py gives: anybody can compute it again."""
    return int.from_bytes(hashlib.sha256(f"{completion_id}.{response}".encode()).digest()[:8], "big") / 2**64


OPTIONS = {"includeDimensions": False, "includeExplanation": False}


def request(completions, batch, secret=SECRET.encode()):
    """One signed grader request: (path, body, headers, request id)."""
    rid, ts = uuid.uuid4().hex, str(int(time.time()))
    what = {"completions": completions} if batch else {"completion": completions[0]}
    body = dumps({"requestId": rid, **what, "options": OPTIONS})
    return (
        ("/score/batch" if batch else "/score"),
        body,
        {
            "Content-Type": "application/json",
            "X-Autotune-Protocol": "1",
            "X-Autotune-Timestamp": ts,
            "X-Autotune-Request-Id": rid,
            "X-Autotune-Signature": sign(secret, ts.encode(), rid.encode(), body),
        },
        rid,
    )


def values(rid, completions, body, headers, secret=SECRET.encode()):
    """Verified values of one grader answer, in the order of the completions sent."""
    ts = headers["X-Autotune-Response-Timestamp"]
    if not hmac.compare_digest(headers["X-Autotune-Response-Signature"], sign(secret, ts.encode(), rid.encode(), body)):
        raise ValueError("bad_signature")
    if abs(time.time() - int(ts)) > 300:
        raise ValueError("stale_timestamp")
    answer = loads(body)
    if answer["requestId"] != rid:
        raise ValueError("wrong_request_id")
    if "score" in answer:
        return [answer["score"]["value"]]
    by_id = {s["completionId"]: s["score"]["value"] for s in answer["scores"]}
    return [by_id[c["id"]] for c in completions]


# Payloads

WORDS = (
    "alpha beta gamma delta the of and model reward policy step token loss batch train sum if "
    "return value state action explain because therefore answer question"
).split()


def text(n, rnd=random):
    """About n characters of words: compresses like prose, not like zeros."""
    return " ".join(rnd.choices(WORDS, k=n // 4 + 1))[:n]


def completions(n, seed=1, prompt=(500, 800, 1200, 2000), response=2000):
    """n completions as the protocol carries them; every response differs."""
    r = random.Random(seed)
    prompts = [text(r.choice(prompt), r) for _ in range(64)]
    pool = [text(response, r) for _ in range(64)]
    return [
        {
            "id": str(uuid.UUID(int=r.getrandbits(128), version=4)),
            "taskId": "task_bench",
            "prompt": prompts[i % 64],
            "response": f"{i} {pool[i * 7 % 64]}"[:response],
            "metadata": {},
        }
        for i in range(n)
    ]


def pct(xs, *ps):
    xs = sorted(xs)
    return [xs[min(len(xs) - 1, int(len(xs) * p / 100))] for p in ps] if xs else [None for _ in ps]


def p50_p99(seconds):
    return {f"p{p}": x if x is None else round(x * 1e3, 1) for p, x in zip((50, 99), pct(seconds, 50, 99))}


# CPU seconds of process trees (Linux)

TICK = os.sysconf("SC_CLK_TCK")


def stat(pid):
    """(parent, CPU seconds with those of waited-for children) of a process."""
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return int(fields[1]), sum(map(int, fields[11:15])) / TICK


def all_stats():
    out = {}
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            out[pid] = stat(pid)
        except OSError:
            pass
    return out


def find(words):
    """Topmost processes whose command line holds `words`, this one and its ancestors left out."""
    processes, mine, hits = all_stats(), os.getpid(), {}
    ancestors = set()
    while mine in processes:
        ancestors.add(mine)
        mine = processes[mine][0]
    for pid in processes.keys() - ancestors:
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if words.encode() in f.read().replace(b"\0", b" "):
                    hits[pid] = processes[pid][0]
        except OSError:
            pass
    return [p for p, parent in hits.items() if parent not in hits]


def roots(specs):
    """["web=12,13", "redis=redis-server"] -> {"web": [12, 13], "redis": [pids found by name]}."""
    out = {}
    for spec in specs:
        name, _, what = spec.partition("=")
        pids = [int(p) for p in what.split(",")] if re.fullmatch(r"\d+(,\d+)*", what) else find(what)
        if not pids or not all(os.path.exists(f"/proc/{p}") for p in pids):
            raise SystemExit(f"--proc {spec}: no such process")
        out[name] = out.get(name, []) + pids
    return out


def postmaster():
    """The process above the backends of BENCH_DB."""
    import psycopg

    with psycopg.connect(DB) as db:
        return stat(db.info.backend_pid)[0]


def redis_server():
    """The process behind BENCH_REDIS."""
    address = urllib.parse.urlsplit(REDIS)
    with socket.create_connection((address.hostname, address.port or 6379)) as s:
        s.sendall(b"INFO server\r\n")
        answer = b""
        while not (m := re.search(rb"process_id:(\d+)\r", answer)):
            answer += s.recv(4096) or exit("no process_id in Redis INFO")
    return int(m[1])


def cpu(named):
    """CPU seconds so far of each named process tree. A process counts for the nearest named one above it."""
    processes, children, tops = all_stats(), {}, {p for pids in named.values() for p in pids}
    for pid, (parent, _) in processes.items():
        if pid not in tops:
            children.setdefault(parent, []).append(pid)

    def total(pid):
        return processes[pid][1] + sum(map(total, children.get(pid, ()))) if pid in processes else 0

    return {name: sum(map(total, pids)) for name, pids in named.items()}


class Meter:
    """Wall time, and CPU seconds per 1,000 completions of named process trees."""

    def __init__(self, named):
        self.named, self.start, self.before = named, time.perf_counter(), cpu(named)

    def stop(self, n):
        self.seconds, after = time.perf_counter() - self.start, cpu(self.named)
        return {k: round((after[k] - self.before[k]) * 1000 / max(1, n), 4) for k in after}


def line(what, n, seconds, latencies, used, client=(), **more):
    """The one line of JSON that every program here prints. `client` and the grader do not count as the platform's CPU."""
    print(
        json.dumps(
            {
                "what": what,
                "n": n,
                "perSecond": round(n / seconds, 1),
                "latencyMs": p50_p99(latencies),
                "cpuPer1000": used,
                "cpuSum": round(sum(v for k, v in used.items() if k != "grader" and k not in client), 4),
                **more,
            }
        ),
        flush=True,
    )


def run(main):
    """asyncio.run, with uvloop where it is installed."""
    try:
        import uvloop

        return uvloop.run(main)
    except ImportError:
        import asyncio

        return asyncio.run(main)
