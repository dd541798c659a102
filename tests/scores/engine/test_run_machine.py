"""The run's state machine, driven at random against a model of a few lines: claims, saves, expiries, callbacks, cancels.

Whatever the order, a run has one score at most, the first valid answer's, and a reward exactly when it has ended.
"""

from dataclasses import dataclass
from datetime import timedelta

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from autotune.core.clock import database_now
from autotune.core.errors import Conflict
from graders import pauses
from scores.engine import claims, recording, sweep
from scores.engine.call_results import CallResults, PostponedRun
from scores.engine.materials import TaskFactsCache
from scores.models import Reward, Score, WorkflowRun
from scores.workflow_runs import cancelling, retrying
from tests.factories import CompletionFactory, RunFactory, TaskFactory
from tests.support.results import judged, missed

RUNS = 2  # few, so that events meet
FINAL = ("completed", "failed")
AWAY = timedelta(hours=1)


@dataclass
class Expected:
    """What the model knows of one run."""

    status: str = "pending"
    attempt: int = 0
    value: float | None = None

    def takes_an_answer(self):
        return self.status not in FINAL

    def is_held_by(self, attempt, *, also_waiting=False):
        return self.attempt == attempt and (self.status == "running" or (also_waiting and self.status == "waiting"))


class RunMachine(RuleBasedStateMachine):
    """`held` are all leases ever given: an answer may come under any of them, however old."""

    def __init__(self):
        super().__init__()
        self.transaction = transaction.atomic()
        self.transaction.__enter__()
        task = TaskFactory()
        self.grader = task.version.members.get().grader
        # What rests for it does not wake early.
        pauses.pause(self.grader.pk, database_now() + AWAY, pauses.RATE_LIMITED)
        self.version_id = task.version_id
        runs = [RunFactory(completion=CompletionFactory(task=task)) for _ in range(RUNS)]
        self.expected = {run.pk: Expected() for run in runs}
        self.held = []
        self.facts = TaskFactsCache()

    def teardown(self):
        transaction.set_rollback(True)
        self.transaction.__exit__(None, None, None)

    def save(self, **results):
        recording.save(self.grader.pk, self.grader.version_id, CallResults(**results), self.facts)

    def lease(self, data):
        unfinished = [candidate for candidate in self.held if self.expected[candidate.run_id].takes_an_answer()]
        claimed = data.draw(st.sampled_from(unfinished * 3 + self.held))
        return claimed, self.expected[claimed.run_id]

    def any_run(self, data):
        run_id = data.draw(st.sampled_from(sorted(self.expected)))
        return run_id, self.expected[run_id]

    @rule(limit=st.integers(1, RUNS))
    def claim(self, limit):
        due = [run_id for run_id in sorted(self.expected) if self.expected[run_id].status == "pending"][:limit]
        taken = claims.take(self.grader.pk, limit=limit)
        assert [claimed.run_id for claimed in taken] == due
        for claimed in taken:
            state = self.expected[claimed.run_id]
            state.status, state.attempt = "running", state.attempt + 1
            assert claimed.attempt == state.attempt
        self.held += taken

    @precondition(lambda self: self.held)
    @rule(data=st.data(), value=st.floats(0, 1), by_callback=st.booleans())
    def answer(self, data, value, by_callback):
        claimed, state = self.lease(data)
        verdict = judged(claimed, value, version_id=self.version_id)
        if by_callback:
            moved = recording.save_callback(self.grader.pk, self.grader.version_id, [verdict], [], self.facts)
            assert moved == ({claimed.run_id} if state.takes_an_answer() else set())
        else:
            self.save(judged=[verdict])
        if state.takes_an_answer():
            state.status, state.value = "completed", value

    @precondition(lambda self: self.held)
    @rule(data=st.data(), value=st.floats(0, 1))
    def two_answers_in_one_group(self, data, value):
        claimed, state = self.lease(data)
        other, other_state = self.lease(data)
        self.save(judged=[judged(claimed, value, version_id=self.version_id)], missed=[missed(other)])
        if state.takes_an_answer():
            state.status, state.value = "completed", value
        if other_state.is_held_by(other.attempt, also_waiting=True):
            other_state.status = "failed"

    @precondition(lambda self: self.held)
    @rule(data=st.data(), final=st.booleans())
    def failure(self, data, final):
        claimed, state = self.lease(data)
        self.save(missed=[missed(claimed, wake_at=None if final else database_now() + AWAY)])
        if state.is_held_by(claimed.attempt, also_waiting=final):
            state.status = "failed" if final else "sleeping"

    @precondition(lambda self: self.held)
    @rule(data=st.data(), accepted=st.booleans())
    def leave(self, data, accepted):
        """The grader has accepted it with 202, or is held."""
        claimed, state = self.lease(data)
        waits_for, reason = ("callback", "accepted") if accepted else ("grader", pauses.RATE_LIMITED)
        left = [PostponedRun(claimed, waits_for, database_now() + AWAY, reason)]
        self.save(accepted=left if accepted else [], resting=[] if accepted else left)
        if state.is_held_by(claimed.attempt):
            state.status = "waiting" if accepted else "sleeping"

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def give_back(self, data):
        claimed, state = self.lease(data)
        claims.give_back([claimed])
        if state.is_held_by(claimed.attempt):
            state.status = "pending"

    @rule()
    def the_head_rests(self):
        claims.rest(self.grader.pk, database_now() + AWAY, pauses.RATE_LIMITED, limit=2)
        due = [run_id for run_id in sorted(self.expected) if self.expected[run_id].status == "pending"]
        for run_id in due[:2]:
            self.expected[run_id].status = "sleeping"

    @rule()
    def leases_run_out(self):
        WorkflowRun.objects.filter(status="running").update(leased_until=database_now() - AWAY)
        sweep.sweep(passes=1)
        self.all_of("running", become="pending")

    @rule()
    def another_worker_takes_over(self):
        """The lease of one that hangs runs out, and it wakes up later: two attempts at a run are under way."""
        self.leases_run_out()
        self.claim(RUNS)

    @rule()
    def sleepers_wake(self):
        WorkflowRun.objects.filter(status="sleeping").update(wake_at=database_now() - AWAY)
        sweep.sweep(passes=1)
        self.all_of("sleeping", become="pending")

    @rule()
    def callbacks_are_too_late(self):
        WorkflowRun.objects.filter(status="waiting").update(wake_at=database_now() - AWAY)
        sweep.sweep(passes=0)
        self.all_of("waiting", become="failed")

    @rule(data=st.data())
    def cancel(self, data):
        run_id, state = self.any_run(data)
        if state.status in FINAL:
            with pytest.raises(Conflict):
                cancelling.cancel(run_id)
        else:
            cancelling.cancel(run_id)
            state.status = "failed"

    @rule(data=st.data())
    def retry(self, data):
        run_id, state = self.any_run(data)
        if state.status == "failed":
            retrying.retry(run_id)
            state.status = "pending"
        else:
            with pytest.raises(Conflict):
                retrying.retry(run_id)

    def all_of(self, status, *, become):
        for state in self.expected.values():
            if state.status == status:
                state.status = become

    @invariant()
    def the_rows_are_as_the_model_says(self):
        rows = {run.pk: run for run in WorkflowRun.objects.all()}
        assert {pk: (run.status, run.attempt) for pk, run in rows.items()} == {
            pk: (state.status, state.attempt) for pk, state in self.expected.items()
        }
        for run in rows.values():
            assert (run.leased_until is not None) == (run.status == "running")
            assert (run.wake_at is not None) == (run.status in ("sleeping", "waiting"))
            assert (run.waits_for == "callback") == (run.status == "waiting")
            assert (run.completed_at is not None) == (run.status in FINAL)

    @invariant()
    def every_completed_run_has_the_score_of_its_first_answer(self):
        scored = {pk: state.value for pk, state in self.expected.items() if state.status == "completed"}
        assert dict(Score.objects.values_list("run_id", "value")) == scored

    @invariant()
    def every_ended_run_has_a_reward_and_no_other_does(self):
        completions = dict(WorkflowRun.objects.values_list("pk", "completion_id"))
        ended = {completions[pk]: state.value for pk, state in self.expected.items() if state.status in FINAL}
        assert dict(Reward.objects.values_list("completion_id", "value")) == ended


@pytest.mark.timeout(500)  # 3,000 steps beside other processes; a time-out leaves its transaction to the tests after it
def test_no_order_of_events_loses_or_doubles_a_score(db):
    run_state_machine_as_test(
        RunMachine,
        settings=settings(
            max_examples=100,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],  # shrinking a failure would take minutes here
        ),
    )
