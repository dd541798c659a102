#!/usr/bin/env python3
"""A cheap external grader that speaks the Autotune grader protocol, version 1.

  stub_grader.py --verify --latency-ms 50         serve /health, /score, /score/batch
  stub_grader.py --self-test                      check the signing against ../docs/protocol/vectors.json

  POST /control/secret {"secret": "atgs_..."}     the newest secret signs; older ones are still accepted
  POST /control/options {"latency_ms": 50}        any of latency_ms, jitter_ms, fail_rate, max_batch; answers the old ones
  GET  /control/stats                             what it saw since the start or the last reset
  POST /control/reset                             zero the counters

The value of a score is the first 8 bytes of SHA-256(completion id "." response), divided by 2^64: see value_of in
common.py. A hand-written HTTP/1.1 parser over asyncio.Protocol keeps its own cost near 0.15 ms a call, so that on a small
machine the bench measures the platform and not the stub.
"""

import argparse, asyncio, base64, hmac, json, os, random, re, resource, signal, ssl, time

from common import SECRET, dumps, loads, run, sign, value_of

TIMESTAMP, REQUEST_ID = re.compile(rb"[1-9][0-9]{0,11}"), re.compile(rb"[A-Za-z0-9_-]{1,64}")
SIGNATURE = re.compile(rb"[0-9A-Fa-f]{64}")
WINDOW = 660  # seconds for which a request id is remembered
REASON = {
    200: b"OK",
    400: b"Bad Request",
    401: b"Unauthorized",
    404: b"Not Found",
    413: b"Content Too Large",
    503: b"Service Unavailable",
}


def header(name):
    """A finder of all values of one header in a raw header block."""
    return re.compile(rb"\r\n" + name + rb":[ \t]*([^\r]*?)[ \t]*(?=\r)", re.I).findall


LENGTH, EXPECT = header(b"Content-Length"), header(b"Expect")
SIGNED = header(b"X-Autotune-Timestamp"), header(b"X-Autotune-Request-Id"), header(b"X-Autotune-Signature")


class Replays:
    """Request ids of the last 660 to 1,320 seconds, in two generations."""

    def __init__(self, ids=()):
        self.now, self.old, self.turned = set(ids), set(), time.monotonic()

    def seen(self, rid):
        if time.monotonic() - self.turned > WINDOW:
            self.now, self.old, self.turned = set(), self.now, time.monotonic()
        if rid in self.now or rid in self.old:
            return True
        self.now.add(rid)


def check(keys, replays, now, fields, body):
    """(refusal or None, the key that verified or None) of a request: section 2 of the protocol, steps 1 to 5.
    `fields` holds the values of the three headers, each a list."""
    if not all(fields):
        return "missing_header", None
    if any(len(f) > 1 for f in fields):
        return "malformed_header", None
    ts, rid, sig = (f[0] for f in fields)
    if not (TIMESTAMP.fullmatch(ts) and REQUEST_ID.fullmatch(rid) and SIGNATURE.fullmatch(sig)):
        return "malformed_header", None
    sig = sig.lower().decode()
    key = next((k for k in keys if hmac.compare_digest(sig, sign(k, ts, rid, body))), None)
    if key is None:
        return "bad_signature", None
    if abs(now - int(ts)) > 300:
        return "stale_timestamp", key
    if replays.seen(rid):
        return "replayed_request", key
    return None, key


class Stub:
    def __init__(self, a):
        self.a, self.keys, self.replays = a, [a.secret.encode()], Replays()
        self.reset()

    def reset(self):
        self.requests = self.items = self.duplicates = self.bad = self.failed = self.inflight = self.peak = 0
        self.seen, self.reasons = set(), {}
        self.cpu = self.used()

    @staticmethod
    def used():
        r = resource.getrusage(resource.RUSAGE_SELF)
        return r.ru_utime + r.ru_stime

    def stats(self):
        return {
            "requests": self.requests,
            "items": self.items,
            "duplicates": self.duplicates,
            "badSignatures": self.bad,
            "refused": self.reasons,
            "failed": self.failed,
            "inFlight": self.inflight,
            "peakInFlight": self.peak,
            "cpuSeconds": round(self.used() - self.cpu, 3),
        }

    def control(self, path, body):
        if path == b"/control/stats":
            return 200, self.stats()
        if path == b"/control/reset":
            self.reset()
        elif path == b"/control/secret":
            key = loads(body)["secret"].encode()
            self.keys = [key] + [k for k in self.keys if k != key][:15]
        elif path == b"/control/options":
            new = loads(body)
            if not new.keys() <= {"latency_ms", "jitter_ms", "fail_rate", "max_batch"}:
                return 400, {"error": "no such option"}
            old = {k: getattr(self.a, k) for k in new}
            vars(self.a).update(new)
            return 200, old
        else:
            return 404, {"error": "no such control"}
        return 200, {}

    def score(self, c):
        self.items += 1
        if c["id"] in self.seen:
            self.duplicates += 1
        self.seen.add(c["id"])
        return {"value": value_of(c["id"], c["response"]), "confidence": 0.9}

    def answer(self, path, rid, body):
        """(status, body) of a call whose signature was accepted."""
        if path == b"/health":
            return 200, {
                "status": "healthy",
                "version": "stub-1",
                "capabilities": {
                    "maxBatchSize": self.a.max_batch,
                    "supportsDimensions": False,
                    "supportsExplanations": False,
                    "supportsAsync": False,
                    "avgLatencyMs": int(self.a.latency_ms + self.a.jitter_ms / 2),
                    "domains": [],
                },
            }
        self.requests += 1
        if self.a.fail_rate and random.random() < self.a.fail_rate:
            self.failed += 1
            return 503, {"requestId": rid, "error": "injected"}
        try:
            d = loads(body)
            if d["requestId"] != rid:
                return 400, {"requestId": rid, "error": "wrong_request_id"}
            if path == b"/score":
                return 200, {"requestId": rid, "score": self.score(d["completion"]), "processingTimeMs": 0}
            if len(d["completions"]) > self.a.max_batch:
                return 413, {"requestId": rid, "error": f"more than {self.a.max_batch} completions"}
            return 200, {
                "requestId": rid,
                "processingTimeMs": 0,
                "scores": [{"completionId": c["id"], "score": self.score(c)} for c in d["completions"]],
            }
        except (ValueError, KeyError, TypeError) as e:
            return 400, {"requestId": rid, "error": f"malformed body: {type(e).__name__} {e}"[:200]}


class Connection(asyncio.Protocol):
    def __init__(self, stub, loop):
        self.stub, self.loop, self.buf, self.continued = stub, loop, b"", False

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.buf = self.buf + data if self.buf else data
        while (e := self.buf.find(b"\r\n\r\n")) >= 0:
            head = self.buf[: e + 2]
            end = e + 4 + int((LENGTH(head) or [b"0"])[0])
            if len(self.buf) < end:
                if EXPECT(head) and not self.continued:
                    self.continued = True
                    self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                return
            body, self.buf, self.continued = self.buf[e + 4 : end], self.buf[end:], False
            self.handle(head, body)

    def handle(self, head, body):
        stub, path = self.stub, head.split(b" ", 2)[1]
        if path.startswith(b"/control/"):
            return self.send(*stub.control(path, body))
        fields = [f(head) for f in SIGNED]
        rid, key = (fields[1] or [b""])[0], stub.keys[0]
        if stub.a.verify:
            refusal, matching_key = check(stub.keys, stub.replays, time.time(), fields, body)
            key = matching_key or key
            if refusal:
                stub.bad += path != b"/health"  # probes for graders of earlier runs are no fault of this one
                stub.reasons[refusal] = stub.reasons.get(refusal, 0) + 1
                return self.send(401, {"error": refusal}, key, rid)
        if path not in (b"/health", b"/score", b"/score/batch"):
            return self.send(404, {"error": "no such path"}, key, rid)
        status, out = stub.answer(path, rid.decode("latin-1"), body)
        wait = (stub.a.latency_ms + random.random() * stub.a.jitter_ms) / 1e3 if path != b"/health" else 0
        stub.inflight += 1
        stub.peak = max(stub.peak, stub.inflight)
        if wait:
            self.loop.call_later(wait, self.late, status, out, key, rid)
        else:
            self.late(status, out, key, rid)

    def late(self, *args):
        self.stub.inflight -= 1
        self.send(*args)

    def send(self, status, out, key=None, rid=b""):
        if self.transport.is_closing():
            return
        body, signed = dumps(out), b""
        if key:
            ts = b"%d" % time.time()
            signed = b"X-Autotune-Response-Timestamp: %b\r\nX-Autotune-Response-Signature: %b\r\n" % (
                ts,
                sign(key, ts, rid, body).encode(),
            )
        self.transport.write(
            b"HTTP/1.1 %d %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%b\r\n%b"
            % (status, REASON[status], len(body), signed, body)
        )


async def serve(a):
    loop, stub, stop = asyncio.get_running_loop(), Stub(a), asyncio.Event()
    tls = None
    if a.tls_cert:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(a.tls_cert, a.tls_key)
    server = await loop.create_server(lambda: Connection(stub, loop), a.host, a.port, backlog=4096, ssl=tls)
    for sig in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(sig, stop.set)
    print(f"stub grader on {a.host}:{a.port}", flush=True)
    await stop.wait()
    server.close()
    print(json.dumps(stub.stats()), flush=True)


def self_test():
    """The vectors for signing and for verifying requests, and one known score."""
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "..", "docs", "protocol", "vectors.json"), encoding="utf-8") as f:
        vectors = json.load(f)
    secret = {k: v.encode() for k, v in vectors["secrets"].items()}
    wrong, n = [], 0
    for v in vectors["signing"]:
        n += 1
        got = sign(secret[v["secret"]], v["timestamp"].encode(), v["request_id"].encode(), body_of(v))
        if got != v["signature"]:
            wrong.append(v["id"])
    for v in vectors["verify_request"]:
        n += 1
        head = "\r\n" + "".join(f"{k}: {x}\r\n" for k, x in v["headers"])
        got, _ = check(
            [secret[s] for s in v["active_secrets"]],
            Replays(r.encode() for r in v["seen_request_ids"]),
            v["now"],
            [f(head.encode()) for f in SIGNED],
            body_of(v),
        )
        if got != v["reason"]:
            wrong.append(f"{v['id']}: {got}, expected {v['reason']}")
    n += 1
    if value_of("comp_01", "4") != 0.9121958325555454:
        wrong.append(f"value_of: {value_of('comp_01', '4')!r}")
    print(f"{n - len(wrong)} of {n} vectors pass", *wrong, sep="\n  ")
    return bool(wrong)


def body_of(v):
    repeat = v.get("body_repeat")
    return bytes.fromhex(repeat["byte_hex"]) * repeat["count"] if repeat else base64.b64decode(v["body_base64"])


if __name__ == "__main__":
    p = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    p.add_argument("--host", default="127.0.0.1")
    p.add_argument("--port", type=int, default=9900)
    p.add_argument("--secret", default=SECRET)
    p.add_argument("--verify", action="store_true", help="refuse requests whose signature, time or id is wrong")
    p.add_argument("--latency-ms", type=float, default=0)
    p.add_argument("--jitter-ms", type=float, default=0, help="adds a uniform 0..jitter")
    p.add_argument("--fail-rate", type=float, default=0, help="share of calls answered 503")
    p.add_argument("--max-batch", type=int, default=1000)
    p.add_argument("--tls-cert")
    p.add_argument("--tls-key")
    p.add_argument("--self-test", action="store_true")
    a = p.parse_args()
    raise SystemExit(self_test() if a.self_test else run(serve(a)))
