"""A grader at the network edge: a real HTTP server on loopback that speaks protocol 1 and can misbehave on request."""

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from django.test import override_settings

from autotune.core.outbound.addresses import parse_allow
from graders.gateway.signing import sign
from tests.factories import SECRET


class FakeGrader:
    """Answers each item by `judge(completion) -> value, dict, or an error text`.

    `script` is a list of functions called for one call each, in order, before the normal behaviour:
    (handler, path, request body) -> (status, body, signed), and a dict of headers if there are some to add.

    `answers_later` makes it accept with 202 what may be answered later; `accepted` holds those requests, and
    tests/support/calling_back.py sends their answers. `on_accept` is called with each request before its 202 is sent.
    """

    def __init__(self, judge=lambda completion: 0.75, *, secret=SECRET, version="1.0.0"):
        self.judge, self.secret, self.version = judge, secret, version
        self.script, self.calls, self.items, self.keys = [], [], [], []
        self.answers_later, self.accepted, self.on_accept = False, [], None
        self.lock = threading.Lock()
        self.gate = threading.Event()
        self.gate.set()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def answer(self, handler, path, body):
        if path == "/health":
            return 200, {"status": "healthy", "version": self.version, "capabilities": {}}, True
        with self.lock:
            self.calls.append((path, body))
            step = self.script.pop(0) if self.script else None
        self.gate.wait(10)
        if step is not None:
            return step(handler, path, body)
        if self.answers_later and "callbackUrl" in body:
            self.accepted.append(body)
            if self.on_accept is not None:
                self.on_accept(body)
            return 202, {"requestId": body["requestId"], "status": "accepted"}, True
        return 200, self.judged(body), True

    def judged(self, body):
        """The answer to a request, sent with 200 or as a callback."""
        if "completion" in body:
            return {"requestId": body["requestId"], **self.result(body["completion"])}
        results = [{"completionId": item["id"], **self.result(item)} for item in body["completions"]]
        return {"requestId": body["requestId"], "scores": results}

    def result(self, completion):
        with self.lock:
            self.items.append(completion["id"])
        judged = self.judge(completion)
        if isinstance(judged, str):
            return {"error": judged}
        score = judged if isinstance(judged, dict) else {"value": judged, "confidence": 0.9}
        return {"score": score}


def refuse(status, body=None, *, signed=True, times=1):
    """A script step: answer with this status."""
    return [lambda handler, path, request: (status, body or {"error": "no"}, signed)] * times


class Server(ThreadingHTTPServer):
    request_queue_size = 256  # the library's 5 would refuse a window of calls that connect at once
    daemon_threads = True


@contextmanager
def serving(fake):
    """Serve the fake on a free port of loopback, to which outbound calls are allowed within the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.reply(b"")

        def do_POST(self):
            self.reply(self.rfile.read(int(self.headers["Content-Length"])))

        def reply(self, raw):
            request_id = self.headers["X-Autotune-Request-Id"] or ""  # a webhook has none
            fake.keys.append(self.headers["X-Autotune-Key-Id"])
            status, body, signed, *more = fake.answer(self, self.path, json.loads(raw) if raw else {})
            encoded = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(encoded)))
            for name, value in (more[0] if more else {}).items():
                self.send_header(name, value)
            if signed:
                now = str(int(time.time()))
                self.send_header("X-Autotune-Response-Timestamp", now)
                self.send_header("X-Autotune-Response-Signature", sign(fake.secret, now, request_id, encoded))
            self.end_headers()
            self.wfile.write(encoded)

        def log_message(self, *args):
            pass

    server = Server(("127.0.0.1", 0), Handler)
    fake.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        with override_settings(AUTOTUNE_OUTBOUND_ALLOW_GRADERS=parse_allow(f"127.0.0.1/32:{fake.port}")):
            yield fake
    finally:
        server.shutdown()
        server.server_close()
