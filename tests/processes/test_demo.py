"""The demo as `make demo` runs it, twice: the second run submits nothing, prints the same table, leaves no process."""

import json
import re
import signal
import stat
import subprocess
import sys

import pytest

from autotune.site.local import launch
from tests.support.concurrency import until
from tests.support.serving import free_port, own_environment, running_with

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]
PATIENCE_S = 90


@pytest.fixture
def demo(tmp_path):
    """`demo(*arguments)`: the demo's process, with a folder and a database of its own; `demo.data` is the folder."""
    started = []
    with own_environment(tmp_path, empty=True) as base:
        env = {**base, "PORT": str(free_port()), "DEMO_ONCE": ""}

        def start(*arguments):
            command = [sys.executable, "-m", "autotune.site.demo", *arguments]
            started.append(
                subprocess.Popen(
                    command, env=env, cwd=launch.ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
                )
            )
            return started[-1]

        start.data = tmp_path
        yield start
        for process in started:
            process.kill()
        until(lambda: running_with(tmp_path) == [])


def table(text):
    """(model, scored, mean) rows of what the demo printed."""
    return re.findall(r"^(\S+) +(\d+) +(\d\.\d{3})$", text, re.MULTILINE)


def test_the_demo_runs_twice_and_ends_at_ctrl_c(demo):
    once = demo("--once")
    first, _ = once.communicate(timeout=PATIENCE_S)
    assert once.returncode == 0, first
    assert "submitted 300 new completions of 300" in first
    assert running_with(demo.data) == []
    means = [float(mean) for _, _, mean in table(first)]
    assert [scored for _, scored, _ in table(first)] == ["100"] * 3
    assert min(abs(a - b) for a in means for b in means if a is not b) >= 0.1

    kept = demo.data / "demo.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    credentials = json.loads(kept.read_text())
    assert credentials["apiKey"] in first
    assert credentials["adminPassword"] in first
    records = (demo.data / "demo" / "scores.jsonl").read_bytes()
    assert records.count(b"\n") == 300
    assert (demo.data / "demo" / "scores.parquet").stat().st_size > 0

    staying = demo()
    lines = []
    for line in staying.stdout:
        lines.append(line)
        if "Ctrl-C ends all processes" in line:
            break
    second = "".join(lines)
    assert "submitted 0 new completions of 300" in second
    assert table(second) == table(first)
    assert credentials["apiKey"] not in second
    assert json.loads(kept.read_text())["apiKey"] == credentials["apiKey"]
    assert (demo.data / "demo" / "scores.jsonl").read_bytes() == records
    assert staying.poll() is None

    staying.send_signal(signal.SIGINT)
    rest, _ = staying.communicate(timeout=PATIENCE_S)
    assert staying.returncode == 0, rest
    assert "is killed" not in rest
    assert running_with(demo.data) == []
