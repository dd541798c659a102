"""The children that judge: how they start, what they may use, and how they end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from graders.hosted.children import Children
from graders.hosted.messages import ChildWork, Judge
from graders.verdicts import GraderItem, GraderOptions

ROOT = Path(__file__).resolve().parents[2]
PARENT = """
import time
from graders.hosted.children import Children
from graders.hosted.messages import Judge, ChildWork
from graders.verdicts import GraderItem, GraderOptions

if __name__ == "__main__":
    child = Children(1, 512 << 20).borrow()
    item = GraderItem("comp_1", "task_1", "", "RESPONSE")
    child.start(ChildWork(Judge("tests.support.rules:misbehaves"), GraderOptions(), 2.0, [item]))
    child.reply()
    print(child._process.pid, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def pool():
    pool = Children(1, 512 << 20)
    yield pool
    pool.close()


def work(function, response="abc", **settings):
    item = GraderItem("comp_1", "task_1", "", response)
    return ChildWork(Judge(f"tests.support.rules:{function}", settings), GraderOptions(), 10.0, [item])


def judged(child, task):
    assert child.start(task)
    assert child.reply() is not None  # ready
    return child.reply()


def test_a_child_is_reused(pool):
    child = pool.borrow()
    judged(child, work("process"))
    pool.give_back(child)
    assert pool.borrow() is child
    assert judged(child, work("by_length", most=3)).verdict.value == 1.0
    pool.discard(child)


def test_no_more_children_are_lent_than_the_limit(pool):
    child = pool.borrow()
    assert pool.borrow() is None
    pool.discard(child)
    again = pool.borrow()
    assert again is not None
    pool.discard(again)


def test_a_child_does_not_load_the_server(pool):
    child = pool.borrow()
    judged(child, work("process"))
    maps = Path(f"/proc/{child._process.pid}/maps").read_text()
    assert "psycopg" not in maps
    assert "pycurl" not in maps
    pool.discard(child)


def test_a_child_does_not_keep_the_secrets_of_the_environment(monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "a secret of the server")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    pool = Children(1, 512 << 20)
    child = pool.borrow()
    names = judged(child, work("environment")).verdict.reasoning.split()
    pool.close()
    assert "SECRET_KEY" not in names
    assert {"PATH", "OMP_NUM_THREADS"} <= set(names)


def gone(pid, seconds=10.0):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


@pytest.mark.processes
@pytest.mark.parametrize("response", ["good", "loops", "sleeps", "backtracks"])
def test_a_child_ends_with_a_parent_that_was_killed(tmp_path, response):
    """Idle, busy, asleep, and busy in C code that lets no other thread run: the limit of CPU time ends that one."""
    program = tmp_path / "parent.py"
    program.write_text(PARENT.replace("RESPONSE", response))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DJANGO_SETTINGS_MODULE": "autotune.settings"}
    parent = subprocess.Popen([sys.executable, program], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    pid = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait(10)
    parent.stdout.close()
    assert gone(pid)
