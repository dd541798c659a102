"""Asynchronous graders: callbacks three times at once, before the 202, forged, late; after days and a new secret."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable

from autotune.core import ids

from ..callbacks import is_late
from ..checker import public
from ..database import as_uuid
from ..killer import Killer
from ..report import Result
from ..stage import Stage
from ..work import Work

LIMITS = {"maxConcurrency": 32}
UNHEARD = {0, 502, 503}  # the web process was killed at that moment
EXPIRED = "callback_expired"
DAYS = 3
HELD_BACK = 20


def asynchronous(stage: Stage, result: Result) -> None:
    """Each run is scored once; repeats are 409, forged ones 401, late ones 410."""
    work = Work(stage.system, result.name, stage.sizes.asynchronous, grader={"mode": "async"}, limits=LIMITS,
                max_batch=1, supports_async=True)  # fmt: skip
    killer = Killer(stage.system, work, stage.sizes.async_kills, stage.seed, by_time_s=stage.sizes.async_kill_every_s)
    work.submitter.start()
    _until(stage, work, killer.step, lambda: _all_but_late(work))
    _let_deadlines_pass(stage, work)
    work.until_done(killer.step, patience_s=60)
    work.control(deadlines_passed=True)
    _until(stage, work, lambda: None, lambda: work.control()["idle"])
    result.take(work.check(codes=(EXPIRED,)))
    result.figures["kills"] = dict(killer.done)
    _judge_replies(stage, result, work)


def batches(stage: Stage, result: Result) -> None:
    """The same for a grader that takes batches, of which each is called back as one."""
    work = Work(stage.system, result.name, stage.sizes.asynchronous // 3, grader={"mode": "async"}, limits=LIMITS,
                max_batch=10, supports_async=True)  # fmt: skip
    work.control(none_late=True)
    work.submitter.start()
    work.until_done(patience_s=stage.patience_s)
    _until(stage, work, lambda: None, lambda: work.control()["idle"])
    result.take(work.check())


def after_days(stage: Stage, result: Result) -> None:
    """Three days pass and the secret is rotated before the results come: each is recorded once."""
    work = Work(stage.system, result.name, HELD_BACK, grader={"mode": "async", "hold": True, "none_late": True},
                max_batch=1, supports_async=True)  # fmt: skip
    work.submitter.start()
    _until(stage, work, lambda: None, lambda: work.counts().get("waiting", 0) == HELD_BACK)
    result.require("all wait for their callback", work.counts().get("waiting", 0) == HELD_BACK, work.counts())
    _let_days_pass(stage, work)
    rotation = work.api.need(200, "POST", f"/graders/{work.grader_id}/rotate-secret", {"force": True, "graceHours": 0})
    work.control(secret=rotation["credentials"]["sharedSecret"])
    work.control(forget=True, hold=False)
    work.until_done(patience_s=60)
    _until(stage, work, lambda: None, lambda: work.control()["idle"])
    result.take(work.check())
    result.figures["simulatedDays"] = DAYS
    _judge_replies(stage, result, work)


def _until(stage: Stage, work: Work, step: Callable[[], None], condition: Callable[[], bool]) -> None:
    """Breathe until a condition holds, or patience ends."""
    end = time.monotonic() + stage.patience_s
    while not condition() and time.monotonic() < end:
        work.breathe(step)


def _all_but_late(work: Work) -> bool:
    """Whether nothing is left but runs that wait for a callback which will come too late."""
    counts = work.counts()
    waiting = counts.get("waiting", 0)
    if not work.submitter.done or work.final + waiting < work.total:
        return False
    rows = work.system.database.rows(
        "select completion_id from scores_workflowrun where task_id = %s and status = 'waiting'",
        ids.decode("task", work.task),
    )
    return all(is_late(public(as_uuid(completion))) for (completion,) in rows)


def _let_deadlines_pass(stage: Stage, work: Work) -> None:
    """What waits now has waited too long."""
    database, task = stage.system.database, ids.decode("task", work.task)
    waiting = "select id from scores_workflowrun where task_id = %s and status = 'waiting'"
    past = database.moment("current_timestamp", -60)
    database.rows(
        f"update scores_callback set expires_at = {past} where id in"
        f" (select callback_id from scores_callbackitem where run_id in ({waiting}))",
        task,
    )
    database.rows(f"update scores_workflowrun set wake_at = {past} where task_id = %s and status = 'waiting'", task)


def _let_days_pass(stage: Stage, work: Work) -> None:
    """Every time in the rows of these runs moves three days back."""
    database, task = stage.system.database, ids.decode("task", work.task)
    runs = "select id from scores_workflowrun where task_id = %s"
    for table, columns, where in (
        ("scores_callback", ("created_at", "expires_at"),
         f"id in (select callback_id from scores_callbackitem where run_id in ({runs}))"),
        ("scores_workflowrun", ("created_at", "started_at", "deadline_at", "wake_at"), "task_id = %s"),
    ):  # fmt: skip
        changes = ", ".join(f"{column} = {database.moment(column, -DAYS * 86_400)}" for column in columns)
        database.rows(f"update {table} set {changes} where {where}", task)


def _judge_replies(stage: Stage, result: Result, work: Work) -> None:
    """What the callbacks were answered."""
    by_kind: dict[str, Counter[str]] = defaultdict(Counter)
    recorded: Counter[str] = Counter()
    for callback in work.book().callbacks:
        by_kind[callback["kind"]][f"{callback['status']} {callback['code']}"] += 1
        if callback["status"] == 200:
            recorded.update(callback["items"])
    result.figures["replies"] = {kind: dict(replies) for kind, replies in by_kind.items()}
    twice = [item for item, count in recorded.items() if count > 1]
    result.require("a callback is recorded once", not twice, f"{len(twice)} were recorded twice")
    for kind, right in (("good", {200, 409}), ("forged", {401}), ("late", {410})):
        others = [reply for reply in by_kind[kind] if int(reply.split()[0]) not in right | UNHEARD]
        result.require(f"{kind} callbacks are answered {sorted(right)}", not others, others)
