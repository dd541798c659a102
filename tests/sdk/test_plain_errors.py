"""Connection errors name the problem and what to check, without text of the HTTP library."""

import pickle
import socket

import pytest
from autotune_sdk import AutotuneClient, ConnectionFailed, RequestTimeout
from autotune_sdk.cli import main
from autotune_sdk.grader import Grader, Score, sign_request
from autotune_sdk.integrations.scoring import Scorer

FOREIGN = ("urllib3", "HTTPConnection", "Max retries", "Errno", "object at 0x")


@pytest.fixture
def closed_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        yield probe.getsockname()[1]


def failure(url, **options):
    with (
        AutotuneClient("at_test_x", url, max_retries=0, **options) as client,
        pytest.raises(ConnectionFailed) as caught,
    ):
        client.tasks.get("task_1")
    assert not [word for word in FOREIGN if word in str(caught.value)]
    return caught.value


def test_c26_a_server_that_does_not_run_is_reported_as_such(closed_port):
    error = failure(f"http://127.0.0.1:{closed_port}")
    assert (
        str(error) == "GET /tasks/task_1: no connection to the server; check base_url, and that the server is running"
    )
    assert error.__cause__ is not None


def test_c26_a_host_name_that_does_not_resolve_is_reported(closed_port):
    assert "check base_url" in str(failure("http://no-such-host.invalid"))


def test_c26_a_server_that_does_not_answer_is_a_timeout():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        error = failure(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_s=0.1)
    assert isinstance(error, RequestTimeout)
    assert "did not respond in time" in str(error)


def test_c26_a_broken_connection_is_reported(fake):
    fake.script = [None]
    assert "broke before the response was complete" in str(failure(fake.url))


def test_c26_the_advice_for_a_wrong_key_is_to_set_a_valid_one(fake, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("AUTOTUNE_API_KEY", "at_test_wrong")
    fake.script = [fake.problem(401, "invalid_key", "The API key is not known.")]
    (tmp_path / "in.jsonl").write_text('{"prompt": "p", "response": "r"}\n')
    arguments = [
        "score",
        str(tmp_path / "in.jsonl"),
        "--task",
        "task_1",
        "--model",
        "m",
        "--out",
        str(tmp_path / "o.jsonl"),
    ]
    assert main([*arguments, "--base-url", fake.url]) == 3
    stderr = capsys.readouterr().err
    assert "Set AUTOTUNE_API_KEY to a valid key" in stderr
    assert "Repeat the command to continue" not in stderr


def test_c26_a_pickled_scorer_keeps_its_server(monkeypatch):
    monkeypatch.setenv("AUTOTUNE_API_KEY", "at_test_x")
    scorer = Scorer("task_1", client=AutotuneClient("at_test_y", "https://rewards.example.org"))
    copy = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(scorer))))
    assert copy.client.base_url == scorer.client.base_url
    assert b"at_test_y" not in pickle.dumps(scorer)


def test_c26_a_score_accepts_none_for_dimensions():
    assert Score(0.5, dimensions=None).dimensions == ()


def test_c25_a_grader_handles_the_headers_of_sign_request():
    grader = Grader("g", "1", secret="s" * 48)
    grader.score(lambda completion: 1.0)
    body = (
        b'{"requestId":"r-1","completion":{"id":"comp_1","taskId":"task_1","prompt":"p","response":"r","metadata":{}}}'
    )
    assert grader.handle("POST", "/score", sign_request("s" * 48, body, request_id="r-1"), body).status == 200
