"""The program of a child that judges: it takes work, judges one item at a time, and returns each result at once.

The parent ends a child whose item takes too long. A limit of CPU time for each item also ends a child whose parent was
killed, and a thread ends a child that waits for something else. The main thread judges, since some libraries limit time
with signals, which only the main thread receives.
"""

import os
import re
import resource
import signal
import threading
from collections.abc import Callable
from importlib import import_module
from math import ceil
from multiprocessing import connection, parent_process
from typing import Any, Final

from graders.hosted import failures
from graders.hosted.messages import ChildReply, ChildWork, Judge, encode
from graders.verdicts import Failure, Verdict

# What libraries need of the environment. The rest holds the server's secrets, which no judge needs.
_KEPT: Final = re.compile(r"PATH|HOME|TMPDIR|TZ|LANG|LC_\w+|LD_LIBRARY_PATH|PYTHON\w*|\w+_NUM_THREADS")
_READY: Final = encode(ChildReply())
_OUT_OF_MEMORY: Final = encode(
    ChildReply(failure=failures.OUT_OF_MEMORY, is_last=True)
)  # needs no memory when it is sent


def main(pipe: connection.Connection, memory_bytes: int) -> None:
    """Judge until the parent closes the pipe.

    memory_bytes  limit of the address space
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides when to end
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _limit(resource.RLIMIT_AS, memory_bytes)
    _forget_environment()
    try:
        while True:
            if not _serve(pipe):
                return
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the parent closed the pipe


def _forget_environment() -> None:
    for name in list(os.environ):
        if not _KEPT.fullmatch(name):
            del os.environ[name]


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)


def _serve(pipe: connection.Connection) -> bool:
    """Judge the items of one message. Return whether the child can go on."""
    work: ChildWork = pipe.recv()
    function, failure = _function(work.judge)
    pipe.send_bytes(_READY)
    for item in work.items:
        if function is None:
            pipe.send_bytes(encode(ChildReply(failure=failure)))
            continue
        _limit_cpu(work.cpu_s)
        try:
            reply = encode(_reply(function(item, work.judge.settings, work.options)))
        except MemoryError:
            pipe.send_bytes(_OUT_OF_MEMORY)
            return False
        except Exception as exc:  # noqa: BLE001 - whatever a judge raises concerns this item only
            reply = encode(ChildReply(failure=failures.broken(f"{type(exc).__name__}: {exc!a}")))
        pipe.send_bytes(reply)
    return True


def _function(judge: Judge) -> tuple[Callable[..., Any] | None, Failure | None]:
    """The judging function, or why it cannot be loaded."""
    module, _, name = judge.function.partition(":")
    try:
        return getattr(import_module(module), name), None
    except (ImportError, AttributeError) as exc:
        return None, failures.broken(f"{judge.function} cannot be loaded: {exc}")


def _reply(result: object) -> ChildReply:
    if isinstance(result, Verdict):
        return ChildReply(verdict=result)
    if isinstance(result, Failure):
        return ChildReply(failure=result)
    return ChildReply(failure=failures.broken(f"the judge returned {type(result).__name__} instead of a verdict"))


def _limit_cpu(seconds: float) -> None:
    """End this process if it uses this much more CPU time before the next call."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    _limit(resource.RLIMIT_CPU, ceil(usage.ru_utime + usage.ru_stime + seconds))


def _limit(kind: int, value: int) -> None:
    """Set a limit of this process. A lower limit that the system imposes stays."""
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))
