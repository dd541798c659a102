"""A supervisor that starts again what was killed, as systemd or an orchestrator would."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping

from autotune.site.local.supervisor import SupervisedProcess, Supervisor, SupervisorError

READY_WORD = {"worker": b" ready.", "beat": b"beat: ready", "web": b"Booting worker"}
RESTART_S = 45.0
SETTLED_S = 1.0  # from its word to the first kill


class Keeper(Supervisor):
    """Processes that come back. What ended although nobody killed it is noted: that is a fault too."""

    def __init__(self, *arguments, **named) -> None:
        super().__init__(*arguments, **named)
        self.ended: list[str] = []
        self.restarting = False  # until everything has come up once, an end is a failure to start
        self._doomed: set[int] = set()
        self._begun: dict[str, tuple[float, int]] = {}

    def start(self, process: SupervisedProcess) -> None:
        log = self.log_of(process.name)
        self._begun[process.name] = time.monotonic(), log.stat().st_size if log.exists() else 0
        super().start(process)

    def check(self) -> None:
        """Restarts every process that has ended.

        raises ProcessEnded before `restarting`
        """
        if not self.restarting:
            super().check()
            return
        for child in [child for child in self._children if child.popen.poll() is not None]:
            self._children.remove(child)
            pid, status, name = child.popen.pid, child.popen.returncode, child.process.name
            signal_group(pid, signal.SIGKILL)  # what it left behind
            if pid not in self._doomed:
                self.ended.append(f"{name} ended by itself with status {status}")
            self._doomed.discard(pid)
            self.start(child.process)

    def kill(self, name: str) -> None:
        """kill -9 of a process and all that it started."""
        pid = self.pids[name]
        self._doomed.add(pid)
        signal_group(pid, signal.SIGKILL)

    def kill_child(self, name: str, pick) -> bool:
        """kill -9 of one of a process's own children (a web worker, a pool process); False if it has none."""
        below = children(self.pids[name])
        if below:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pick(below), signal.SIGKILL)
        return bool(below)

    def restart(self, name: str) -> None:
        """End a process with SIGTERM, as a deployment does, and start it again once it has ended.

        raises SupervisorError if it does not end within RESTART_S, or ends with an error status
        """
        child = next(child for child in self._children if child.process.name == name)
        os.kill(child.popen.pid, signal.SIGTERM)
        try:
            status = child.popen.wait(RESTART_S)
        except subprocess.TimeoutExpired:
            raise SupervisorError(f"{name} does not end within {RESTART_S:g} s") from None
        if status not in (0, -signal.SIGTERM):
            raise SupervisorError(f"{name} ended with status {status} after SIGTERM")
        self._children.remove(child)
        signal_group(child.popen.pid, signal.SIGKILL)  # what it left behind
        self.start(child.process)

    def status_of(self, process: SupervisedProcess, patience_s: float) -> int | None:
        """Start a process that should exit, and return its status; None if it had to be killed."""
        self.start(process)
        child = self._children.pop()
        try:
            return child.popen.wait(patience_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            signal_group(child.popen.pid, signal.SIGKILL)
            child.popen.wait()

    def retire(self, name: str) -> None:
        """Ends a process for good."""
        for child in [child for child in self._children if child.process.name == name]:
            self._children.remove(child)
            signal_group(child.popen.pid, signal.SIGTERM)
            with contextlib.suppress(Exception):
                child.popen.wait(10)
            signal_group(child.popen.pid, signal.SIGKILL)
            child.popen.wait()

    def ready(self, name: str) -> bool:
        """Whether a process has said since its start that it works: to kill one that only starts up proves little."""
        begun, offset = self._begun[name]
        word = READY_WORD.get(name.partition("-")[0])
        if time.monotonic() - begun < SETTLED_S:
            return False
        with self.log_of(name).open("rb") as log:
            log.seek(offset)
            return word is None or word in log.read()


def children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    return []


def signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def resident(pids: Mapping[str, int]) -> dict[str, float]:
    """Peak resident memory of each process, in MiB."""
    peaks = {}
    for name, pid in pids.items():
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/status") as file:
                kilobytes = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
            peaks[name] = round(kilobytes / 1024, 1)
    return peaks
