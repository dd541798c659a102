"""The code whose statements plans.py takes the plans of: what a submission, a drain, the sweep and the other periodic
works execute. Each path is real code on real rows; what it needs is made before its plans are taken.
"""

import json
import threading
import time
from datetime import UTC, datetime, timedelta

PATHS = []
AGES = timedelta(days=400)


def path(function):
    """A path: `function(world, take)` prepares and then does its work inside `with take():`."""
    PATHS.append(function)
    return function


def drain(world, grader):
    """A drain as a worker runs it, which ends when nothing of a path is left: what only waits is for nobody."""
    from scores.models import WorkflowRun
    from scores.engine.drain import Drain, callable_grader

    left = WorkflowRun.objects.filter(grader=grader, status="pending", priority=2)

    def done():
        with world.capture.aside():
            return not left.exists()

    until = time.monotonic() + 60
    Drain(callable_grader(grader.pk), until=until, is_woken=threading.Event().is_set, ending=done).run()


def runs_of(completions, **changes):
    """The runs of completions; changed past the state machine where a time is to be over."""
    from scores.models import WorkflowRun

    runs = WorkflowRun.objects.filter(completion_id__in=completions)
    if changes:
        runs.update(**changes)
    return runs


def client(world):
    from django.test import Client

    return Client(headers={"authorization": f"Bearer {world.key.text}"}), {
        "content_type": "application/json",
        "secure": True,
    }


@path
def estimates(world, take):
    """What a process measures of a grader's queue now and then: it counts at most 250,000 runs that wait."""
    from scores.intake import estimates

    for grader in (world.other, world.single, world.later):
        estimates.milliseconds(grader, {1: 1}, world.organization.pk)
    with take(most=estimates.COUNTED):
        estimates.forget()
        estimates.milliseconds(world.grader, {1: 1}, world.organization.pk)


@path
def submission_by_api(world, take):
    """POST /completions and /completions/batch with an Idempotency-Key, twice."""
    submit_twice(world, world.task, take)


@path
def submission_to_new_task(world, take):
    """The same, to a task that the statistics do not know."""
    submit_twice(world, world.newer, take)


def submit_twice(world, task, take):
    from autotune.core import ids
    from scores.intake import estimates

    api, common = client(world)
    estimates.forget()
    estimates.milliseconds(world.grader, {1: 1}, world.organization.pk)  # else a submission measures now and then
    world.number += 1
    item = {"taskId": ids.encode("task", task.pk), "modelId": "m", "prompt": "What?", "response": "4"}
    items = [{**item, "externalId": f"b-{world.number}-{n}"} for n in range(200)]
    with take():
        for body, route in ((item, "completions"), ({"completions": items, "priority": "high"}, "completions/batch")):
            for _ in range(2):
                headers = {"idempotency-key": f"k{world.number}"}
                answer = api.post(f"/api/v1/{route}", json.dumps(body), headers=headers, **common)
                assert answer.status_code == 202, answer.content


@path
def live_rewards(world, take):
    """POST /rewards: equal work is found, the rest is stored; nobody waits."""
    reward_twice(world, world.task, take)


@path
def live_rewards_of_new_task(world, take):
    """The same, of a task that the statistics do not know."""
    reward_twice(world, world.newer, take)


def reward_twice(world, task, take):
    from autotune.core import ids

    api, common = client(world)
    world.number += 1
    items = [{"prompt": f"{world.number}-{n}", "response": "4"} for n in range(50)]
    body = {"taskId": ids.encode("task", task.pk), "items": items, "deadlineMs": 0}
    with take():
        for _ in range(2):
            answer = api.post("/api/v1/rewards", json.dumps(body), **common)
            assert answer.status_code == 200, answer.content


@path
def score_read(world, take):
    """GET /completions/:id/score and /workflow-runs/:id, of work that waits."""
    from autotune.core import ids

    (completion,) = world.submit(world.task, 1)
    api, common = client(world)
    with take():
        assert api.get(f"/api/v1/completions/{ids.encode('comp', completion)}/score", secure=True).status_code == 200
        (run,) = runs_of([completion])
        assert api.get(f"/api/v1/workflow-runs/{run.public_id}", secure=True).status_code == 200


@path
def waiting_hub(world, take):
    """The look of those who wait for scores."""
    from scores.results.waiting import _final_among

    completions = world.submit(world.task, 200)
    with take():
        _final_among(completions)


@path
def drain_batches(world, take):
    """A drain of a grader that takes batches: claim, load, save."""
    world.submit(world.task, 600)
    with take():
        drain(world, world.grader)


@path
def drain_singles(world, take):
    """A drain of a grader that takes one at a time."""
    world.submit(world.calls, 150)
    with take():
        drain(world, world.single)


@path
def drain_panel(world, take):
    """Two graders of one panel: rewards are settled, and events written."""
    world.submit(world.panel, 150)
    with take():
        drain(world, world.grader)
        drain(world, world.other)


@path
def drain_reviews(world, take):
    """Verdicts that wait for a person; decisions; those that come too late."""
    from autotune.core.clock import database_now
    from scores.reviews import decisions
    from scores.reviews.decisions import ReviewDecision, Reviewer
    from scores.models import Review

    completions = world.submit(world.reviewed, 120)
    with take():
        drain(world, world.other)
        opened = list(Review.objects.filter(completion_id__in=completions).order_by("pk"))
        assert len(opened) == 120, len(opened)
        reviewer = Reviewer(world.user, administers=True)
        decisions.claim(opened[0].pk, reviewer)
        decisions.decide(opened[0].pk, ReviewDecision(True), reviewer)
        decisions.decide(opened[1].pk, ReviewDecision(True, 0.25), reviewer)
        decisions.decide(opened[2].pk, ReviewDecision(False, explanation="no"), reviewer)
        assert decisions.expire(database_now() + AGES)


@path
def drain_failures(world, take):
    """Calls that fail: runs sleep, and at the end fail for good."""
    from scores.models import WorkflowRun

    completions = world.submit(world.task, 300)
    world.stub.fails = True
    try:
        with take():
            drain(world, world.grader)
        WorkflowRun.objects.filter(completion_id__in=completions).exclude(status="failed").update(
            failures=4, status="pending", wake_at=None
        )
        world.release()
        with take():
            drain(world, world.grader)
    finally:
        world.stub.fails = False
        world.release()
    assert not runs_of(completions).filter(status="completed").exists()


@path
def callbacks(world, take):
    """A grader that accepts with 202 and answers later."""
    from scores.callbacks import registry as callbacks

    completions = world.submit(world.slow, 100)
    world.stub.later = True
    try:
        with take():
            drain(world, world.later)
    finally:
        world.stub.later = False
    assert runs_of(completions).filter(waits_for="callback").count() == 100
    with take():
        for token, headers, body in world.stub.answers():
            reply = callbacks.receive(token, headers, body)
            assert reply.status == 200, reply
    assert runs_of(completions).filter(status="completed").count() == 100


@path
def leases(world, take):
    """Claims that are renewed, returned, and left until their grader may be called."""
    from autotune.core.clock import database_now
    from scores.engine import claims

    completions = world.submit(world.task, 600)
    runs_of(completions[:100], purpose="canary", panel_size=0, priority=-1)
    with take():
        claimed = claims.take(world.grader.pk, limit=512, background=10)
        claims.renew(claimed)
        claims.give_back(claimed)
        claims.rest(world.grader.pk, database_now() + timedelta(seconds=2), "circuit_open")


@path
def sweep(world, take):
    """A pass of the sweep that finds some of everything: leases, sleepers, what is overdue, waits, graders that are gone."""
    from django.db import transaction

    from autotune.core.clock import database_now
    from graders.models import Grader
    from scores.engine import claims, sweep
    from scores.engine.materials import TaskFactsCache
    from scores.models import WorkflowRun

    now, future = database_now(), database_now() + AGES
    past = now - timedelta(minutes=1)
    world.submit(world.task, 2_000)
    claimed = [run.run_id for run in claims.take(world.grader.pk, limit=2_000)]
    WorkflowRun.objects.filter(pk__in=claimed).update(leased_until=past)
    runs_of(world.submit(world.panel, 500), status="sleeping", wake_at=past)
    runs_of(world.submit(world.calls, 100), status="sleeping", wake_at=future, waits_for="grader")
    runs_of(world.submit(world.calls, 100), deadline_at=past)
    runs_of(world.submit(world.calls, 100), status="sleeping", wake_at=future, deadline_at=past)
    runs_of(world.submit(world.slow, 100), status="waiting", waits_for="callback", wake_at=past)
    doomed = world.submit(world.doomed, 700)
    Grader.objects.filter(pk=world.gone.pk).update(gone_at=now, status="inactive")
    try:
        with take():
            sweep.sweep(passes=0)
            sweep.sweep(passes=60)
            sweep.due_graders(database_now())
            with transaction.atomic():
                sweep._return_expired(database_now())
    finally:
        Grader.objects.filter(pk=world.gone.pk).update(gone_at=None, status="active")
    assert not runs_of(doomed).exclude(status="failed").exists()
    assert not WorkflowRun.objects.filter(pk__in=claimed, status="running").exists()
    with take():
        sweep._wake_released()
        sweep._end_overdue(TaskFactsCache(), database_now())


@path
def moving(world, take):
    """What /moving and /metrics look at, with leases that ran out."""
    from autotune.core.clock import database_now
    from scores.engine import claims, stalls as moving
    from scores.models import WorkflowRun

    world.submit(world.task, 20)
    claimed = [run.run_id for run in claims.take(world.grader.pk, limit=20)]
    WorkflowRun.objects.filter(pk__in=claimed).update(leased_until=database_now() - timedelta(minutes=1))
    with take():
        moving.read()


@path
def cancelling(world, take):
    """Runs that somebody cancels, and failed ones that start again."""
    from scores.workflow_runs import cancelling, retrying
    from scores.models import WorkflowRun

    runs = runs_of(world.submit(world.panel, 100))
    with take():
        cancelling.cancel_all(list(runs.values_list("pk", flat=True)))
    with take():
        assert retrying.retry_all(WorkflowRun.objects.filter(pk__in=runs.values("pk"))).retried
    drain(world, world.grader)
    drain(world, world.other)


@path
def webhooks(world, take):
    """Events fanned out, deliveries claimed, tried and settled; what is over is cleaned up."""
    from autotune.core.clock import database_now
    from autotune.webhooks import cleaning, endpoints
    from autotune.webhooks.events import fanout
    from autotune.webhooks.delivery.pump import Pump

    world.submit(world.task, 300)
    drain(world, world.grader)
    with take():
        fanout.fan_out(200)
        endpoints.park_remaining()
        Pump().drain(20.0)
    with take():
        cleaning.clean(database_now() - AGES)


@path
def guards(world, take):
    """What workers share about a grader, where the database keeps it; and the throttle of a caller."""
    from django.test import override_settings

    from autotune.core.clock import database_now
    from graders.guards import Guard

    with override_settings(REDIS_URL=""), take():
        guard, now = Guard(world.grader, "bench"), database_now()
        guard.refresh(world.grader, want=4, now=now)
        guard.take(4, now=now)
        guard.close()


@path
def tallies(world, take):
    """Counters that are folded, compacted and read."""
    from autotune.core.clock import database_now
    from graders import cleaning
    from graders.statistics import folding, reports

    world.submit(world.task, 100)
    drain(world, world.grader)
    with take():
        folding.fold()
        reports.report(world.grader, "24h")
        cleaning.clean(database_now() - AGES)


@path
def idempotency(world, take):
    """Stored answers that are kept no longer."""
    from autotune.access import idempotency
    from autotune.core.clock import database_now

    with take():
        idempotency.clean(database_now() - AGES)


@path
def audit(world, take):
    """Events that are sealed, and the look for those that wait too long."""
    from django.db import transaction

    from autotune.access.audit import sealing, trail

    with transaction.atomic():
        for _ in range(300):
            trail.record(action="bench.event", resource="bench", actor="bench", organization=world.organization)
    with take():
        assert sealing.seal().count >= 300
        sealing.warn_of_late(datetime.now(UTC))


@path
def exports(world, take):
    """An export that is claimed, its lease renewed; those whose time is over."""
    from autotune.core.clock import database_now
    from exports.models import Export
    from exports.work import claims, ending

    Export.objects.create(organization=world.organization, created_by=world.user, query={})
    with take():
        export = claims.take()
        assert claims.renew(export)
        claims.give_back(export)
        ending.expire(database_now())
    Export.objects.filter(pk=export.pk).delete()


@path
def cleaning(world, take):
    """Old callbacks."""
    from autotune.core.clock import database_now
    from scores.callbacks import cleaning

    with take():
        cleaning.clean(database_now() - AGES)


class Stub:
    """A grader on loopback that answers at once, fails or accepts for later, as configured."""

    def __init__(self):
        from tests.support.fakes import FakeGrader

        self.fake = FakeGrader(judge=lambda completion: 0.75)
        self.fake.answer, self._answer = self._configured_answer, self.fake.answer
        self.fails = self.later = False

    def _configured_answer(self, handler, where, body):
        if "/score" not in where and where != "/health":
            return 200, {}, False  # a webhook
        if self.fails and where != "/health":
            return 503, {"error": "injected"}, True
        self.fake.answers_later = self.later
        return self._answer(handler, where, body)

    def answers(self):
        """(token, headers, body) of the callbacks that are still owed."""
        from graders.gateway.signing import sign
        from tests.factories import SECRET

        owed, self.fake.accepted = self.fake.accepted, []
        for body in owed:
            answer = json.dumps(self.fake.judged(body)).encode()
            now = str(int(time.time()))
            yield (
                body["callbackUrl"].rpartition("/")[2],
                [
                    ("X-Autotune-Timestamp", now),
                    ("X-Autotune-Request-Id", body["requestId"]),
                    ("X-Autotune-Signature", sign(SECRET, now, body["requestId"], answer)),
                ],
                answer,
            )
