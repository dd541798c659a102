"""Several hosts with their own clocks and folders, one with another master key; rolling restarts; and a full Redis."""

import time
from dataclasses import replace
from pathlib import Path

import redis as redis_client

from autotune.site.local import launch
from autotune.site.local.supervisor import SupervisedProcess, SupervisorError

from ..api import Api
from ..report import Result
from ..servers import Redis
from ..stage import Stage
from ..system import System
from ..watch import Watch
from ..work import Work

LIBRARY = "faketime/libfaketimeMT.so.1"  # Debian's package faketime
CLOCKS_S = {"ahead": 600, "behind": -600}
REFUSED_STATUS = 3  # exit status of a process whose master key does not open the data keys
STARTS_S = 90.0
LATENCY_MS = 50
ROLLED = ("worker-1", "worker-2", "web", "beat")


def hosts(stage: Stage, result: Result) -> None:
    """Two more worker hosts, ten minutes ahead and behind, each with its own folder, score like any other; one with
    another master key under the same id refuses to start."""
    system = stage.system
    names = [f"worker-{name}" for name in CLOCKS_S]
    for name, ahead_s in zip(names, CLOCKS_S.values(), strict=True):
        _add(system, name, _clock(ahead_s))
    try:
        system.keeper.wait_for(lambda: all(map(system.keeper.ready, names)), "the start of the other hosts", STARTS_S)
        result.figures["wrongKeyStatus"] = status = _status_with_another_key(system)
        result.require("a host with another master key refuses to start", status == REFUSED_STATUS, status)
        ours = [name for name in system.names("worker") if name not in names]
        for name in ours:  # so that the other hosts do all of the work
            system.keeper.retire(name)
        work = Work(system, result.name, stage.sizes.rivals, grader={"latency_ms": LATENCY_MS}, max_batch=10)
        work.submitter.start()
        seconds = work.until_done(patience_s=stage.patience_s)
        result.figures |= {"clocksS": list(CLOCKS_S.values()), "perSecond": round(work.final / seconds, 1)}
        result.take(work.check())
        result.require("no run fails because of a host's clock", result.figures["failedRuns"] == 0)
        warned = [name for name in names if b"the clock of this machine is" in system.keeper.log_of(name).read_bytes()]
        result.require("each host warns that its clock is off", warned == names, warned)
        for name in ours:
            system.add_worker(name)
        system.keeper.wait_for(lambda: all(map(system.keeper.ready, ours)), "the start of the workers", STARTS_S)
    finally:
        for name in names:
            system.keeper.retire(name)


def rolling(stage: Stage, result: Result) -> None:
    """Restart every process, one after the other, under load: no completion is sent to its grader twice."""
    system, total = stage.system, stage.sizes.outage
    work = Work(
        system,
        result.name,
        total,
        grader={"latency_ms": LATENCY_MS},
        max_batch=10,
        pace=min(stage.sizes.pace, total / 12),
    )
    watch = Watch(system.database)
    work.submitter.start()
    slowest = 0.0
    for share, name in zip((0.1, 0.25, 0.4, 0.55), ROLLED, strict=True):
        while not work.done and work.final < total * share:
            work.breathe(watch=watch)
        began = time.monotonic()
        system.keeper.restart(name)
        slowest = max(slowest, time.monotonic() - began)
        while not system.keeper.ready(name):
            work.breathe(watch=watch)
    work.until_done(watch=watch, patience_s=stage.patience_s)
    answers = work.submitter.answers
    result.figures |= {
        "restarted": list(ROLLED),
        "slowestEndS": round(slowest, 1),
        "postsRepeated": answers.repeated,
        "longestIdleS": round(watch.longest_idle_s, 1),
    }
    result.take(work.check())
    result.require("no submission is refused for good", not answers.refused, answers.refused[:3])
    result.require("a restart repeats no call", result.figures["calls"] == total, result.figures["calls"])
    wrong = {status for status in answers.statuses if status.startswith("5") and status != "503"}
    result.require("no answer is a server error", not wrong, wrong)


def full_redis(stage: Stage, result: Result) -> None:
    """Redis refuses writes: submissions are accepted, scoring continues, and a worker starts."""
    system, total = stage.system, min(stage.sizes.outage, 3_000)
    assert isinstance(system.redis, Redis)
    work = Work(system, result.name, total, grader={"latency_ms": LATENCY_MS}, max_batch=10, pace=total / 12)
    work.submitter.start()
    with redis_client.Redis.from_url(system.redis.url) as client:
        while work.final < total * 0.1:
            work.breathe()
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", 1)
        try:
            before = work.final
            system.keeper.restart("worker-1")
            status = Api(system.url, system.key).call("GET", "/ready")
            work.until_done(patience_s=stage.patience_s)
        finally:
            client.config_set("maxmemory", 0)
    result.figures |= {"scoredBefore": before, "scoredWhileFull": work.final - before, "ready": status[1].get("status")}
    system.keeper.wait_for(lambda: system.keeper.ready("worker-1"), "the worker after Redis has room", STARTS_S)
    result.take(work.check())
    result.require("all is scored while Redis is full", work.final == total, work.final)
    result.require("/ready says degraded", (status[0], status[1].get("status")) == (200, "degraded"), status[:2])
    refused = work.submitter.answers.refused
    result.require("no submission is refused", not refused, refused[:3])


def _add(system: System, name: str, env: dict[str, str]) -> None:
    """Start the worker of one more host, with its own folder and the secrets and servers of all."""
    process = next(candidate for candidate in launch.server_processes(system.env) if candidate.name == "worker")
    folder = system.folder / name
    folder.mkdir(exist_ok=True)
    more = {**process.env, "AUTOTUNE_DATA_DIR": str(folder), **env}
    system.keeper.start(replace(process, name=name, env=more))


def _clock(ahead_s: int) -> dict[str, str]:
    """The environment of a process whose clock is off by `ahead_s`; its intervals are right.

    raises SupervisorError where libfaketime is not installed
    """
    libraries = sorted(Path("/usr/lib").glob(f"*/{LIBRARY}"))
    if not libraries:
        raise SupervisorError("libfaketime is not installed (Debian's package faketime)")
    return {"LD_PRELOAD": str(libraries[0]), "FAKETIME": f"{ahead_s:+d}s", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


def _status_with_another_key(system: System) -> int | None:
    """The exit status of a worker with another master key under the same id; None if it runs for STARTS_S."""
    process = next(candidate for candidate in launch.server_processes(system.env) if candidate.name == "worker")
    env = {**process.env, "AUTOTUNE_ENCRYPTION_KEYS": "k1:" + "0d" * 32, "AUTOTUNE_ENCRYPTION_KEYS_FILE": ""}
    return system.keeper.status_of(SupervisedProcess("wrong-key", process.command, env=env, cwd=process.cwd), STARTS_S)
