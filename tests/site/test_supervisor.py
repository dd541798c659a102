"""The supervisor keeps a tree of processes: all live, or none. Dummy commands replace the server's own."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from autotune.site.local.supervisor import LOG_BYTES, ProcessEnded, SupervisedProcess, Supervisor, SupervisorError

ROOT = Path(__file__).resolve().parents[2]
SLEEPER = ("sleep", "600")
# a shell with a grandchild, both deaf to SIGTERM
STUBBORN = ("sh", "-c", "trap '' TERM; sh -c \"trap '' TERM; sleep 600 & wait; sleep 600\" & wait; sleep 600")


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def group(pgid: int) -> list[int]:
    """The living members of a process group."""
    members = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[2]) == pgid and fields[0] != "Z":
                members.append(int(entry.name))
    return members


def eventually(condition, timeout_s: float = 10.0) -> bool:
    until = time.monotonic() + timeout_s
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_leaving_the_context_ends_every_process(tmp_path):
    with Supervisor(tmp_path) as tree:
        tree.start(SupervisedProcess("one", SLEEPER))
        tree.start(SupervisedProcess("two", SLEEPER))
        pids = list(tree.pids.values())
        assert all(alive(pid) for pid in pids)
    assert not any(alive(pid) for pid in pids)


def test_an_exception_inside_ends_every_process(tmp_path):
    with pytest.raises(ZeroDivisionError), Supervisor(tmp_path) as tree:  # noqa: PT012
        tree.start(SupervisedProcess("one", SLEEPER))
        pid = tree.pids["one"]
        1 / 0  # noqa: B018
    assert not alive(pid)


def test_when_one_process_ends_its_name_status_and_output_are_reported_and_the_others_end(tmp_path):
    with pytest.raises(ProcessEnded) as caught, Supervisor(tmp_path) as tree:  # noqa: PT012
        tree.start(SupervisedProcess("steady", SLEEPER))
        steady = tree.pids["steady"]
        tree.start(SupervisedProcess("brief", ("sh", "-c", "echo the last words; exit 3")))
        tree.watch()
    assert "brief ended with exit status 3" in str(caught.value)
    assert "brief | the last words" in str(caught.value)
    assert not alive(steady)


def test_children_of_a_process_end_with_it_even_if_they_ignore_sigterm(tmp_path):
    messages: list[str] = []
    with Supervisor(tmp_path, grace_s=0.5, say=messages.append) as tree:
        tree.start(SupervisedProcess("stubborn", STUBBORN))
        pgid = tree.pids["stubborn"]
        assert eventually(lambda: len(group(pgid)) >= 3)
    assert eventually(lambda: group(pgid) == [])  # they are killed, and the kernel takes its time
    assert messages == ["stubborn did not end within 0.5 s and is killed"]


def test_a_missing_program_is_a_readable_error(tmp_path):
    with Supervisor(tmp_path) as tree, pytest.raises(SupervisorError, match="nowhere cannot be started"):
        tree.start(SupervisedProcess("nowhere", ("/no/such/program",)))


def test_output_goes_to_a_log_of_its_own_and_the_environment_is_added_to(tmp_path):
    with Supervisor(tmp_path / "logs") as tree:
        tree.start(
            SupervisedProcess("talker", ("sh", "-c", "echo $GREETING $HOME >&2; sleep 600"), env={"GREETING": "hello"})
        )
        log = tree.log_of("talker")
        assert eventually(lambda: log.read_text() == f"hello {os.environ['HOME']}\n")


def test_a_large_log_is_rotated(tmp_path):
    (tmp_path / "one.log").write_bytes(b"x" * (LOG_BYTES + 1))
    with Supervisor(tmp_path) as tree:
        tree.start(SupervisedProcess("one", SLEEPER))
    assert (tmp_path / "one.log").stat().st_size == 0
    assert (tmp_path / "one.log.1").stat().st_size == LOG_BYTES + 1


def test_waiting_ends_with_the_condition_a_process_or_the_timeout(tmp_path):
    with Supervisor(tmp_path) as tree:
        tree.start(SupervisedProcess("one", SLEEPER))
        tree.wait_for(lambda: True, "nothing", 1)
        with pytest.raises(SupervisorError, match=r"the moon took longer than 0\.3 s"):
            tree.wait_for(lambda: False, "the moon", 0.3)
        tree.start(SupervisedProcess("brief", ("false",)))
        with pytest.raises(ProcessEnded, match="brief ended with exit status 1"):
            tree.wait_for(lambda: False, "the moon", 10)


@pytest.fixture
def script(tmp_path):
    """Starts a supervisor in a process of its own; gives it and the process ids of its children."""
    text = textwrap.dedent("""
        import pathlib, sys
        from autotune.site.local.supervisor import SupervisedProcess, Supervisor
        with Supervisor(pathlib.Path(sys.argv[1])) as tree:
            tree.start(SupervisedProcess("one", ("sleep", "600")))
            tree.start(SupervisedProcess("two", ("sh", "-c", "sleep 600; true")))
            try:
                print(*tree.pids.values(), flush=True)
                tree.watch()
            except KeyboardInterrupt:
                print("interrupted", flush=True)
    """)
    started = subprocess.Popen(
        [sys.executable, "-c", text, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    pids = [int(word) for word in started.stdout.readline().split()]
    yield started, pids
    for pid in [started.pid, *pids]:
        if alive(pid):
            os.kill(pid, signal.SIGKILL)
    started.wait()
    started.stdout.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_tree(script, number):
    started, pids = script
    assert all(alive(pid) for pid in pids)
    started.send_signal(number)
    assert started.wait(10) == 0
    assert "interrupted" in started.stdout.read()
    assert not any(alive(pid) for pid in pids)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
def test_the_children_end_when_the_supervisor_itself_is_killed(script):
    started, pids = script
    started.kill()
    assert eventually(lambda: not any(alive(pid) for pid in pids))
