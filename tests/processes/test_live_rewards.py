"""POST /rewards over the whole server: a worker scores while the request waits, and who hangs up waits no longer."""

import json
import socket
import time
import urllib.request
from urllib.parse import urlsplit

import pytest
from django.conf import settings

from tests.support.concurrency import PATIENCE_S, together, until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]
WEB_PROCESSES = 2
WAITS_MS = 1_500
WAITED_FOR_S = 50  # less than the deadline of those who wait


@pytest.fixture
def ask(server):
    """`ask(task, *responses, **members)`: the rewards, and how many seconds they took."""
    server.ensure("web", "web")
    server.ensure("worker", "worker")

    def work(task, *responses, pause_ms=0, **members):
        body = {"taskId": task.id, "items": items(responses, pause_ms), "deadlineMs": 30_000, **members}
        request = urllib.request.Request(
            f"{server.client.base_url}/api/v1/rewards",
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "Authorization": f"Bearer {server.key}"},
        )
        begun = time.monotonic()
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["rewards"], time.monotonic() - begun

    return work


def items(responses, pause_ms):
    return [
        {"prompt": "How many?", "response": response, **({"metadata": {"pauseMs": pause_ms}} if pause_ms else {})}
        for response in responses
    ]


def graded(server):
    return len(server.grader_log.read_text().splitlines()) if server.grader_log.exists() else 0


def test_rewards_come_in_order_within_the_call_and_the_next_call_asks_no_grader(server, ask):
    task = server.task("live")
    responses = ["7", "50", "no number", "7", "99"]
    rewards, _ = ask(task, *responses)
    assert [reward["value"] for reward in rewards] == [0.07, 0.5, None, 0.07, 0.99]
    assert [reward["status"] for reward in rewards] == ["completed", "completed", "failed", "completed", "completed"]
    assert rewards[2]["code"]
    before = graded(server)
    again, seconds = ask(task, *responses)
    assert (again, graded(server)) == (rewards, before)
    assert seconds < 5


def test_concurrent_callers_each_get_their_rewards(server, ask):
    task = server.task("live together")
    answers = together(*[lambda n=n: ask(task, str(n), "50", str(99 - n))[0] for n in range(16)])
    assert [[reward["value"] for reward in rewards] for rewards in answers] == [
        [n / 100, 0.5, (99 - n) / 100] for n in range(16)
    ]


def test_a_disconnected_caller_frees_its_place(server, ask):
    task = server.task("live hang-up")
    address = urlsplit(server.client.base_url)
    body = json.dumps({"taskId": task.id, "items": items(["1"], 0), "deadlineMs": 60_000}).encode()
    head = (
        f"POST /api/v1/rewards HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {server.key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )

    def waits():
        return ask(task, "1", deadlineMs=WAITS_MS)[1] >= WAITS_MS / 1000

    server.end_all("worker")  # all calls wait
    callers = []

    def full(more=8):
        """More callers come until one is answered at once: which process takes which is the kernel's choice."""
        for _ in range(more):
            callers.append(socket.create_connection((address.hostname, address.port), timeout=PATIENCE_S))
            callers[-1].sendall(head.encode() + body)
        return not waits()

    full(WEB_PROCESSES * settings.LONG_POLL_MAX_WAITERS)
    until(full, seconds=WAITED_FOR_S)
    for caller in callers:
        caller.close()
    until(waits, seconds=WAITED_FOR_S)
    server.start("worker", "worker")
