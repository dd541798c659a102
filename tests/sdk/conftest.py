"""A small Autotune in one process, to the contract, for the client and the command line."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "sdk" / "python" / "src"
if str(SOURCE) not in sys.path:
    sys.path.insert(0, str(SOURCE))

KEY = "at_test_00000000000000000000000000_secret"
TASK = "task_00000000000000000000000001"
BORN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def stamp(when: datetime) -> str:
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class FakeAutotune:
    """Completions by external id, rewards by a rule: a response that holds 'fail' fails, else its length mod 100.

    script      answers to give first: (status, headers, body) or None to drop the connection; each used once
    polls_left  how many polls of one completion answer 'processing' before its reward is there
    ready_at    the moment (monotonic) when a completion's reward is there
    """

    def __init__(self) -> None:
        self.completions: dict[str, dict[str, Any]] = {}
        self.by_external: dict[tuple[str, str], str] = {}
        self.requests: list[tuple[str, str, dict[str, str], dict[str, str], bytes]] = []
        self.script: list[tuple[int, dict[str, str], bytes] | None] = []
        self.polls_left: dict[str, int] = {}
        self.ready_at: dict[str, float] = {}
        self.drop_after_batches: int | None = None
        self.batches = 0
        self.page_size: int | None = None
        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def paths(self, method: str = "GET") -> list[str]:
        return [path for m, path, *_ in self.requests if m == method]

    def handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                query = {k: v[0] for k, v in parse_qs(parts.query, keep_blank_values=True).items()}
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                with fake.lock:
                    path = parts.path.removeprefix("/api/v1")
                    fake.requests.append((self.command, path, query, dict(self.headers.items()), body))
                    if fake.script:
                        scripted = fake.script.pop(0)
                        if scripted is None:
                            self.close_connection = True
                            return
                        status, headers, answer = scripted
                    else:
                        status, headers, answer = fake.route(self.command, path, query, body)
                        if status == 0:
                            self.close_connection = True
                            return
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", "X-Request-Id": "req-1", **headers}.items():
                    self.send_header(name, value)
                if "Content-Length" in headers:
                    self.close_connection = True
                else:
                    self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_POST = do_PATCH = do_DELETE = do_GET

            def log_message(self, *args: object) -> None:
                pass

        return Handler

    def route(self, method: str, path: str, query: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        data = json.loads(body) if body else None
        parts = path.strip("/").split("/")
        if method == "POST" and path == "/completions/batch":
            return self.batch(data)
        if method == "POST" and path == "/completions":
            completion, existing = self.take(data)
            answer = {
                "completion": completion,
                "estimatedScoreTimeMs": 100,
                "workflowRunId": "run_1",
                "workflowRunIds": ["run_1"],
                "status": "scoring",
            }
            return self.ok({**answer, "existing": True} if existing else answer, 200 if existing else 202)
        if (method, path) in ROUTES:
            return self.ok(ROUTES[method, path])
        if method == "GET" and path == "/completions":
            return self.page(query)
        if method == "GET" and parts[0] == "tasks" and len(parts) == 2 and parts[1] == TASK:
            return self.ok({"task": task(), "runCount": 0, "averageScore": None, "recentRuns": []})
        if method == "GET" and parts[0] == "completions" and parts[1] in self.completions:
            completion = self.completions[parts[1]]
            if parts[2:] == ["score"]:
                return self.score(completion)
            return self.ok({"completion": self.view(completion)})
        return self.problem(404, "not_found", "no such object")

    def batch(self, data: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        self.batches += 1
        answers = []
        for position, item in enumerate(data["completions"]):
            if item["response"] == "refuse":
                errors = [{"pointer": f"/completions/{position}/response", "code": "invalid", "detail": "not this"}]
                return self.problem(400, "invalid_request", "one item is invalid", errors)
        for item in data["completions"]:
            completion, existing = self.take(item)
            entry = {
                "id": completion["id"],
                "externalId": completion["externalId"],
                "workflowRunIds": completion["workflowRunIds"],
            }
            answers.append({**entry, "existing": True} if existing else entry)
        if self.drop_after_batches is not None and self.batches > self.drop_after_batches:
            return 0, {}, b""  # taken, but the answer is lost
        return self.ok({"completions": answers, "estimatedScoreTimeMs": 50}, 202)

    def take(self, item: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        key = (item["taskId"], item.get("externalId") or "")
        if key[1] and key in self.by_external:
            return self.completions[self.by_external[key]], True
        number = len(self.completions) + 1
        identifier = f"comp_{number:026d}"
        prompt = item.get("prompt") or f"rendered {sorted((item.get('variables') or {}).items())}"
        completion = {
            "id": identifier,
            "taskId": item["taskId"],
            "taskVersion": "taskv_1",
            "modelId": item["modelId"],
            "prompt": prompt,
            "response": item["response"],
            "messages": item.get("messages"),
            "externalId": item.get("externalId"),
            "metadata": item.get("metadata"),
            "priority": item.get("priority") or "normal",
            "source": "api",
            "workflowRunIds": [f"run_{number}"],
            "erasedAt": None,
            "createdAt": stamp(BORN + timedelta(milliseconds=number)),
            "somethingNew": 1,
        }
        self.completions[identifier] = completion
        if key[1]:
            self.by_external[key] = identifier
        return self.view(completion), False

    def view(self, completion: dict[str, Any]) -> dict[str, Any]:
        identifier = completion["id"]
        if self.polls_left.get(identifier, 0) > 0 or self.ready_at.get(identifier, 0) > time.monotonic():
            return {**completion, "status": "processing", "reward": None}
        if "fail" in completion["response"]:
            return {**completion, "status": "failed", "reward": None}
        reward = {
            "value": len(completion["response"]) % 100 / 100,
            "confidence": 0.9,
            "aggregation": "mean",
            "used": 1,
            "failed": 0,
            "scoredAt": stamp(BORN),
        }
        return {**completion, "status": "completed", "reward": reward}

    def score(self, completion: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        identifier = completion["id"]
        seen = self.view(completion)
        if self.polls_left.get(identifier, 0) > 0:
            self.polls_left[identifier] -= 1
        score = None
        if seen["reward"]:
            score = {
                "id": "score_1",
                "completionId": identifier,
                "graderId": "grader_1",
                "graderVersion": "graderv_1",
                "value": seen["reward"]["value"],
                "confidence": 0.9,
                "rawValue": None,
                "scale": None,
                "reasoning": "because",
                "dimensions": [{"name": "a", "value": 1, "weight": 1}],
                "reviewedBy": None,
                "reusedFrom": None,
                "receipt": None,
                "createdAt": stamp(BORN),
            }
        scores = [score] if score else []
        return self.ok({"score": score, "scores": scores, "reward": seen["reward"], "status": seen["status"]})

    def page(self, query: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        limit, start = int(query.get("limit", 50)), int(query.get("cursor", 0))
        limit = min(limit, self.page_size or limit)
        rows = [
            c
            for c in self.completions.values()
            if query.get("taskId", c["taskId"]) == c["taskId"]
            and query.get("startDate", "") <= c["createdAt"] < query.get("endDate", "9")
        ]
        rows.reverse()
        more = str(start + limit) if start + limit < len(rows) else None
        page = [self.view(c) for c in rows[start : start + limit]]
        pagination = {"limit": limit, "offset": None, "total": None, "nextCursor": more}
        return self.ok({"completions": page, "pagination": pagination})

    @staticmethod
    def ok(data: Any, status: int = 200) -> tuple[int, dict[str, str], bytes]:
        return status, {}, json.dumps(data).encode()

    @staticmethod
    def problem(
        status: int, code: str, detail: str, errors: list[dict[str, Any]] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        data = {
            "type": "about:blank",
            "title": "t",
            "status": status,
            "detail": detail,
            "code": code,
            "requestId": "req-9",
            "errors": errors or [],
        }
        return status, {"Content-Type": "application/problem+json"}, json.dumps(data).encode()


def task() -> dict[str, Any]:
    """A task as the contract shows it."""
    return {
        "id": TASK,
        "name": "t",
        "description": None,
        "systemPrompt": None,
        "promptTemplate": "{{q}}",
        "responseSchema": {"some_key": 1},
        "model": None,
        "graderId": "grader_1",
        "graders": [{"graderId": "grader_1", "weight": 1, "part": "scoring"}],
        "aggregation": "mean",
        "review": None,
        "retry": {"maxAttempts": 5, "backoffMs": 500, "maxBackoffMs": 30000},
        "deadlineMs": 86400000,
        "options": {"includeDimensions": True, "includeExplanation": True},
        "retention": {"textDays": None},
        "shareText": False,
        "useCalibration": False,
        "metadata": {"snake_case": {"camelCase": None}},
        "version": "taskv_1",
        "archived": False,
        "createdBy": None,
        "createdAt": stamp(BORN),
        "updatedAt": stamp(BORN),
    }


ROUTES: dict[tuple[str, str], Any] = {
    ("POST", "/graders"): {
        "grader": {"id": "grader_1", "name": "exact-match", "status": "inactive"},
        "credentials": {"graderId": "grader_1", "sharedSecret": "atgs_" + "r" * 43},
    },
    ("POST", "/graders/grader_1/verify"): {
        "verified": True,
        "checks": [{"name": "health", "passed": True, "detail": None, "latencyMs": 3}],
    },
    ("POST", "/tasks"): {"id": TASK, "task": task()},
    ("GET", "/scores/summary"): {
        "totalRecords": 2,
        "unscored": 0,
        "taskIds": [TASK],
        "modelIds": ["m-1"],
        "scoreDistribution": {
            "mean": 0.5,
            "std": 0.1,
            "min": 0.4,
            "max": 0.6,
            "percentiles": {"p25": 0.45, "p50": 0.5, "p75": 0.55, "p95": 0.6},
        },
        "histogram": [0] * 10,
        "byModel": [{"modelId": "m-1", "mean": 0.5}],
    },
    ("GET", "/scores/export"): {"prompt": "2+2?", "response": "4", "score": 1},
    ("GET", "/scores"): {"scores": [], "pagination": {"limit": 1000, "offset": 0, "total": 0, "nextCursor": None}},
}


@pytest.fixture
def fake() -> Iterator[FakeAutotune]:
    server = FakeAutotune()
    yield server
    server.close()


@pytest.fixture
def client(fake: FakeAutotune) -> Iterator[Any]:
    from autotune_sdk import AutotuneClient

    with AutotuneClient(KEY, fake.url, timeout_s=5, max_retries=3) as sdk_client:
        sdk_client._transport.naps = naps = []
        sdk_client._transport.sleep = naps.append
        yield sdk_client


@pytest.fixture
def task_id() -> str:
    return TASK
