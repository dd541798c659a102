"""What callers of the web process see while the database is away and after it returns. Docs: docs/reliability.md."""

import signal
import threading
import time

import pytest

from tests.support.outages import own_postgres, seconds_until, web_on

pytestmark = [pytest.mark.postgres, pytest.mark.processes, pytest.mark.timeout(240)]
SLACK = 2.0  # the test machine does other work too; the fault runs measure the limits themselves
REFUSED_S = 2.0 * SLACK
BACK_S = 2.0 * SLACK
HEALTH_S = 0.5 * SLACK
WEBHOOK = {"url": "https://hooks.example.org/x", "events": ["score.completed"]}


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    with own_postgres(tables=True) as postgres, web_on(postgres, tmp_path_factory.mktemp("web")) as server:
        yield server


@pytest.fixture(autouse=True)
def _as_before(web):
    yield
    web.postgres.thaw()
    if not web.postgres.answers():
        web.postgres.start()
    web.postgres.take_writes()
    seconds_until(lambda: create_task(web)[0] == 201)


def create_task(web):
    return web.ask("POST", "/webhooks", WEBHOOK)


def is_refusal(answer):
    status, content, headers, _ = answer
    is_problem = headers["Content-Type"] == "application/problem+json" and content["code"] == "unavailable"
    return status == 503 and is_problem and int(headers["Retry-After"]) > 0


def test_c2_idle_connections_that_a_restart_cut_are_not_handed_out(web):
    assert {answer[0] for answer in web.at_once(20, "GET", "/webhooks")} == {200}
    web.postgres.restart(signal.SIGINT)
    time.sleep(1.1)  # longer than a connection stays unchecked
    assert [create_task(web)[0] for _ in range(30)] == [201] * 30


def test_c2_connections_that_were_in_use_a_moment_ago_are_not_handed_out_either(web):
    assert {answer[0] for answer in web.at_once(20, "GET", "/webhooks")} == {200}
    web.postgres.cut()
    assert [create_task(web)[0] for _ in range(30)] == [201] * 30


def test_c28_c29_refusals_are_quick_health_answers_and_service_is_back_at_once(web):
    web.postgres.end()
    answers = web.at_once(140, "GET", "/graders")
    assert all(map(is_refusal, answers))
    assert max(seconds for *_, seconds in answers) < REFUSED_S
    status, _, _, seconds = web.ask("GET", "/health")
    assert (status, seconds < HEALTH_S) == (200, True)
    assert web.ask("GET", "/ready")[0] == 503
    later = web.at_once(140, "GET", "/graders")
    assert max(seconds for *_, seconds in later) < REFUSED_S
    assert all(map(is_refusal, later))
    web.postgres.start()
    assert seconds_until(lambda: create_task(web)[0] == 201) < BACK_S
    every_worker = lambda: {answer[0] for answer in web.at_once(20, "GET", "/webhooks")} == {200}  # noqa: E731
    assert seconds_until(every_worker) < BACK_S


def test_c28_a_server_that_accepts_and_never_answers_is_away_too(web):
    """A machine that hangs: nothing refuses the connections."""
    assert {answer[0] for answer in web.at_once(20, "GET", "/webhooks")} == {200}
    web.postgres.freeze()
    time.sleep(1.1)  # connections that were idle for less are not checked, and wait for the network
    answers = web.at_once(30, "GET", "/graders")
    assert all(map(is_refusal, answers))
    assert max(seconds for *_, seconds in answers) < REFUSED_S
    assert web.ask("GET", "/health")[3] < HEALTH_S
    web.postgres.thaw()
    assert seconds_until(lambda: create_task(web)[0] == 201) < BACK_S


def test_c28_health_answers_while_every_thread_waits_for_the_database(web):
    """Statements under way hang with a frozen server, and hold every thread of both workers."""
    stuck = [threading.Thread(target=web.ask, args=("GET", "/webhooks"), daemon=True) for _ in range(200)]
    create_task(web)
    web.postgres.freeze()  # at once: connections that were in use a moment ago are not checked
    for thread in stuck:
        thread.start()
    slowest = max(web.ask("GET", "/health")[3] for _ in range(10))
    web.postgres.thaw()
    assert slowest < HEALTH_S
    for thread in stuck:
        thread.join(60)


def test_c28_a_page_with_a_session_is_503_too(web):
    web.postgres.end()
    status, _, headers, seconds = web.ask("GET", "/tasks", prefix="", Cookie="sessionid=abcdefghijklmnop")
    assert (status, seconds < REFUSED_S) == (503, True)
    assert int(headers["Retry-After"]) > 0


def test_c28_the_log_has_a_line_for_an_outage_and_not_for_each_request(web):
    before = len(web.log().splitlines())
    web.postgres.end()
    for _ in range(3):
        web.at_once(100, "GET", "/graders")
    lines = web.log().splitlines()[before:]
    assert any("the database is away" in line for line in lines)
    assert len(lines) < 40, lines
    assert not any("Traceback" in line for line in lines)


def test_c28_events_of_refused_calls_are_written_when_the_database_is_back(web):
    web.postgres.end()
    refused = web.at_once(50, "GET", "/graders")
    assert all(map(is_refusal, refused))
    web.postgres.start()
    counted = len(web.events(action="endpoint_graders.read", status=503, code="unavailable"))
    seconds_until(lambda: len(web.events(action="endpoint_graders.read", status=503, code="unavailable")) >= 50)
    assert counted <= len(web.events(action="endpoint_graders.read", status=503, code="unavailable"))
    assert web.events(action="audit.lost") == []


def test_c28_c29_live_refuses_quickly_and_is_back_at_once(web):
    """The called endpoint does not exist, but its answer needs the database too."""
    path, call = "/rewards/openrlhf/unknown", {"query": ["a"], "prompts": ["a"], "labels": [""]}
    usual = web.ask_live(path, call)[0]
    assert usual in (401, 404)
    web.postgres.end()
    for _ in range(3):
        status, content, _, seconds = web.ask_live(path, call)
        assert (status, content["code"], seconds < REFUSED_S) == (503, "unavailable", True)
    assert web.ask("GET", "/health", port=web.live_port)[3] < HEALTH_S
    web.postgres.start()
    assert seconds_until(lambda: web.ask_live(path, call)[0] == usual) < BACK_S
    assert web.tree.log_of("live").read_text().count("Traceback") == 0


def test_c39_a_read_only_failover_is_503_for_writes_and_over_at_once(web):
    assert create_task(web)[0] == 201
    web.postgres.refuse_writes()
    seconds_until(lambda: web.ask("GET", "/ready")[0] == 503)
    ready = web.ask("GET", "/ready")[1]
    assert "read-only" in str(ready)
    for _ in range(5):
        answer = create_task(web)
        assert is_refusal(answer)
        assert "read-only" in answer[1]["detail"]
        assert web.ask("GET", "/webhooks")[0] in (200, 503)
    assert web.ask("GET", "/health")[0] == 200
    web.postgres.take_writes()  # no connection is cut
    assert seconds_until(lambda: create_task(web)[0] == 201) < BACK_S
    assert [create_task(web)[0] for _ in range(20)] == [201] * 20
    assert web.ask("GET", "/ready")[0] == 200


def test_c39_nothing_is_500_and_no_event_is_lost_while_it_is_read_only(web):
    web.postgres.refuse_writes()
    answers = web.at_once(40, "GET", "/webhooks") + web.at_once(40, "POST", "/webhooks", WEBHOOK)
    assert {answer[0] for answer in answers} <= {200, 503}
    served = sum(answer[0] == 200 for answer in answers)
    assert served, "reads are served"
    reads = len(web.events(action="webhooks.read", status=200))
    web.postgres.take_writes()
    seconds_until(lambda: len(web.events(action="webhooks.read", status=200)) >= reads + served)
    assert web.events(action="audit.lost") == []
