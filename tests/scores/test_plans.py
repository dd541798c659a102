"""Saving, claiming and the sweep keep their plans whatever PostgreSQL's statistics say (bench/plans.py takes all of them)."""

import pytest
from django.db import connection

from bench.plan_capture import Capture
from bench.plan_states import Filler
from scores import claims, sweep
from scores.materials import Facts
from scores.models import WorkflowRun
from tests.factories import CompletionFactory, OrganizationFactory, RunFactory, TaskFactory, UserFactory
from tests.results import judged, save

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]
HISTORY = 12_000
GROUP = 64


class World:
    """What the bench's filler needs: one organization's task with two graders."""

    def __init__(self):
        self.organization, self.user = OrganizationFactory(), UserFactory()
        self.task = TaskFactory(organization=self.organization)
        self.grader = self.other = self.task.version.members.get().grader
        self.filler = Filler(self)


@pytest.fixture
def world():
    return World()


@pytest.fixture
def taken():
    """`taken(work)`: the plans of what `work` executes."""

    def take(work):
        capture = Capture(state="stale", path="test")
        with connection.execute_wrapper(capture):
            work()
        assert capture.plans
        return capture.plans

    return take


def analyze():
    with connection.cursor() as cursor:
        cursor.execute("analyze")


def history(world):
    """Runs that have ended, and statistics of that moment: nothing is queued."""
    numbers = world.filler._completions(HISTORY)
    done = {"status": "'completed'", "completed_at": "now()", "panel_size": "1", "attempt": "1"}
    world.filler._runs(numbers, "a", world.grader, done)
    analyze()


def queue(world, count, **fields):
    return [RunFactory(completion=CompletionFactory(task=world.task), **fields) for _ in range(count)]


def faults(plans):
    grown = {"scores_workflowrun", "tasks_completion"}
    return [
        (plan.mode, node.name, node.looked_at, plan.statement[:80])
        for plan in plans
        for node in plan.nodes
        if (node.kind == "Seq Scan" and node.table in grown) or node.looked_at > 2 * GROUP
    ]


def test_c23_a_save_after_an_analyze_of_an_idle_queue_looks_up_its_own_runs_alone(world, taken):
    history(world)
    queue(world, GROUP)

    def work():
        held = claims.take(world.grader.pk, limit=GROUP)
        save(world.grader, [judged(run, version_id=world.task.version_id) for run in held])

    assert faults(taken(work)) == []
    assert WorkflowRun.objects.filter(status="pending").count() == 0


def test_statistics_of_a_full_queue_change_nothing(world, taken):
    history(world)
    waiting = world.filler._completions(HISTORY)
    world.filler._runs(waiting, "a", world.grader, {"status": "'pending'", "panel_size": "1"})
    analyze()
    plans = taken(lambda: claims.renew(claims.take(world.grader.pk, limit=GROUP)))
    assert faults(plans) == []


def test_leases_and_pauses_look_up_their_own_runs_alone(world, taken):
    history(world)
    queue(world, GROUP)

    def work():
        held = claims.take(world.grader.pk, limit=GROUP)
        claims.renew(held)
        claims.give_back(held)

    assert faults(taken(work)) == []


def test_the_sweep_finds_what_is_overdue_and_what_is_due_by_indexes(world, taken):
    numbers = world.filler._completions(HISTORY)
    world.filler._runs(numbers, "a", world.grader, {"status": "'completed'", "panel_size": "1"}, "n % 2 = 0")
    world.filler._runs(numbers, "a", world.other, {"status": "'pending'", "panel_size": "1"}, "n % 2 = 1")
    analyze()

    def work():
        sweep._end_overdue(Facts())
        sweep._end_gone()
        sweep.due_graders()

    assert faults(taken(work)) == []


def test_the_driver_prepares_nothing_so_no_plan_is_generic(world):
    with connection.cursor() as cursor:
        for _ in range(12):
            cursor.execute("select count(*) from scores_workflowrun where status = %s", ["pending"])
        cursor.execute("select count(*) from pg_prepared_statements")
        assert cursor.fetchone()[0] == 0
