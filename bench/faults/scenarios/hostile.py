"""Graders that hang, lie, flood and die, beside a healthy one: each has its documented outcome, and harms nobody else."""

import time

from autotune.core import ids

from ..keeper import resident
from ..misbehaviour import COMPLETED, EXPECTED, WHOLE_CALL
from ..report import Result
from ..stage import Stage
from ..work import Work

ITEMS = 2  # of each hostile grader: few enough that no circuit opens, whose waits are another promise
LIMITS = {"timeoutMs": 1_500, "batchTimeoutMs": 1_500, "maxConcurrency": 4}
RETRY = {"maxAttempts": 2, "backoffMs": 100, "maxBackoffMs": 500}
MANY = {"maxAttempts": 12, "backoffMs": 100, "maxBackoffMs": 500}  # for those that come through by trying again
HEALTHY = {"latency_ms": 400}
HEALTHY_LIMITS = {"maxConcurrency": 4}  # so its own latency sets its pace, and no shortage of processor time
FLOOD = (  # stay at it while the healthy one is measured
    "hang", "drip status", "drip body", "reset", "500 for 1 of 3", "1 GB", "1 GB chunked", "gzip bomb",
    "wrong signature", "very deep JSON",
)  # fmt: skip
FLOOD_ITEMS = 60
FLOOD_BATCH = 2
MEMORY_MIB = 512.0  # of a worker process at its peak


def hostile(stage: Stage, result: Result) -> None:
    if "hostile" not in stage.system.keeper.pids:
        stage.system.program("hostile", "grader", stage.system.hostile_port)
    baseline = _throughput(stage, result, "healthy only")
    works = {mode: _hostile(stage, mode, ITEMS) for mode in EXPECTED}
    flood = [_hostile(stage, mode, FLOOD_ITEMS, name=f"flood {mode}", max_batch=FLOOD_BATCH) for mode in FLOOD]
    for work in [*works.values(), *flood]:
        work.submitter.start()
    beside = _throughput(stage, result, "healthy beside")
    for work in flood:  # what is left of it sleeps from now on
        work.api.need(200, "PATCH", f"/graders/{work.grader_id}", {"status": "inactive"})
    end = time.monotonic() + stage.patience_s / 2
    while not all(work.done for work in works.values()) and time.monotonic() < end:
        next(iter(works.values())).breathe()
    outcomes = {mode: _outcome(result, mode, work) for mode, work in works.items()}
    peak = resident({name: stage.system.keeper.pids[name] for name in stage.system.names("worker")})
    result.figures |= {
        "modes": len(outcomes),
        "asDocumented": sum(outcomes.values()),
        "healthyAlonePerSecond": round(baseline, 1),
        "healthyBesidePerSecond": round(beside, 1),
        "workerPeakMiB": peak,
    }
    result.require(
        f"the healthy grader keeps {stage.sizes.keeps:.0%}",
        beside >= stage.sizes.keeps * baseline,
        f"{beside:.1f} of {baseline:.1f} a second",
    )
    result.require(f"a worker stays under {MEMORY_MIB:g} MiB", max(peak.values()) <= MEMORY_MIB, peak)


def _hostile(stage: Stage, mode: str, items: int, *, name: str = "", max_batch: int = 20) -> Work:
    retry = MANY if COMPLETED in EXPECTED[mode] else RETRY
    return Work(stage.system, name or mode, items, grader={"mode": mode}, limits=LIMITS, retry=retry, hostile=True,
                max_batch=max_batch)  # fmt: skip


def _throughput(stage: Stage, result: Result, name: str) -> float:
    """Completions a second of a healthy grader whose pace is its own latency, by the times of its scores."""
    work = Work(stage.system, name, stage.sizes.healthy, grader=HEALTHY, limits=HEALTHY_LIMITS, max_batch=10)
    work.submitter.start()
    work.until_done(patience_s=stage.patience_s / 2)
    limit = HEALTHY_LIMITS["maxConcurrency"]
    database = stage.system.database
    rows = database.rows(
        f"select {database.epoch('created_at')} from scores_score where task_id = %s order by created_at",
        ids.decode("task", work.task),
    )
    times = [float(scored_at) for (scored_at,) in rows]
    findings = work.check()
    if not findings.ok or len(times) < work.total:
        return 0.0
    result.require("no more calls are out than maxConcurrency", work.control()["peak"] <= limit, work.control()["peak"])
    return len(times) / (
        times[-1] - times[0] + HEALTHY["latency_ms"] / 1000
    )  # scores come in bursts: the first counts too


def _outcome(result: Result, mode: str, work: Work) -> bool:
    """Whether every run of a hostile grader ended as the documentation says."""
    expected = EXPECTED[mode]
    findings = work.check(codes=tuple(expected))
    rows = work.system.database.rows(
        "select status, error_code from scores_workflowrun where task_id = %s order by id",
        ids.decode("task", work.task),
    )
    seen = [COMPLETED if status == "completed" else code or status for status, code in rows]
    judged = seen if mode in WHOLE_CALL else seen[:1]
    problems = [f"{mode}: {count} x {name}" for name, count in findings.faults.items()]
    if not judged or not set(judged) <= expected:
        problems.append(f"{mode}: {sorted(set(seen))} instead of {sorted(expected)}")
    if mode == "clock 10 minutes off" and not all("clock" in message for message in _messages(work)):
        problems.append(f"{mode}: a message does not name the skew: {_messages(work)[:1]}")
    if mode == "429 with Retry-After" and not _waited(work, 2.0):
        problems.append(f"{mode}: asked again before the time that Retry-After names")
    result.problems += problems
    return not problems


def _messages(work: Work) -> list[str]:
    """What the failed runs say; in the database it is ciphertext."""
    runs = work.api.need(200, "GET", f"/workflow-runs?taskId={work.task}&status=failed&limit=1000")["workflowRuns"]
    return [run["error"]["message"] for run in runs]


def _waited(work: Work, seconds: float) -> bool:
    return all(max(times) - min(times) >= seconds - 0.05 for times in work.book().times.values() if len(times) > 1)
