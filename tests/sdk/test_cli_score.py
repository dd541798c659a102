"""`autotune score`: checks first, resumes anywhere, writes the same file."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from autotune_sdk import _waiting
from autotune_sdk._transport import Transport
from autotune_sdk.cli import lines, main, outputs, score

KEY = "at_test_00000000000000000000000000_secret"
Command = Callable[..., int]


@pytest.fixture
def command(fake: Any, task_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs `autotune score in.jsonl --task … --out out.jsonl` with more arguments."""
    monkeypatch.setenv("AUTOTUNE_API_KEY", KEY)
    monkeypatch.setenv("AUTOTUNE_BASE_URL", fake.url)
    monkeypatch.setattr(Transport, "sleep", staticmethod(lambda seconds: None))
    monkeypatch.setattr(_waiting, "PAUSE_S", 0.01)
    before = signal.getsignal(signal.SIGTERM)

    def run(*more: str, out: str = "out.jsonl", model: bool = True) -> int:
        model_options = ["--model", "m-1"] if model else []
        source, target = str(tmp_path / "in.jsonl"), str(tmp_path / out)
        return main(["score", source, "--task", task_id, "--out", target, *model_options, *more])

    yield run
    signal.signal(signal.SIGTERM, before)


def write(tmp_path: Path, rows: list[Any]) -> bytes:
    text = "".join((r if isinstance(r, str) else json.dumps(r, ensure_ascii=False)) + "\n" for r in rows)
    (tmp_path / "in.jsonl").write_text(text, encoding="utf-8")
    return text.encode()


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def plain(count: int) -> list[dict[str, Any]]:
    return [{"prompt": f"q{n} é", "response": "x" * n} for n in range(count)]


def test_each_line_becomes_a_row_in_order(fake: Any, command: Command, tmp_path: Path) -> None:
    raw = write(
        tmp_path,
        [
            {"prompt": "p1", "response": "four", "modelId": "m-2", "metadata": {"a_b": [1]}},
            {"messages": [{"role": "user", "content": "old"}, {"role": "user", "content": "hi"}], "response": "hello"},
            "",
            {"variables": {"q": "2+2"}, "response": "will fail"},
        ],
    )
    assert command() == 1
    rows = rows_of(tmp_path / "out.jsonl")
    assert all(tuple(row) == outputs.COLUMNS for row in rows)
    assert [r["line"] for r in rows] == [1, 2, 4]
    assert [r["prompt"] for r in rows] == ["p1", "hi", "rendered [('q', '2+2')]"]
    assert [r["model_id"] for r in rows] == ["m-2", "m-1", "m-1"]
    assert [(r["score"], r["confidence"], r["status"]) for r in rows] == [
        (0.04, 0.9, "completed"),
        (0.05, 0.9, "completed"),
        (None, None, "failed"),
    ]
    assert rows[2]["error"] == "failed: no grader returned a score"
    digest = hashlib.sha256(raw).hexdigest()
    expected = [hashlib.sha256(f"{digest}:{n}".encode()).hexdigest()[:32] for n in (1, 2, 4)]
    assert [r["external_id"] for r in rows] == expected
    assert [c["externalId"] for c in fake.completions.values()] == expected
    assert fake.completions[rows[0]["completion_id"]]["metadata"] == {"a_b": [1]}
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["in.jsonl", "out.jsonl"]


def test_a_failure_is_explained_where_the_server_explains_it(fake: Any, command: Command, tmp_path: Path) -> None:
    write(tmp_path, [{"prompt": "p", "response": "fail"}])
    route = fake.route

    def explaining(method: str, path: str, query: dict[str, str], body: bytes) -> Any:
        if path == "/workflow-runs":
            error = {"code": "grader_timeout", "message": "no answer in 4 s", "fault": "grader"}
            return fake.ok({"workflowRuns": [{"error": None}, {"error": error}], "pagination": {}})
        return route(method, path, query, body)

    fake.route = explaining
    assert command() == 1
    assert rows_of(tmp_path / "out.jsonl")[0]["error"] == "grader_timeout: no answer in 4 s"


@pytest.mark.parametrize("out", ["out.jsonl", "out.parquet"])
def test_interrupted_at_any_request_and_repeated_it_writes_the_same_file(
    fake: Any, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    monkeypatch.setattr(score, "WINDOWS", 3)
    monkeypatch.setattr(outputs, "GROUP_ROWS", 7)
    write(tmp_path, plain(43))
    assert command("--batch-size", "5", "--quiet", out=out) == 0
    whole = (tmp_path / out).read_bytes()
    requests = len(fake.requests)
    send = Transport.send
    for stop_at in range(1, requests + 1):
        fake.completions.clear()
        fake.by_external.clear()
        (tmp_path / out).unlink()
        count = [0]

        def interrupted(self: Transport, *args: Any, count: list[int] = count, at: int = stop_at, **more: Any) -> Any:
            count[0] += 1
            if count[0] == at and at % 2:
                raise KeyboardInterrupt
            answer = send(self, *args, **more)
            if count[0] == at:
                raise KeyboardInterrupt  # after the server has done it
            return answer

        with monkeypatch.context() as patch:
            patch.setattr(Transport, "send", interrupted)
            assert command("--batch-size", "5", "--quiet", out=out) == 130
        assert [p.name for p in tmp_path.iterdir()] == ["in.jsonl"]
        assert command("--batch-size", "9", "--quiet", out=out) == 0
        assert len(fake.completions) == 43
        if out == "out.jsonl" or stop_at % 5 == 0:
            assert (tmp_path / out).read_bytes() == whole


def test_a_lost_answer_is_repeated_without_a_second_completion(fake: Any, command: Command, tmp_path: Path) -> None:
    write(tmp_path, plain(20))
    fake.drop_after_batches = 2
    assert command("--batch-size", "5") == 3
    assert not (tmp_path / "out.jsonl").exists()
    fake.drop_after_batches = None
    assert command("--batch-size", "5") == 0
    assert len(fake.completions) == 20


def test_the_parquet_table_has_the_columns_and_types(command: Command, tmp_path: Path) -> None:
    import pyarrow.parquet

    write(tmp_path, [*plain(3), {"prompt": "p", "response": "fail"}])
    assert command(out="out.parquet") == 1
    table = pyarrow.parquet.read_table(tmp_path / "out.parquet")
    assert tuple(table.column_names) == outputs.COLUMNS
    assert {n: str(table.schema.field(n).type) for n in ("line", "score", "prompt")} == {
        "line": "int64",
        "score": "double",
        "prompt": "string",
    }
    assert table["score"].to_pylist() == [0.0, 0.01, 0.02, None]


def test_an_empty_file_is_an_empty_table(command: Command, tmp_path: Path) -> None:
    import pyarrow.parquet

    write(tmp_path, [])
    assert command() == 0
    assert (tmp_path / "out.jsonl").read_bytes() == b""
    assert command(out="out.parquet") == 0
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet").num_rows == 0


BAD = [
    ("{", "line 2: "),
    ("[]", "line 2: not a JSON object"),
    ('{"prompt":"p","prompt":"q","response":"r"}', "duplicate_key"),
    ({"prompt": "p"}, "line 2: response: missing"),
    ({"response": "r"}, "line 2: prompt: one of prompt, messages and variables is needed, 0 given"),
    ({"prompt": "p", "variables": {}, "response": "r"}, "line 2: variables: one of"),
    ({"prompt": 1, "response": "r"}, "line 2: prompt: must be text, not int"),
    ({"prompt": "p", "response": "r", "modelId": 5}, "line 2: modelId: must be text"),
    ({"prompt": "p", "response": "r", "metadata": [1]}, "line 2: metadata: must be an object"),
    ({"prompt": "p", "response": "r", "metadata": {"n": 2**53}}, "line 2: metadata: the integer 9007199254740992"),
    ({"prompt": "p", "response": "r" * (2**20 + 1)}, "line 2: response: more than 1048576 bytes"),
    ({"prompt": "p", "response": "r", "metadata": {"x": "é" * 40000}}, "line 2: metadata: more than 65536 bytes"),
    ('{"prompt":"\\ud800","response":"r"}', "invalid_text"),
    ('{"prompt":"\\u0000","response":"r"}', "invalid_text"),
    ({"messages": [{"role": "user"}], "response": "r"}, "line 2: messages/0/content: missing"),
    ({"messages": [], "response": "r"}, "line 2: messages: must be a list"),
]


@pytest.mark.parametrize(("row", "complaint"), BAD)
def test_a_bad_line_is_named_before_anything_is_submitted(
    fake: Any, command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str], row: Any, complaint: str
) -> None:
    write(tmp_path, [*plain(1), row, *plain(1)])
    assert command() == 2
    output = capsys.readouterr().err
    assert complaint in output
    assert "nothing was submitted" in output
    assert not fake.requests


def test_c22_a_file_with_a_byte_order_mark_is_refused_by_its_first_line(
    fake: Any, command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, plain(2))
    [file] = tmp_path.glob("*.jsonl")
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert command() == 2
    assert "line 1: begins with a byte-order mark (EF BB BF)" in capsys.readouterr().err
    assert not fake.requests


def test_a_model_is_needed_for_each_line(command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, [{"question": "p", "response": "r", "model": "m-7"}, {"question": "p", "response": "r"}])
    fields = ("--prompt-field", "question", "--model-field", "model")
    assert command(*fields, model=False) == 2
    assert "line 2: model: missing (and no --model)" in capsys.readouterr().err
    assert command(*fields) == 0
    assert [r["model_id"] for r in rows_of(tmp_path / "out.jsonl")] == ["m-7", "m-1"]


def test_members_that_are_not_used_are_named(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, [{"prompt": "p", "response": "r", "metdata": {}}])
    assert command() == 0
    assert "ignored members: metdata" in capsys.readouterr().err


@pytest.mark.parametrize("out", ["out.csv", "nowhere/out.jsonl"])
def test_an_invalid_output_is_refused_first(fake: Any, command: Command, tmp_path: Path, out: str) -> None:
    write(tmp_path, plain(1))
    assert command(out=out) == 2
    assert not fake.completions


def test_parquet_without_pyarrow_says_what_to_install(
    fake: Any, command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, plain(1))
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert command(out="out.parquet") == 2
    assert "pip install 'autotune-sdk[parquet]'" in capsys.readouterr().err
    assert not fake.requests


def test_missing_file_missing_key_and_unknown_task(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command() == 2
    write(tmp_path, plain(1))
    assert command("--task", "task_other") == 3
    assert "404 not_found" in capsys.readouterr().err
    monkeypatch.setenv("AUTOTUNE_API_KEY", "")
    assert command() == 3
    assert "AUTOTUNE_API_KEY" in capsys.readouterr().err


def test_a_refusal_names_the_line(command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, [*plain(7), {"prompt": "p", "response": "refuse"}])
    assert command("--batch-size", "5") == 3
    assert "line 8: not this" in capsys.readouterr().err


def test_it_stops_at_the_wait_limit(fake: Any, command: Command, tmp_path: Path) -> None:
    write(tmp_path, plain(6))
    fake.ready_at["comp_" + "6".zfill(26)] = time.monotonic() + 60
    assert command("--wait", "0.2") == 4
    assert not (tmp_path / "out.jsonl").exists()
    fake.ready_at.clear()
    assert command("--wait", "5") == 0


def test_a_file_that_changes_during_the_run_is_detected(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, plain(6))
    survey = score.survey

    def then_change(*args: Any) -> lines.Survey:
        result = survey(*args)
        write(tmp_path, plain(7))
        return result

    monkeypatch.setattr(score, "survey", then_change)
    assert command() == 2
    assert not (tmp_path / "out.jsonl").exists()


def test_two_runs_do_not_write_one_file(command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, plain(2))
    with outputs.Output(str(tmp_path / "out.jsonl")):
        assert command() == 2
        assert "another run" in capsys.readouterr().err
    assert command() == 0


def test_progress_is_lines_where_there_is_no_terminal(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, plain(3))
    command()
    output = capsys.readouterr()
    assert output.err.startswith("3 of 3 scored, 3 submitted, ")
    assert "\r" not in output.err
    assert output.out == ""
    command("--quiet")
    assert capsys.readouterr().err == ""


def test_windows_are_small_where_lines_are_long() -> None:
    sample_lines = [lines.Line(n, {}, "", 3 * 1024 * 1024) for n in range(5)]
    assert [len(w) for w in score.windows(sample_lines, 4)] == [2, 2, 1]
    assert [len(w) for w in score.windows([lines.Line(1, {}, "", 9)] * 5, 2)] == [2, 2, 1]


def test_an_endless_line_is_not_held_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"prompt": "' + b"x" * (40 * 2**20) + b'"}\n' + b'{"prompt":"p","response":"r","modelId":"m"}')
    survey = lines.survey(str(path), lines.Fields())
    assert [str(p) for p in survey.problems] == ["line 1: more than 16777216 bytes"]
    assert survey.count == 2
    assert survey.digest == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_process_can_be_resumed(fake: Any, task_id: str, tmp_path: Path, number: signal.Signals) -> None:
    write(tmp_path, plain(30))
    fake.ready_at = {f"comp_{n:026d}": time.monotonic() + 3600 for n in range(15, 31)}
    source = Path(__file__).parents[2] / "sdk/python/src"
    environment = {**os.environ, "PYTHONPATH": str(source), "AUTOTUNE_API_KEY": KEY, "AUTOTUNE_BASE_URL": fake.url}
    arguments = [sys.executable, "-m", "autotune_sdk.cli", "score", "in.jsonl", "--task", task_id]
    arguments += ["--out", "out.jsonl", "--model", "m", "--batch-size", "10"]
    process = subprocess.Popen(arguments, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 20
    while fake.batches < 3 and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(number)
    assert process.wait(10) == (-9 if number == signal.SIGKILL else 130)
    assert not (tmp_path / "out.jsonl").exists()
    fake.ready_at = {}
    done = threading.Timer(30, process.kill)
    assert (
        subprocess.run(arguments, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL, check=False).returncode == 0
    )
    done.cancel()
    assert [r["line"] for r in rows_of(tmp_path / "out.jsonl")] == list(range(1, 31))
    assert len(fake.completions) == 30
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]
