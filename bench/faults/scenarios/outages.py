"""The services that the server needs go away in the middle of the work: Redis flushed, killed and absent; PostgreSQL restarted and cut off."""

import signal
import time

from ..report import Result
from ..servers import Postgres, Redis
from ..stage import Stage
from ..watch import Watch
from ..work import Work

RESUMES_S = 15.0
ANSWERS_S = 5.0  # a submission while Redis is away
LATENCY_MS = 200
BATCH = 50


def redis(stage: Stage, result: Result) -> None:
    """FLUSHALL, then killed and absent: submissions are answered all the time, scores go on coming."""
    server = stage.system.redis
    assert isinstance(server, Redis)
    away_s, total = stage.sizes.redis_away_s, stage.sizes.outage
    work, watch = _begin(stage, result, pace=total / (away_s + 8))
    _until_scored(work, watch, total * 0.15)
    server.flush()
    flushed = time.monotonic()
    _for(work, watch, 3.0)
    server.kill()
    gone = time.monotonic()
    _for(work, watch, away_s)
    server.start()
    back = time.monotonic()
    work.until_done(watch=watch, patience_s=stage.patience_s)
    during = [attempt for attempt in work.submitter.answers.tries if gone <= attempt[0] <= back]
    slowest = max((seconds for _, seconds, _ in during), default=0.0)
    pauses = {
        "pauseAfterFlushS": round(watch.longest_pause_s(flushed, gone), 1),
        "pauseWhileAwayS": round(watch.longest_pause_s(gone, back), 1),
        "resumedAfterReturnS": _rounded(watch.resumed_after(back)),
    }
    result.figures |= {"redisAwayS": away_s, "postsWhileAway": len(during), "slowestPostWhileAwayS": round(slowest, 2)}
    result.figures |= pauses
    result.take(work.check())
    result.require("there were submissions while Redis was away", bool(during))
    statuses = sorted({status for _, _, status in during})
    result.require("every submission is taken while Redis is away", statuses in ([], ["202"]), statuses)
    answers_s, resumes_s = ANSWERS_S * stage.sizes.slack, RESUMES_S * stage.sizes.slack
    result.require(f"a submission takes {answers_s:g} s at most", slowest <= answers_s, slowest)
    for name, seconds in pauses.items():
        result.require(f"scoring goes on within {resumes_s:g} s", (seconds or 0) <= resumes_s, f"{name} {seconds}")


def postgres(stage: Stage, result: Result) -> None:
    """Restarted in order, restarted without a checkpoint, and every connection cut: scoring resumes by itself."""
    server = stage.system.postgres
    assert isinstance(server, Postgres)
    total = stage.sizes.outage
    work, watch = _begin(stage, result, pace=min(stage.sizes.pace, total / 15))
    for name, share, fault in (
        ("restart", 0.2, lambda: server.restart(signal.SIGINT)),
        ("connectionsCut", 0.4, server.cut),
        ("crash", 0.6, lambda: server.restart(signal.SIGQUIT)),
    ):
        _until_scored(work, watch, total * share)
        fault()
        back = time.monotonic()
        _until_scored(work, watch, work.final + 1, patience_s=60)
        seconds = time.monotonic() - back
        result.figures[f"{name}ResumedS"] = round(seconds, 1)
        resumes_s = RESUMES_S * stage.sizes.slack
        result.require(f"scoring resumes within {resumes_s:g} s", seconds <= resumes_s, f"{name}: {seconds:.1f} s")
    work.until_done(watch=watch, patience_s=stage.patience_s)
    result.figures["postsRepeated"] = work.submitter.answers.repeated
    result.take(work.check())
    refused = work.submitter.answers.refused
    result.require("no submission is refused for good", not refused, refused[:3])
    unclear = {status for status in work.submitter.answers.statuses if status.startswith("5") and status != "503"}
    result.require("a database that is away is a 503", not unclear, unclear)


def _begin(stage: Stage, result: Result, *, pace: float) -> tuple[Work, Watch]:
    grader = {"latency_ms": LATENCY_MS}
    work = Work(stage.system, result.name, stage.sizes.outage, grader=grader, batch=BATCH, pace=pace)
    work.submitter.start()
    return work, Watch(stage.system.database)


def _until_scored(work: Work, watch: Watch, count: float, patience_s: float = 120) -> None:
    end = time.monotonic() + patience_s
    while work.final < min(count, work.total) and time.monotonic() < end:
        work.breathe(watch=watch)


def _for(work: Work, watch: Watch, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        work.breathe(watch=watch)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)
