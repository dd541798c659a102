"""`autotune score` against a real server: interrupted at any point and repeated, it gives the same file."""

import json
import signal
from collections import Counter

import pyarrow.parquet
import pytest

from tests.support.concurrency import until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]
LINES = 400
PATIENCE_S = 60


@pytest.fixture
def lines(tmp_path):
    """A file of 400 lines, two of which the grader cannot judge, that take it about three seconds."""
    path = tmp_path / "answers.jsonl"
    rows = [
        {"prompt": f"p{n}", "response": "none" if n in (7, 250) else str(n % 100), "modelId": f"model-{n % 3}",
         "metadata": {"pauseMs": 60}}
        for n in range(LINES)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def submitted(server, task):
    return server.client.completions.list(task_id=task.id, limit=1).total


def ended(process, *, code):
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == code, errors
    return errors


def begin(server, task, lines, out):
    return server.command("score", lines, "--task", task.id, "--out", out, "--batch-size", 50)


def test_an_interrupted_and_killed_run_writes_the_same_file(server, lines, tmp_path):
    task = server.task("command")
    out, again = tmp_path / "scored.jsonl", tmp_path / "again.jsonl"

    first = begin(server, task, lines, out)
    until(lambda: submitted(server, task) >= 50)
    first.send_signal(signal.SIGINT)
    assert "Repeat the command to continue" in ended(first, code=130)
    assert not out.exists()

    second = begin(server, task, lines, out)
    until(lambda: submitted(server, task) >= 200)
    second.kill()
    ended(second, code=-signal.SIGKILL)
    assert not out.exists()

    assert "2 of 400 lines have no score" in ended(begin(server, task, lines, out), code=1)
    assert submitted(server, task) == LINES
    ended(begin(server, task, lines, again), code=1)
    assert again.read_bytes() == out.read_bytes()
    assert submitted(server, task) == LINES

    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["line"] for row in rows] == list(range(1, LINES + 1))
    assert len({row["completion_id"] for row in rows}) == len({row["external_id"] for row in rows}) == LINES
    assert Counter(row["status"] for row in rows) == {"completed": 398, "failed": 2}
    assert [row["score"] for row in rows] == [None if n in (7, 250) else n % 100 / 100 for n in range(LINES)]

    table = tmp_path / "scored.parquet"
    ended(begin(server, task, lines, table), code=1)
    assert pyarrow.parquet.read_table(table).to_pylist() == rows
    assert submitted(server, task) == LINES


def test_a_missing_task_is_reported_before_anything_is_sent(server, lines, tmp_path):
    process = server.command("score", lines, "--task", "task_00000000000000000000000000", "--out", tmp_path / "x.jsonl")
    assert "not_found" in ended(process, code=3)
