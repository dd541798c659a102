"""Events to a receiver that fails and hangs, while workers are killed and Redis is flushed."""

import json
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from autotune.core import ids

from ..api import Api, control
from ..checker import Findings, public, value_of
from ..database import AWAY, as_uuid
from ..killer import Killer
from ..report import Result
from ..stage import Stage
from ..work import Work

FLUSHES = 3
KILL_EVERY_S = 2.5
ERRORS = "cannot judge some"
BY_THEMSELVES = 2  # tries whose waits are waited for; later ones are moved forward, as hours would
SQUEEZE_S = 1.0


@dataclass(frozen=True)
class Delivered:
    """One line of the receiver's journal."""

    event: str
    kind: str
    completion: str
    data: dict
    status: int


def webhooks(stage: Stage, result: Result) -> None:
    """Every event is delivered at least once under one stable id, and there is none of what did not happen."""
    system, total = stage.system, stage.sizes.events
    if "receiver" not in system.keeper.pids:
        system.program("receiver", "receiver", system.receiver_port)
    hook = _subscribe(stage)
    work = Work(system, result.name, total, grader={"mode": ERRORS, "latency_ms": 100}, max_batch=10)
    killer = Killer(system, work, stage.sizes.event_kills, stage.seed, by_time_s=KILL_EVERY_S)
    faults = _faults(stage, work, killer)
    work.submitter.start()
    work.until_done(faults, patience_s=stage.patience_s)
    seconds = _until_delivered(stage, work, faults, hook)
    findings = work.check(codes=("grader_error",))
    journal = _read(system.journals["receiver"])
    result.take(findings)
    _compare(stage, result, work, journal, findings)
    result.figures |= {"kills": dict(killer.done), "deliveredAfterS": round(seconds, 1)}
    Api(system.url, system.key).need(204, "DELETE", f"/webhooks/{hook}")


def _subscribe(stage: Stage) -> str:
    system = stage.system
    body = {"url": f"http://127.0.0.1:{system.receiver_port}/hook", "events": ["score.completed", "score.failed"]}
    subscription = Api(system.url, system.key).need(201, "POST", "/webhooks", body)
    control(system.receiver_port, "receiver", secret=subscription["secret"])
    return subscription["webhook"]["id"]


def _faults(stage: Stage, work: Work, killer: Killer) -> Callable[[], None]:
    """A step that kills, and flushes Redis three times on the way."""
    flushed = 0

    def step() -> None:
        nonlocal flushed
        killer.step()
        if stage.system.redis and flushed < FLUSHES and work.final >= work.total * (flushed + 1) / (FLUSHES + 1):
            stage.system.redis.flush()
            flushed += 1

    return step


def _until_delivered(stage: Stage, work: Work, faults: Callable[[], None], hook: str) -> float:
    """Until no delivery is pending; kills go on meanwhile. Waits after the second try are cut short in the rows."""
    database, began, squeezed = stage.system.database, time.monotonic(), 0.0
    of_hook = ids.decode("whk", hook)
    while time.monotonic() - began < stage.patience_s:
        work.breathe(faults)
        if time.monotonic() - squeezed < SQUEEZE_S:
            continue
        squeezed = time.monotonic()
        try:
            database.rows_now(
                "update webhooks_delivery set next_at = current_timestamp where webhook_id = %s and status = 'pending'"
                f" and attempt >= {BY_THEMSELVES} and leased_until is null and next_at > current_timestamp",
                of_hook,
            )
            waiting = database.rows_now("select count(*) from webhooks_event where fanned_out_at is null")[0][0]
            waiting += database.rows_now(
                "select count(*) from webhooks_delivery where webhook_id = %s and status = 'pending'", of_hook
            )[0][0]
        except AWAY:
            continue
        if not waiting:
            break
    return time.monotonic() - began


def _read(path: Path) -> list[Delivered]:
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [
        Delivered(entry["request"], entry["kind"], entry["items"][0], entry["data"], entry["status"]) for entry in lines
    ]


def _compare(stage: Stage, result: Result, work: Work, journal: list[Delivered], findings: Findings) -> None:
    """The receiver's journal with the outbox, and both with what became of the completions."""
    rewards = _rewards(stage, work)
    outbox = _outbox(stage, rewards)
    by_completion: dict[str, set[str]] = defaultdict(set)
    taken: set[str] = set()
    wrong, strange, others = 0, 0, _final_anywhere(stage)
    for delivery in journal:
        if delivery.completion not in rewards:
            strange += delivery.completion not in others
            continue
        by_completion[delivery.completion].add(delivery.event)
        taken |= {delivery.event} if delivery.status == 200 else set()
        wrong += not _true(delivery, rewards[delivery.completion])
    ours = {event for of_one in by_completion.values() for event in of_one}
    events = {event for of_one in outbox.values() for event in of_one}
    result.figures |= {
        "events": len(events),
        "tries": len(journal),
        "delivered": len(taken),
        "statuses": {status: sum(delivery.status == status for delivery in journal) for status in (200, 503, 0, 401)},
    }
    result.require(
        "each completion has one event", all(len(of_one) == 1 for of_one in outbox.values()), _uneven(outbox)
    )
    result.require("each event is taken at least once", events <= taken, f"{len(events - taken)} were not")
    result.require("each completion's event has one stable id", all(len(seen) == 1 for seen in by_completion.values()))
    result.require("no event reports what did not happen", not strange and ours <= events, f"{strange} strange ones")
    result.require("events say what is stored", not wrong, f"{wrong} do not")
    result.require("every signature is good", not any(delivery.status == 401 for delivery in journal))
    if not work.total == len(rewards):
        result.require("every completion has its end", False, f"{len(rewards)} of {work.total}")


def _final_anywhere(stage: Stage) -> set[str]:
    """Completions of any task that came to an end: earlier scenarios may have left some."""
    return {public(as_uuid(pk)) for (pk,) in stage.system.database.rows("select completion_id from scores_reward")}


def _rewards(stage: Stage, work: Work) -> dict[str, float | None]:
    """{completion: its reward as anybody can compute it, None for one that the grader could not judge}."""
    database, task = stage.system.database, ids.decode("task", work.task)
    names = {as_uuid(pk): name for pk, name in database.rows(
        "select id, external_id from tasks_completion where task_id = %s", task)}  # fmt: skip
    rows = database.rows("select completion_id, value from scores_reward where task_id = %s", task)
    expected = work.submitter.expected
    return {
        public(as_uuid(pk)): None if value is None else value_of(as_uuid(pk), names, expected) for pk, value in rows
    }


def _outbox(stage: Stage, rewards: dict[str, float | None]) -> dict[str, list[str]]:
    """{completion: its events}."""
    event_ids: dict[str, list[str]] = {completion: [] for completion in rewards}
    for pk, subject in stage.system.database.rows(
        "select id, subject_id from webhooks_event where kind like 'score.%%'"
    ):
        completion = ids.encode("comp", as_uuid(subject)) if subject else ""
        if completion in event_ids:
            event_ids[completion].append(ids.encode("evt", UUID(str(as_uuid(pk)))))
    return event_ids


def _true(delivery: Delivered, reward: float | None) -> bool:
    if reward is None:
        return delivery.kind == "score.failed" and delivery.data["error"]["code"] == "grader_error"
    return delivery.kind == "score.completed" and delivery.data["reward"]["value"] == reward


def _uneven(outbox: dict[str, list[str]]) -> str:
    none = sum(not events for events in outbox.values())
    return f"{none} have none, {sum(len(events) > 1 for events in outbox.values())} have several"
