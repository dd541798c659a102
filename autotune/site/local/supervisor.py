"""Run a few processes as one tree: when one of them ends, all end.

No process is restarted. A signal to the supervisor (Ctrl-C, SIGTERM, SIGHUP) ends all of them too. Each child leads a
process group of its own, so that the processes it started end with it; on Linux the kernel ends the children even if
the supervisor itself is killed. Each process writes its output to a log file of its own.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

GRACE_S = 10.0  # from SIGTERM to SIGKILL
POLL_S = 0.1
LOG_BYTES = 5 * 2**20  # a longer log is set aside when its process starts
LOG_LINES_SHOWN = 20
PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


class SupervisorError(Exception):
    """The tree cannot run; the text says why and what to do."""


class ProcessEnded(SupervisorError):
    """A process of the tree ended by itself."""


@dataclass(frozen=True)
class SupervisedProcess:
    """A process to start: `env` is added to the supervisor's own environment."""

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None


@dataclass(frozen=True)
class _Child:
    process: SupervisedProcess
    popen: subprocess.Popen[bytes]
    log: Path


class Supervisor:
    """A context manager that runs processes and ends all of them on exit. Use it from the main thread."""

    def __init__(self, log_dir: Path, *, grace_s: float = GRACE_S, say: Callable[[str], None] = print) -> None:
        self._log_dir = log_dir
        self._grace_s = grace_s
        self._say = say
        self._children: list[_Child] = []
        self._handlers: dict[int, Callable[[int, FrameType | None], object] | int | None] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._handlers[number] = signal.signal(number, signal.default_int_handler)  # raises KeyboardInterrupt
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    @property
    def pids(self) -> dict[str, int]:
        """Return the id of each process, which is also the id of its process group."""
        return {child.process.name: child.popen.pid for child in self._children}

    def log_of(self, name: str) -> Path:
        return self._log_dir / f"{name}.log"

    def start(self, process: SupervisedProcess) -> None:
        """Start one process.

        raises SupervisorError if its program cannot be run
        """
        log = self.log_of(process.name)
        log.parent.mkdir(parents=True, exist_ok=True)
        if log.exists() and log.stat().st_size > LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))
        parent = os.getpid()
        with log.open("ab") as out:
            try:
                popen = subprocess.Popen(  # noqa: S603 - our own Procfile and commands
                    process.command,
                    env={**os.environ, **process.env},
                    cwd=process.cwd,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=lambda: _end_with(parent),
                )
            except OSError as exc:
                raise SupervisorError(f"{process.name} cannot be started: {exc}") from exc
        self._children.append(_Child(process, popen, log))

    def check(self) -> None:
        """Check that every process is alive.

        raises ProcessEnded with the last lines of the log of the first one that ended
        """
        for child in self._children:
            status = child.popen.poll()
            if status is not None:
                how = f"was killed by signal {-status}" if status < 0 else f"ended with exit status {status}"
                lines = "".join(f"\n  {child.process.name} | {line}" for line in tail(child.log, LOG_LINES_SHOWN))
                raise ProcessEnded(f"{child.process.name} {how}; its log is {child.log}{lines}")

    def wait_for(self, condition: Callable[[], bool], what: str, timeout_s: float) -> None:
        """Return once `condition` holds.

        raises ProcessEnded if a process ends before, SupervisorError after `timeout_s` seconds
        """
        until = time.monotonic() + timeout_s
        while not condition():
            self.check()
            if time.monotonic() > until:
                raise SupervisorError(f"{what} took longer than {timeout_s:g} s; the logs are in {self._log_dir}")
            time.sleep(POLL_S)

    def watch(self) -> None:
        """Watch until a process ends (ProcessEnded) or a signal arrives (KeyboardInterrupt)."""
        while True:
            self.check()
            time.sleep(POLL_S)

    def stop(self) -> None:
        """End every process, newest first: SIGTERM, and SIGKILL after the grace period or at a second Ctrl-C."""
        for number in (signal.SIGTERM, signal.SIGHUP):
            if number in self._handlers:
                signal.signal(number, signal.SIG_IGN)
        with contextlib.suppress(KeyboardInterrupt):
            self._terminate()
        for child in self._children:
            _signal_group(child.popen.pid, signal.SIGKILL)
        for child in self._children:
            child.popen.wait()
        self._children.clear()

    def _terminate(self) -> None:
        for child in reversed(self._children):
            _signal_group(child.popen.pid, signal.SIGTERM)
        until = time.monotonic() + self._grace_s
        for child in self._children:
            try:
                child.popen.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                self._say(f"{child.process.name} did not end within {self._grace_s:g} s and is killed")


def _end_with(parent: int) -> None:
    """In the child, before its program starts: the kernel sends SIGTERM when the parent dies."""
    if _libc is not None:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # the parent died before the line above
            os._exit(1)


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def tail(path: Path, lines: int) -> list[str]:
    """Return the last lines of a text file, from at most its last 64 KiB."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 2**16))
        return file.read().decode("utf-8", "replace").splitlines()[-lines:]
