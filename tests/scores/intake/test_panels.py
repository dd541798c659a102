"""A panel of several graders: one reward when the last scoring run is final, however they finish."""

import threading

import pytest
from django.db import connection, transaction

from scores.engine import settling
from scores.models import Reward, Score, WorkflowRun
from tasks.models import Completion
from tests.factories import CompletionFactory, GraderFactory, RunFactory, TaskFactory
from tests.support.concurrency import aside, together, until
from tests.support.results import claim, judged, missed, save

COMMITTED = pytest.mark.django_db(transaction=True, serialized_rollback=True)
WEIGHTS = (1.0, 0.5, 0.25)


class Panel:
    """A task with three graders of weight 1, 0.5 and 0.25, and shadows on request; runs of one completion."""

    def __init__(self, aggregation="mean", *, scoring=3, shadows=0):
        first = GraderFactory()
        others = [GraderFactory(organization=first.organization) for _ in range(scoring - 1 + shadows)]
        self.graders = [first, *others]
        entries = [
            (grader, WEIGHTS[place], "scoring") if place < scoring else (grader, 1.0, "shadow")
            for place, grader in enumerate(self.graders)
        ]
        self.task = TaskFactory(organization=first.organization, graders=entries, aggregation=aggregation)
        self.scoring = scoring

    def runs(self):
        """A new completion's runs, one for each grader in order, claimed."""
        completion = CompletionFactory(task=self.task)
        return [
            claim(RunFactory(completion=completion, grader=grader, panel_size=self.scoring * (place < self.scoring)))
            for place, grader in enumerate(self.graders)
        ]

    def scored(self, place, run, *values):
        save(self.graders[place], [judged(run, *values, version_id=self.task.version_id)])

    def failed(self, place, run, code="grader_error"):
        save(self.graders[place], bad=[missed(run, code)])


def reward():
    return Reward.objects.values_list("value", "confidence", "used", "failed", "error_code").get()


def test_the_reward_comes_with_the_last_scoring_run(db):
    panel = Panel()
    runs = panel.runs()
    for place, value in ((2, 1.0), (0, 0.2)):
        panel.scored(place, runs[place], value)
        assert Reward.objects.count() == 0
    panel.scored(1, runs[1], 0.6, 0.3)
    assert reward() == (pytest.approx((0.2 + 0.3 + 0.25) / 1.75), 0.3, 3, 0, "")
    assert Reward.objects.get().aggregation == "mean"


@pytest.mark.parametrize(
    ("aggregation", "value"),
    [("mean", 0.75 / 1.75), ("confidence_weighted", (0.18 + 0.15 + 0.025) / 1.175), ("median", 0.2), ("min", 0.2),
     ("max", 1.0), ("all_or_nothing", 0.0)],
)  # fmt: skip
def test_each_aggregation_uses_the_panels_weights(db, aggregation, value):
    panel = Panel(aggregation)
    runs = panel.runs()
    for place, verdict in enumerate([(0.2, 0.9), (0.6, 0.5), (1.0, 0.1)]):
        panel.scored(place, runs[place], *verdict)
    assert reward() == (pytest.approx(value), 0.1, 3, 0, "")


@pytest.mark.parametrize(
    ("aggregation", "value"),
    [("mean", 0.45 / 1.25), ("confidence_weighted", 0.205 / 0.925), ("median", 0.2), ("min", 0.2), ("max", 1.0)],
)
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 0, 1)])
def test_a_scoring_grader_that_failed_is_left_out_and_counted(db, aggregation, value, order):
    panel = Panel(aggregation)
    runs = panel.runs()
    for place in order:
        if place == 1:
            panel.failed(place, runs[place])
        else:
            panel.scored(place, runs[place], *((0.2, 0.9), None, (1.0, 0.1))[place])
    assert reward() == (pytest.approx(value), 0.1, 2, 1, "")


@pytest.mark.parametrize("last", [0, 1])
def test_all_or_nothing_fails_when_one_grader_did(db, last):
    panel = Panel("all_or_nothing", scoring=2)
    runs = panel.runs()
    steps = [lambda: panel.scored(0, runs[0], 1.0), lambda: panel.failed(1, runs[1])]
    for place in (1 - last, last):
        steps[place]()
    assert reward() == (None, None, 0, 1, "panel_incomplete")


@pytest.mark.parametrize("aggregation", ["mean", "min", "all_or_nothing"])
def test_a_panel_of_which_all_failed_is_a_failed_completion(db, aggregation):
    panel = Panel(aggregation, scoring=2)
    runs = panel.runs()
    panel.failed(0, runs[0], "grader_error")
    panel.failed(1, runs[1], "timeout")
    assert reward() == (None, None, 0, 2, "grader_error")


def test_shadow_scores_never_count_and_never_delay_the_completion(db):
    panel = Panel(scoring=2, shadows=2)
    runs = panel.runs()
    panel.scored(2, runs[2], 0.0)
    panel.scored(0, runs[0], 1.0)
    panel.scored(1, runs[1], 1.0)
    assert reward() == (1.0, 0.9, 2, 0, "")
    panel.failed(3, runs[3])
    assert reward() == (1.0, 0.9, 2, 0, "")
    assert sorted(Score.objects.values_list("purpose", flat=True)) == ["score", "score", "shadow"]


def test_a_shadow_beside_a_sole_grader_leaves_the_reward_to_it(db):
    panel = Panel(scoring=1, shadows=1)
    runs = panel.runs()
    panel.scored(1, runs[1], 0.0)
    assert Reward.objects.count() == 0
    panel.scored(0, runs[0], 0.75)
    assert reward() == (0.75, 0.9, 1, 0, "")


def test_an_existing_reward_stays_unchanged(db):
    panel = Panel(scoring=2)
    runs = panel.runs()
    for place in (0, 1):
        panel.scored(place, runs[place], 0.5)
    stored = Reward.objects.values().get()
    for place in (0, 1):
        panel.scored(place, runs[place], 1.0)
    assert Reward.objects.values().get() == stored


def test_a_completion_follows_the_version_that_it_was_submitted_under(db):
    panel = Panel("min", scoring=2)
    runs = panel.runs()
    type(panel.task.version).objects.create(
        task=panel.task, organization=panel.task.organization, digest="0" * 64, content={}, aggregation="max"
    )
    for place, value in ((0, 0.25), (1, 0.75)):
        panel.scored(place, runs[place], value)
    assert reward()[0] == 0.25


def test_many_completions_are_settled_in_few_queries(db, django_assert_max_num_queries):
    panel = Panel(scoring=2)
    pairs = [panel.runs() for _ in range(60)]
    save(panel.graders[0], [judged(first, 0.2, version_id=panel.task.version_id) for first, _ in pairs])
    with django_assert_max_num_queries(25):
        save(panel.graders[1], [judged(two, 0.8, version_id=panel.task.version_id) for _, two in pairs])
    assert list(Reward.objects.values_list("value", flat=True)) == [pytest.approx(0.6 / 1.5)] * 60
    assert set(Reward.objects.values_list("used", flat=True)) == {2}


# --- at the same moment ---------------------------------------------------------------------------------------------


@pytest.mark.postgres
@COMMITTED
@pytest.mark.parametrize("second_fails", [False, True])
def test_two_graders_that_finish_concurrently_make_one_reward(second_fails):
    panel = Panel(scoring=2)
    for _ in range(15):
        first, second = panel.runs()
        other = panel.failed if second_fails else panel.scored
        together(lambda run=first: panel.scored(0, run), lambda run=second, other=other: other(1, run))
        reward = Reward.objects.get(pk=first.completion_id)
        assert (reward.used, reward.failed) == ((1, 1) if second_fails else (2, 0))
    assert Reward.objects.count() == 15


@pytest.mark.postgres
@COMMITTED
def test_saving_the_same_completions_in_different_orders_never_deadlocks():
    panel = Panel(scoring=2)
    pairs = [panel.runs() for _ in range(40)]
    version_id = panel.task.version_id

    def group(place, runs):
        return lambda: save(panel.graders[place], [judged(run, version_id=version_id) for run in runs])

    together(group(0, [first for first, _ in pairs]), group(1, [two for _, two in reversed(pairs)]))
    assert set(Reward.objects.values_list("used", "failed")) == {(2, 0)}
    assert Reward.objects.count() == 40


@pytest.mark.postgres
@COMMITTED
def test_a_saver_waits_for_one_that_has_not_committed_and_then_sees_its_score():
    panel = Panel(scoring=2)
    first, second = panel.runs()
    saved, go_on = threading.Event(), threading.Event()

    def slow():
        with transaction.atomic():
            panel.scored(0, first, 0.25)
            saved.set()
            assert go_on.wait(10)

    slower = aside(slow)
    assert saved.wait(10)
    faster = aside(lambda: panel.scored(1, second, 0.25))
    until(somebody_waits_for_a_lock)
    go_on.set()
    slower.result(10)
    faster.result(10)
    assert reward() == (0.25, 0.9, 2, 0, "")


def somebody_waits_for_a_lock():
    with connection.cursor() as cursor:
        cursor.execute(
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
        )
        return cursor.fetchone()[0]


# --- the guard -------------------------------------------------------------------------------------------------------


def finished_without_reward(panel):
    runs = panel.runs()
    for place, run in enumerate(runs):
        panel.scored(place, run, 0.5)
    Reward.objects.filter(pk=runs[0].completion_id).delete()
    return runs


def test_the_sweep_settles_an_overlooked_panel(db):
    panel = Panel(scoring=2)
    finished_without_reward(panel)
    assert settling.settle_missed(settling.TaskFactsCache()) == 1
    assert reward() == (0.5, 0.9, 2, 0, "")
    assert settling.settle_missed(settling.TaskFactsCache()) == 0


def test_a_panel_in_progress_is_not_overlooked(db):
    panel = Panel(scoring=2)
    panel.scored(0, panel.runs()[0])
    assert settling.settle_missed(settling.TaskFactsCache()) == 0
    assert Reward.objects.count() == 0


def test_panels_in_progress_do_not_hide_an_overlooked_one(db):
    panel = Panel(scoring=2)
    for _ in range(3):
        panel.scored(0, panel.runs()[0])
    finished_without_reward(panel)
    assert settling.settle_missed(settling.TaskFactsCache(), limit=1) == 1
    assert reward()[2] == 2


def test_nothing_of_a_panel_is_lost_when_its_last_save_is_rolled_back(db):
    panel = Panel(scoring=2)
    first, second = panel.runs()
    panel.scored(0, first)
    with transaction.atomic():
        panel.scored(1, second)
        transaction.set_rollback(True)  # as if the process died before the commit
    assert (Reward.objects.count(), WorkflowRun.objects.get(pk=second.run_id).status) == (0, "running")
    panel.scored(1, second)
    assert reward()[2] == 2
    assert Completion.objects.count() == 1
