"""PostgreSQL is away, restarts under idle connections, or is read-only: Autotune refuses fast and recovers fast."""

import http.client
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..api import Api
from ..report import Result
from ..servers import Postgres
from ..stage import Stage
from ..system import System
from ..watch import Watch
from ..work import Work

REFUSED_S = 2.0  # a refusal while the database is away
HEALTH_S = 0.5  # `/health`, whatever the database does
BACK_S = 2.0  # from the return of the database to the first success
SCORES_S = 2.0  # and to the next score, if leases taken before the outage expired during it
LEASE_S = 15.0  # runs in work when the database left are due again when their lease expires
CROWD = 140  # requests at once: more than there are threads
EVERY_S = 0.1
IDLE_S = 3.0  # after a restart, so that every connection of the pools counts as idle
PARALLEL = 20
POSTS = 30
LATENCY_MS = 100
UNTIL_RESUMED_S = 60.0
LOG_LINES = 40  # of all processes together, at an outage's beginning and end, and in each minute of it
RECORD = re.compile(rb"^\d{4}-\d\d-\d\d [\d:,]+ (?:WARNING|ERROR|CRITICAL) ", re.MULTILINE)
WEBHOOK = {"url": "https://hooks.example.org/faults", "events": ["score.completed"]}


@dataclass
class Visits:
    """Repeated requests of one path, each on its own connection: start, seconds and status of each."""

    system: System
    method: str
    path: str
    body: dict | None = None
    tries: list[tuple[float, float, int]] = field(default_factory=list)

    def once(self) -> int:
        """The status; 0 without an answer."""
        began = time.monotonic()
        try:
            status = Api(self.system.url, self.system.key, timeout_s=60).call(self.method, self.path, self.body)[0]
        except (OSError, http.client.HTTPException):
            status = 0
        self.tries.append((began, time.monotonic() - began, status))
        return status

    def between(self, start: float, end: float) -> list[tuple[float, int]]:
        """(seconds, status) of those that began in that time."""
        return [(seconds, status) for began, seconds, status in self.tries if start <= began < end]

    def first(self, status: int, after: float) -> float | None:
        """Seconds from a moment until the first answer with this status."""
        return next(
            (
                began + seconds - after
                for began, seconds, answer_status in self.tries
                if began + seconds > after and answer_status == status
            ),
            None,
        )


def outage(stage: Stage, result: Result) -> None:
    """Stop PostgreSQL once for each length: requests are refused within 2 s, `/health` answers, service is back within 2 s."""
    system = stage.system
    server = system.postgres
    assert isinstance(server, Postgres)
    slack = stage.sizes.slack
    for away_s in stage.sizes.outages_s:
        name = f"{away_s:g}s"
        work = Work(
            system, f"outage {name}", stage.sizes.outage // 5, grader={"latency_ms": LATENCY_MS}, batch=20, pace=60
        )
        work.submitter.patience_s += away_s
        watch = Watch(system.database)
        work.submitter.start()
        _until(lambda: work.final > work.total * 0.1, work, watch)
        lines = _log_lines(system)
        posts, health = _writes(work), Visits(system, "GET", "/health")
        with _repeating(posts), _repeating(health):
            server.end()
            gone = time.monotonic()
            crowds = Visits(system, "GET", "/graders")
            _crowd(crowds)
            _until(lambda: time.monotonic() - gone > max(away_s / 2, away_s - 30), work, watch)
            _crowd(crowds)
            _until(lambda: time.monotonic() - gone > away_s, work, watch)
            starting = time.monotonic()
            server.start()
            back = time.monotonic()
            posts_back, scores_back = _resumed(work, watch, posts, starting, back)
        refusals = crowds.between(gone, starting) + posts.between(gone, starting)
        health_checks = health.between(gone, back)
        wrong = Counter(status for _, status in refusals if status != 503)
        logged = _log_lines(system) - lines
        slowest, slowest_health = max(s for s, _ in refusals), max(s for s, _ in health_checks)
        result.figures |= {
            f"{name}Refusals": len(refusals),
            f"{name}SlowestRefusalS": round(slowest, 2),
            f"{name}SlowestHealthS": round(slowest_health, 3),
            f"{name}BackS": round(posts_back, 2),
            f"{name}ScoresBackS": round(scores_back, 2),
            f"{name}LogLines": logged,
        }
        result.require(f"{name}: everything is a 503 while it is away", not wrong, dict(wrong))
        result.require(f"{name}: refused within {REFUSED_S * slack:g} s", slowest <= REFUSED_S * slack, slowest)
        result.require(f"{name}: /health answers", {status for _, status in health_checks} == {200})
        result.require(f"{name}: within {HEALTH_S * slack:g} s", slowest_health <= HEALTH_S * slack, slowest_health)
        result.require(f"{name}: served within {BACK_S * slack:g} s", posts_back <= BACK_S * slack, posts_back)
        scores_s = SCORES_S * slack + (LEASE_S if away_s < LEASE_S else 0)
        result.require(f"{name}: scores within {scores_s:g} s", scores_back <= scores_s, scores_back)
        result.require(f"{name}: few lines in the logs", logged <= LOG_LINES * (1 + away_s / 60), logged)
        work.until_done(watch=watch, patience_s=stage.patience_s)
        _take(result, work)


def idle(stage: Stage, result: Result) -> None:
    """Restart PostgreSQL while every connection is idle: no request is refused afterwards."""
    system = stage.system
    server = system.postgres
    assert isinstance(server, Postgres)
    reads = Visits(system, "GET", "/graders")
    _crowd(reads, PARALLEL)
    server.restart(signal.SIGINT)
    time.sleep(IDLE_S)
    posts = Visits(system, "POST", "/webhooks", WEBHOOK)
    for _ in range(POSTS):
        posts.once()
    statuses = Counter(status for *_, status in posts.tries)
    result.figures |= {"posts": POSTS, "statuses": {str(status): count for status, count in statuses.items()}}
    result.require("every POST after a restart succeeds", set(statuses) == {201}, dict(statuses))


def read_only(stage: Stage, result: Result) -> None:
    """Fail over to a server that takes no writes yet, with and without cutting connections; its return cuts none."""
    system = stage.system
    server = system.postgres
    assert isinstance(server, Postgres)
    slack = stage.sizes.slack
    work = Work(system, result.name, stage.sizes.outage // 5, grader={"latency_ms": LATENCY_MS}, batch=20, pace=60)
    watch = Watch(system.database)
    work.submitter.start()
    for name, cuts in (("cut", True), ("uncut", False)):
        _until(lambda: work.final >= work.counts().get("completed", 0) > 0, work, watch)
        posts, reads = _writes(work), Visits(system, "GET", "/webhooks")
        with _repeating(posts), _repeating(reads):
            server.refuse_writes(cuts=cuts)
            began = time.monotonic()
            ready = Visits(system, "GET", "/ready")
            if cuts:
                _until(lambda: time.monotonic() - began > BACK_S * slack, work, watch)
                ready.once()
            _until(lambda: time.monotonic() - began > stage.sizes.read_only_s, work, watch)
            returning = time.monotonic()
            server.take_writes()
            back = time.monotonic()
            posts_back, scores_back = _resumed(work, watch, posts, returning, back)
            result.require(f"{name}: /ready is 200 again", ready.once() == 200)
        answers = Counter(s for *_, s in posts.tries) + Counter(s for *_, s in reads.tries)
        refused = sum(status == 503 for *_, status in posts.tries)
        result.figures |= {f"{name}Refused": refused, f"{name}BackS": round(posts_back, 2), f"{name}ScoresBackS": round(scores_back, 2)}  # fmt: skip
        result.require(f"{name}: nothing but 200 and 503", set(answers) <= {200, 503}, dict(answers))
        result.require(f"{name}: served within {BACK_S * slack:g} s", posts_back <= BACK_S * slack, posts_back)
        if cuts:
            result.require("writes are refused while it is read-only", refused > 0)
            result.require("/ready says so", ready.tries[0][2] == 503, ready.tries[0][2])
    work.until_done(watch=watch, patience_s=stage.patience_s)
    _take(result, work)


def _writes(work: Work) -> Visits:
    """A write that can repeat without limit; the number of most objects of an organization is limited."""
    return Visits(work.system, "PATCH", f"/tasks/{work.task}", {"metadata": {"written": "again"}})


def _take(result: Result, work: Work) -> None:
    """Add the checker's figures to those of earlier work."""
    before = {name: result.figures.get(name, 0) for name in ("submitted", "completions", "scores", "calls", "attempts")}
    before |= {name: result.figures.get(name, 0) for name in ("failedRuns", "lost", "doubled", "wrong")}
    result.take(work.check())
    for name, value in before.items():
        result.figures[name] += value
    refused = work.submitter.answers.refused
    result.require("no submission is refused for good", not refused, refused[:3])


def _resumed(work: Work, watch: Watch, posts: Visits, returning: float, back: float) -> tuple[float, float]:
    """(seconds to the first accepted write, seconds to the next score), from the moment the database answers."""
    end = time.monotonic() + UNTIL_RESUMED_S
    work.breathe(watch=watch)
    seen = watch.progress[-1][0]  # includes scores from before the outage that were not seen yet
    while time.monotonic() < end:
        scores_are_back = work.done or watch.resumed_after(seen) is not None
        if scores_are_back and posts.first(200, returning) is not None:
            break
        work.breathe(watch=watch)
    accepted, scored = posts.first(200, returning), watch.resumed_after(seen)
    return (
        UNTIL_RESUMED_S if accepted is None else max(0.0, returning + accepted - back),
        (0.0 if work.done else UNTIL_RESUMED_S) if scored is None else scored + seen - back,
    )


def _crowd(visits: Visits, count: int = CROWD) -> None:
    threads = [threading.Thread(target=visits.once, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)


@contextmanager
def _repeating(visits: Visits) -> Iterator[None]:
    """Visit ten times a second within the block."""
    ending = threading.Event()

    def run() -> None:
        while not ending.wait(EVERY_S):
            visits.once()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join(60)


def _until(holds: Callable[[], bool], work: Work, watch: Watch, patience_s: float = 1_800) -> None:
    end = time.monotonic() + patience_s
    while not holds() and time.monotonic() < end:
        work.breathe(watch=watch)


def _log_lines(system: System) -> int:
    """Warnings and errors in the logs of the server's own processes, each counted once however long its traceback is."""
    names = [name for kind in ("web", "worker", "beat") for name in system.names(kind)]
    return sum(len(RECORD.findall(system.keeper.log_of(name).read_bytes())) for name in names)
