"""Plans of saves, claims and the sweep do not depend on PostgreSQL's statistics (bench/plans.py captures them all)."""

import pytest
from django.db import connection

from autotune.core import ids
from autotune.core.clock import database_now
from bench.plan_capture import Capture
from bench.plan_states import Filler, id_of, quoted
from scores.engine import claims, sweep
from scores.engine.materials import TaskFactsCache
from scores.engine.statements import copies as statements
from scores.models import Reward, Score, WorkflowRun
from tests.factories import CompletionFactory, OrganizationFactory, RunFactory, ScoreFactory, TaskFactory, UserFactory
from tests.support.results import judged, save

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]
HISTORY = 12_000
GROUP = 64


class World:
    """The data that the bench's filler needs: a task of one organization, and its graders."""

    def __init__(self):
        self.organization, self.user = OrganizationFactory(), UserFactory()
        self.task = TaskFactory(organization=self.organization)
        self.grader = self.other = self.task.version.members.get().grader
        self.filler = Filler(self)


@pytest.fixture
def world():
    return World()


@pytest.fixture
def plans_of():
    """`plans_of(work)`: the plans of the statements that `work` executes."""

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
    """Add ended runs and analyze, so that the statistics show an empty queue."""
    numbers = world.filler._completions(HISTORY)
    done = {"status": "'completed'", "completed_at": "now()", "panel_size": "1", "attempt": "1"}
    world.filler._runs(numbers, "a", world.grader, done)
    analyze()


def queue(world, count, **fields):
    return [RunFactory(completion=CompletionFactory(task=world.task), **fields) for _ in range(count)]


def faults(plans):
    grown = {"scores_workflowrun", "scores_score", "scores_reward", "tasks_completion"}
    return [
        (plan.mode, node.name, node.looked_at, plan.statement[:80])
        for plan in plans
        for node in plan.nodes
        if (node.kind == "Seq Scan" and node.table in grown) or node.looked_at > 2 * GROUP
    ]


def test_c23_a_save_after_an_analyze_of_an_idle_queue_reads_only_its_own_runs(world, plans_of):
    history(world)
    queue(world, GROUP)

    def work():
        held = claims.take(world.grader.pk, limit=GROUP)
        save(world.grader, [judged(run, version_id=world.task.version_id) for run in held])

    assert faults(plans_of(work)) == []
    assert WorkflowRun.objects.filter(status="pending").count() == 0


def test_statistics_of_a_full_queue_do_not_change_the_plans(world, plans_of):
    history(world)
    waiting = world.filler._completions(HISTORY)
    world.filler._runs(waiting, "a", world.grader, {"status": "'pending'", "panel_size": "1"})
    analyze()
    plans = plans_of(lambda: claims.renew(claims.take(world.grader.pk, limit=GROUP)))
    assert faults(plans) == []


BACKGROUND = {"status": "'pending'", "panel_size": "0", "purpose": "'canary'", "priority": "-1"}


@pytest.mark.parametrize("are_done", [False, True])
def test_many_background_runs_do_not_change_the_plans_of_a_claim(world, plans_of, are_done):
    """Also if they were due when the statistics were taken, and are done by now."""
    history(world)
    world.filler._runs(world.filler._completions(HISTORY), "a", world.grader, BACKGROUND)
    analyze()
    if are_done:
        WorkflowRun.objects.filter(priority=-1).update(status="completed")
    queue(world, GROUP)
    plans = plans_of(lambda: [claims.take(world.grader.pk, limit=GROUP // 2, background=3) for _ in range(3)])
    assert faults(plans) == []
    assert WorkflowRun.objects.filter(status="running", priority__gte=0).count() == GROUP


def test_leases_and_pauses_read_only_their_own_runs(world, plans_of):
    history(world)
    queue(world, GROUP)

    def work():
        held = claims.take(world.grader.pk, limit=GROUP)
        claims.renew(held)
        claims.give_back(held)

    assert faults(plans_of(work)) == []


def test_the_sweep_finds_overdue_and_due_runs_by_indexes(world, plans_of):
    numbers = world.filler._completions(HISTORY)
    world.filler._runs(numbers, "a", world.grader, {"status": "'completed'", "panel_size": "1"}, "n % 2 = 0")
    world.filler._runs(numbers, "a", world.other, {"status": "'pending'", "panel_size": "1"}, "n % 2 = 1")
    analyze()

    def work():
        sweep._end_overdue(TaskFactsCache(), database_now())
        sweep._end_gone()
        sweep.due_graders(database_now())

    assert faults(plans_of(work)) == []


def test_the_driver_prepares_no_statement_so_no_plan_is_generic(world):
    with connection.cursor() as cursor:
        for _ in range(12):
            cursor.execute("select count(*) from scores_workflowrun where status = %s", ["pending"])
        cursor.execute("select count(*) from pg_prepared_statements")
        assert cursor.fetchone()[0] == 0


def test_copies_look_up_their_own_runs_scores_and_rewards(world, plans_of):
    history(world)
    copies = [waiting_copy(world) for _ in range(GROUP)]
    fill_scores(world)  # after the statistics, which know of no score
    plans = plans_of(lambda: statements.copy(copies))
    assert faults(plans) == []
    assert Score.objects.exclude(reused_from=None).count() == GROUP


def waiting_copy(world):
    original = ScoreFactory(run__completion__task=world.task)
    completion = CompletionFactory(task=world.task)
    run = RunFactory(completion=completion, status="waiting", waits_for="reuse", reuses=original.completion_id)
    return statements.ScoreCopy(run.pk, ids.new(), original.pk, reasoning=None, details=None, step={"s": "reuse"})


def fill_scores(world):
    numbers = range(HISTORY)
    places = world.filler._places()
    places |= {"completion_id": id_of("c", "n"), "grader_id": quoted(world.grader.pk)}
    version = {"grader_version_id": quoted(world.grader.version_id)}
    figures = {"value": "0.5", "confidence": "0.9", "raw_value": "0.5", "created_at": "now()"}
    world.filler.insert(
        Score, numbers, {**places, **version, **figures, "id": id_of("d", "n"), "run_id": id_of("a", "n")}
    )
    reward = {"aggregation": "'mean'", "value": "0.5", "confidence": "0.9", "used": "1", "failed": "0"}
    del places["grader_id"]
    world.filler.insert(Reward, numbers, {**places, **reward, "error_code": "''", "scored_at": "now()"})
