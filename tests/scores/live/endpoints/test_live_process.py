"""The ASGI application of the process `live`: the same answers, while its calls wait without threads."""

import asyncio
import json

import pytest
from django.db import connection

from autotune.access.audit import trail
from autotune.access.models import AuditEvent
from autotune.core.api.middleware import BodyMiddleware, RequestIdMiddleware, TrustedProxyMiddleware
from scores.live import asgi, facade, notes
from scores.live.asgi import LiveApplication
from scores.models import WorkflowRun
from scores.results.waiting import hub
from tasks.models import Completion
from tests.factories import ScoreFactory
from tests.scores.live.endpoints.conftest import whole

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)


class Caller:
    """A server's side of one exchange with the application."""

    def __init__(self, app, path, body, *, method="POST", query=b"", headers=None, leaves=None):
        self.app, self.body, self.leaves = app, body, leaves
        all_headers = {
            "host": "localhost", "content-type": "application/json", "content-length": str(len(body)), **(headers or {}),
        }  # fmt: skip
        self.scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": path, "raw_path": path.encode(), "query_string": query, "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in all_headers.items() if value is not None],
            "client": ("127.0.0.1", 5000), "server": ("127.0.0.1", 8001),
        }  # fmt: skip
        self.sent = []
        self.receive_calls = 0

    async def receive(self):
        self.receive_calls += 1
        if self.receive_calls == 1:
            return {"type": "http.request", "body": self.body[:10], "more_body": True}
        if self.receive_calls == 2:
            return {"type": "http.request", "body": self.body[10:], "more_body": False}
        await asyncio.sleep(3600 if self.leaves is None else self.leaves)
        return {"type": "http.disconnect"}

    async def send(self, message):
        self.sent.append(message)

    async def go(self):
        await self.app(self.scope, self.receive, self.send)
        return self

    @property
    def status(self):
        return self.sent[0]["status"]

    @property
    def headers(self):
        return {name.decode(): value.decode() for name, value in self.sent[0]["headers"]}

    @property
    def json(self):
        return json.loads(self.sent[1]["body"])


@pytest.fixture
def app():
    live = LiveApplication([RequestIdMiddleware, TrustedProxyMiddleware, BodyMiddleware])
    yield live
    live._pool.shutdown()
    live._note.pool.shutdown()


def caller(app, endpoint, body, *, token=None, **more):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Caller(app, f"/api/v1/rewards/{endpoint.protocol}/{token or endpoint.token}", raw, **more)


def score_all(value=0.8):
    for run in WorkflowRun.objects.filter(status="pending"):
        WorkflowRun.objects.filter(pk=run.pk).update(status="completed", attempt=1)
        ScoreFactory(run=run, value=value)


def in_thread(work):
    def done():
        try:
            return work()
        finally:
            connection.close()

    return asyncio.to_thread(done)


async def until(met):
    for _ in range(1_000):
        if await in_thread(met):
            return
        await asyncio.sleep(0.01)
    raise AssertionError("never so")


def test_calls_wait_at_once_and_are_answered_as_their_scores_come(app, endpoint_of):
    endpoint = endpoint_of(deadline_ms=60_000)
    calls = [caller(app, endpoint, whole(f"a{n}")) for n in range(40)]

    async def run():
        waiting = asyncio.gather(*(call.go() for call in calls))
        await until(lambda: Completion.objects.count() == 40)
        assert not waiting.done()
        await in_thread(score_all)
        await asyncio.wait_for(waiting, 30)

    asyncio.run(run())
    assert {call.status for call in calls} == {200}
    assert [call.json["rewards"] for call in calls] == [[0.8]] * 40
    assert calls[0].headers["content-type"] == "application/json"
    assert calls[0].headers["x-request-id"] != calls[1].headers["x-request-id"]
    assert not hub._waiting
    assert AuditEvent.objects.filter(action="rewards.create", actor=endpoint.public_id).count() == 40


def test_calls_that_come_together_are_stored_together(app, endpoint_of, monkeypatch):
    groups = []
    begin = facade.begin
    monkeypatch.setattr(asgi.facade, "begin", lambda asks: (groups.append(len(asks)), begin(asks)))
    endpoint = endpoint_of()
    calls = [caller(app, endpoint, whole(f"a{n}")) for n in range(30)]

    async def run():
        await asyncio.gather(*(call.go() for call in calls))

    asyncio.run(run())
    assert sum(groups) == 30
    assert len(groups) < 10
    assert [call.json["rewards"] for call in calls] == [[0.25]] * 30


def test_one_invalid_call_does_not_affect_others(app, endpoint_of):
    endpoint = endpoint_of()
    calls = [
        caller(app, endpoint, whole("a")), caller(app, endpoint, b"{"), caller(app, endpoint, whole("b"), token="guess"),
        caller(app, endpoint, whole("\x00")), caller(app, endpoint, whole("c")),
    ]  # fmt: skip

    async def run():
        await asyncio.gather(*(call.go() for call in calls))

    asyncio.run(run())
    assert [call.status for call in calls] == [200, 400, 404, 200, 200]
    assert calls[1].headers["content-type"] == "application/problem+json"
    assert calls[1].json["requestId"] == calls[1].headers["x-request-id"]
    assert Completion.objects.count() == 2
    assert sorted(AuditEvent.objects.values_list("status", flat=True)) == [200, 200, 200, 400, 404]


def test_a_client_that_leaves_ends_its_wait_and_not_the_work(app, endpoint_of):
    endpoint = endpoint_of(deadline_ms=60_000)
    left = caller(app, endpoint, whole("a"), leaves=0.0)
    asyncio.run(left.go())
    assert left.sent == []
    assert not hub._waiting
    assert (app._room.calls, app._room.byte_count, dict(app._room.of_address)) == (0, 0, {})
    assert Completion.objects.count() == 1


def test_the_deadline_ends_the_wait(app, endpoint_of):
    late = caller(app, endpoint_of(unscored="hold", deadline_ms=100), whole("a"))
    asyncio.run(late.go())
    assert (late.status, late.json["code"], late.headers["retry-after"]) == (503, "pending", "1")
    events = AuditEvent.objects.order_by("pk").values_list("status", "code")
    assert list(events) == [(200, ""), (503, "pending")]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"method": "GET"}, 405),
        ({"method": "DELETE"}, 405),
        ({"headers": {"content-type": "text/plain"}}, 415),
        ({"headers": {"host": "evil.example.org"}}, 400),
        ({"headers": {"content-length": None, "transfer-encoding": "chunked"}}, 411),
        ({"headers": {"transfer-encoding": "chunked"}}, 411),
        ({"headers": {"content-length": str(33 * 2**20)}}, 413),
        ({"headers": {"content-encoding": "gzip"}}, 415),
        ({"query": b"rewardKey=score"}, 400),
        ({"query": b"no-such=1"}, 400),
        ({"query": b"&".join([b"a=1"] * 1_001)}, 400),
    ],
)
def test_calls_refused_by_their_headers(app, endpoint_of, change, status):
    refused = caller(app, endpoint_of(), whole("a"), **change)
    asyncio.run(refused.go())
    assert (refused.status, refused.headers["content-type"]) == (status, "application/problem+json")
    assert Completion.objects.count() == 0
    assert AuditEvent.objects.filter(status=status).count() == 1


@pytest.mark.parametrize("path", ["/", "/api/v1/tasks", "/api/v1/rewards", "/api/v1/rewards/openrlhf/", "/admin/"])
def test_other_paths_are_404(app, path):
    other = Caller(app, path, b"{}")
    asyncio.run(other.go())
    assert (other.status, other.json["code"]) == (404, "not_found")


def test_the_process_reports_that_it_is_alive(app):
    probe = Caller(app, "/api/v1/health", b"", method="GET")
    asyncio.run(probe.go())
    assert (probe.status, probe.json) == (200, {"status": "ok"})
    assert AuditEvent.objects.count() == 0


def test_a_process_holds_a_bounded_number_of_calls(app, endpoint_of, settings):
    settings.LIVE_MAX_CALLS = 0
    refused = caller(app, endpoint_of(), whole("a"))
    asyncio.run(refused.go())
    assert (refused.status, refused.json["code"], refused.headers["retry-after"]) == (503, "too_many_waiting", "1")


def test_a_declared_length_reserves_no_memory(app, endpoint_of, settings):
    settings.LIVE_MAX_BYTES = 1_000
    endpoint = endpoint_of()
    promising = caller(app, endpoint, whole("a"), headers={"content-length": str(30 * 2**20)})
    other = caller(app, endpoint, whole("b"))

    async def run():
        await asyncio.gather(promising.go(), other.go())

    asyncio.run(run())
    assert (promising.status, other.status) == (200, 200)


def test_a_body_longer_than_declared_is_not_read_further(app, endpoint_of, settings):
    settings.MAX_BODY_BYTES = 20
    refused = caller(app, endpoint_of(), whole("a"), headers={"content-length": "2"})
    asyncio.run(refused.go())
    assert (refused.status, refused.json["code"], refused.headers["connection"]) == (413, "body_too_large", "close")
    assert (refused.receive_calls, app._room.byte_count, Completion.objects.count()) == (2, 0, 0)


def test_bodies_are_refused_while_they_grow(app, endpoint_of, settings):
    settings.LIVE_MAX_BYTES = 20
    refused = caller(app, endpoint_of(), whole("a"))
    asyncio.run(refused.go())
    refusal = (refused.status, refused.json["code"], refused.headers["connection"], refused.headers["retry-after"])
    assert refusal == (503, "too_many_waiting", "close", "1")
    assert (app._room.byte_count, Completion.objects.count()) == (0, 0)


@pytest.mark.parametrize(("protocol", "is_kept"), [("verify", True), ("slime", False)])
def test_a_body_counts_while_it_is_held_in_memory(app, endpoint_of, protocol, is_kept):
    endpoint = endpoint_of(protocol, deadline_ms=60_000)
    rollout = {
        "responses_create_params": {"input": "2+2?"}, "note": "\u00e9",
        "response": {"output": [{"type": "message", "content": "4"}]},
    }  # fmt: skip
    call = caller(app, endpoint, rollout if protocol == "verify" else {"prompt": "2+2?", "response": "4"})
    held = []

    async def run():
        waiting = asyncio.ensure_future(call.go())
        await until(lambda: hub._waiting)
        held.append(app._room.byte_count)
        await in_thread(score_all)
        await asyncio.wait_for(waiting, 30)

    asyncio.run(run())
    assert held == [len(call.body) if is_kept else 0]
    assert app._room.byte_count == 0
    assert call.json == ({**rollout, "reward": 0.8} if is_kept else 0.8)


def test_one_address_leaves_room_for_others(app, endpoint_of, settings):
    settings.LIVE_MAX_CALLS = 8
    greedy, other = endpoint_of(deadline_ms=60_000), endpoint_of(deadline_ms=60_000)
    calls = [caller(app, greedy, whole(f"a{n}")) for n in range(2)]
    refused, taken = caller(app, greedy, whole("b")), caller(app, other, whole("c"))

    async def run():
        waiting = asyncio.gather(*(call.go() for call in (*calls, taken)))
        await until(lambda: Completion.objects.count() == 3)
        await refused.go()
        await in_thread(score_all)
        await asyncio.wait_for(waiting, 30)

    asyncio.run(run())
    assert (refused.status, refused.json["code"]) == (503, "too_many_waiting")
    assert [call.status for call in (*calls, taken)] == [200] * 3


def test_events_of_refused_calls_that_cannot_be_written_in_time_are_counted(app, endpoint_of, monkeypatch, caplog):
    monkeypatch.setattr(notes, "MAX_WAITING", 0)
    monkeypatch.setattr(trail, "losses", trail._Losses())
    endpoint = endpoint_of()
    for body, token in ((b"{}", "guess"), (b"{}", "another")):
        asyncio.run(caller(app, endpoint, body, token=token).go())
    assert "more calls are refused than can be recorded" in caplog.text
    trail.losses.report()
    (event,) = AuditEvent.objects.all()
    assert (event.action, event.objects_count) == ("audit.lost", 2)


def test_an_unexpected_error_is_a_problem_response_and_logged(app, endpoint_of, monkeypatch, caplog):
    endpoint = endpoint_of()
    monkeypatch.setattr(asgi, "require_json", lambda request: 1 // 0)
    broken = caller(app, endpoint, whole("a"))
    asyncio.run(broken.go())
    assert (broken.status, broken.json["code"]) == (500, "internal_error")
    assert "ZeroDivisionError" in caplog.text
    assert endpoint.token not in caplog.text


def test_an_unexpected_error_before_reading_the_call_is_logged_too(app, endpoint_of, monkeypatch, caplog):
    endpoint = endpoint_of()
    monkeypatch.setattr(app, "_passed", lambda request: 1 // 0)
    broken = caller(app, endpoint, whole("a"))
    asyncio.run(broken.go())
    assert (broken.status, broken.json["code"]) == (500, "internal_error")
    assert "ZeroDivisionError" in caplog.text
    assert endpoint.token not in caplog.text


def test_a_response_that_cannot_be_written_fails_no_other(app, endpoint_of, monkeypatch):
    write = facade.protocols.write
    endpoint, slime = endpoint_of(), endpoint_of("slime", neutral_value=0.5)
    monkeypatch.setattr(
        facade.protocols, "write", lambda protocol, *a, **k: 1 // 0 if protocol == "slime" else write(protocol, *a, **k)
    )
    calls = [caller(app, endpoint, whole("a")), caller(app, slime, {"prompt": "p", "response": "r"})]

    async def run():
        await asyncio.gather(*(call.go() for call in calls))

    asyncio.run(run())
    assert [call.status for call in calls] == [200, 500]


def test_an_unavailable_database_is_reported(app, endpoint_of, monkeypatch):
    from django.db import OperationalError

    def away(digests):
        raise OperationalError("away")

    monkeypatch.setattr(facade.endpoints, "by_digest", away)
    refused = caller(app, endpoint_of(), whole("a"))
    asyncio.run(refused.go())
    assert (refused.status, refused.json["code"]) == (503, "unavailable")


def test_starting_and_ending(app):
    messages = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
    sent = []

    async def receive():
        return next(messages)

    async def send(message):
        sent.append(message["type"])

    asyncio.run(app({"type": "lifespan"}, receive, send))
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
