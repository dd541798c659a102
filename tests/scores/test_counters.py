"""Counters equal rows after any sequence of changes to scores, and figures from both are the same."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from autotune.access.principal import Principal
from autotune.core import fixedpoint
from autotune.core.clock import database_now
from autotune.core.errors import AutotuneError
from scores.counters import building, folding, migrating, progress, spread, triggers
from scores.counters.progress import TaskProgress
from scores.intake import rescoring
from scores.models import Reward, Score, ScoreCount, ScoreTally, TaskCount, TaskTally, UncountedTask, WorkflowRun
from scores.results.filters import ScoreFilter, TaskRef, check, counted
from scores.retention import deleting, erasing, purging
from scores.reviews import decisions
from scores.reviews.decisions import ReviewDecision, Reviewer
from scores.workflow_runs import retrying
from tasks.models import Completion
from tests.factories import (
    ApiKeyFactory,
    CompletionFactory,
    GraderFactory,
    ReviewFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
    public,
)
from tests.support.concurrency import together
from tests.support.results import claim, judged, missed, save
from tests.support.scoring import add_scores

VALUES = st.one_of(st.sampled_from([0.0, 5e-324, 0.25, 0.5, 1 / 3, 1.0]), st.floats(0, 1))


class Undone(Exception):
    """Rolls a transaction back."""


class CounterMachine(RuleBasedStateMachine):
    """Two tasks: one with a sole grader, one with a panel of two and a shadow grader."""

    def __init__(self):
        super().__init__()
        self.transaction = transaction.atomic()
        self.transaction.__enter__()
        key = ApiKeyFactory()
        self.principal = Principal(key.organization, key.role, key.user)
        organization = key.organization
        graders = [GraderFactory(organization=organization) for _ in range(3)]
        self.tasks = [
            TaskFactory(organization=organization, graders=graders[:1]),
            TaskFactory(
                organization=organization,
                graders=[(graders[0], 1.0, "scoring"), (graders[1], 0.5, "scoring"), (graders[2], 1.0, "shadow")],
            ),
        ]

    def teardown(self):
        self.check_counters()
        self.figures_from_counters_equal_figures_from_rows()
        self.progress_equals_the_rows()
        transaction.set_rollback(True)
        self.transaction.__exit__(None, None, None)

    def answer(self, run, value):
        save(run.grader, [judged(claim(run), value, version_id=run.completion.task_version_id)])

    @rule(place=st.integers(0, 1), model=st.sampled_from(["a", "b"]), values=st.lists(VALUES, min_size=3, max_size=3))
    def submit_and_score(self, place, model, values):
        task = self.tasks[place]
        completion = CompletionFactory(task=task, model_id=model)
        members = list(task.version.members.select_related("grader"))
        scoring = sum(member.part == "scoring" for member in members)
        for member, value in zip(members, values, strict=False):
            size = scoring if member.part == "scoring" else 0
            self.answer(RunFactory(completion=completion, grader=member.grader, panel_size=size), value)

    @rule(final=st.booleans())
    def submit_and_fail(self, final):
        run = RunFactory(completion=CompletionFactory(task=self.tasks[0], model_id="a"))
        save(run.grader, (), [missed(claim(run), wake_at=None if final else database_now() + timedelta(hours=1))])

    @precondition(lambda self: WorkflowRun.objects.filter(status="failed").exists())
    @rule(value=VALUES)
    def retry(self, value):
        run = WorkflowRun.objects.filter(status="failed").order_by("pk").first()
        with suppress(AutotuneError):
            retrying.retry(run.pk)
            run.refresh_from_db()
            self.answer(run, value)

    @precondition(lambda self: Reward.objects.exists())
    @rule(data=st.data(), values=st.lists(VALUES, min_size=3, max_size=3))
    def score_again(self, data, values):
        completion = self.any_completion(data)
        with suppress(AutotuneError):
            runs = rescoring.rescore(completion, self.principal)
            for run, value in zip(WorkflowRun.objects.filter(pk__in=runs).order_by("pk"), values, strict=False):
                self.answer(run, value)

    @rule(value=VALUES, decided=st.one_of(st.none(), VALUES), approved=st.booleans())
    def review(self, value, decided, approved):
        run = RunFactory(
            completion=CompletionFactory(task=self.tasks[0], model_id="b"), status="waiting", waits_for="review",
            attempt=1, wake_at=database_now() + timedelta(days=1),
        )  # fmt: skip
        review = ReviewFactory(run=run, value=value)
        decisions.decide(review.pk, ReviewDecision(approved, decided), Reviewer(self.principal.user, administers=True))

    @precondition(lambda self: Score.objects.exists())
    @rule(data=st.data())
    def delete_a_score(self, data):
        score_ids = sorted(Score.objects.values_list("pk", flat=True))
        deleting.delete_score(data.draw(st.sampled_from(score_ids)))

    @precondition(lambda self: Completion.objects.exists())
    @rule(data=st.data(), all_of_it=st.booleans())
    def erase_or_purge(self, data, all_of_it):
        completion = self.any_completion(data)
        if all_of_it:
            purging.purge([completion], scored_before=database_now() + timedelta(days=1))
        else:
            erasing.erase([completion], end_unfinished=True)

    @precondition(lambda self: Score.objects.exists())
    @rule(data=st.data(), back=st.integers(0, 100))
    def change_rows_by_hand(self, data, back):
        score = data.draw(st.sampled_from(sorted(Score.objects.values_list("pk", flat=True))))
        when = datetime(2026, 3, 1, 23, 59, tzinfo=UTC) - timedelta(hours=back)
        Score.objects.filter(pk=score).update(created_at=when, purpose="shadow" if back % 3 == 0 else "score")

    @rule(value=VALUES)
    def roll_a_transaction_back(self, value):
        with suppress(Undone), transaction.atomic():
            self.submit_and_score(0, "a", [value] * 3)
            folding.fold()
            raise Undone

    @rule()
    def fold(self):
        folding.fold()
        assert not ScoreTally.objects.exists()

    @rule(place=st.integers(0, 1))
    def build(self, place):
        building.build(self.tasks[place].pk)

    def any_completion(self, data):
        return data.draw(st.sampled_from(sorted(Completion.objects.values_list("pk", flat=True))))

    @rule()
    def check_counters(self):
        for task in self.tasks:
            assert building.check(task.pk)
        assert building.check_organization(self.principal.organization.pk)

    @rule()
    def figures_from_counters_equal_figures_from_rows(self):
        for task in (None, *self.tasks):
            selection = check(ScoreFilter(task_id=task and TaskRef(task.pk)), self.principal)
            assert spread.is_counted(selection)
            counters, rows = spread.from_counters(selection), spread.from_rows(counted(selection))
            assert (counters.parts, counters.bins) == (rows.parts, rows.bins)

    @rule()
    def progress_equals_the_rows(self):
        for task in self.tasks:
            assert progress.of_tasks([task.pk])[task.pk] == progress._from_rows(task.pk)
            assert progress.scores_ever(task.pk) == Score.objects.filter(task=task).count()


@pytest.mark.timeout(300)
def test_c24_counters_equal_rows_after_any_sequence_of_changes(db):
    run_state_machine_as_test(
        CounterMachine,
        settings=settings(
            max_examples=15,
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        ),
    )


@pytest.mark.django_db(transaction=True)
def test_c24_counters_are_right_after_concurrent_saves_folds_builds_and_deletions():
    task = TaskFactory()
    runs = [RunFactory(completion=CompletionFactory(task=task, model_id=f"m{n % 3}")) for n in range(24)]
    claimed = [claim(run) for run in runs]
    grader = task.version.members.get().grader
    old = [ScoreFactory(run__completion__task=task, value=n / 7) for n in range(7)]

    def save_some(part):
        for run in part:
            save(grader, [judged(run, 0.123456, version_id=task.version_id)])

    together(
        lambda: save_some(claimed[::2]),
        lambda: save_some(claimed[1::2]),
        lambda: [folding.fold() for _ in range(10)],
        lambda: [folding.fold() for _ in range(10)],
        lambda: [building.build(task.pk) for _ in range(5)],
        lambda: [deleting.delete_score(score.pk) for score in old],
    )
    assert building.check(task.pk)
    folding.fold()
    assert building.check(task.pk)
    assert not ScoreTally.objects.exists()
    assert progress.of_tasks([task.pk])[task.pk].rewarded == len(claimed)


@pytest.mark.django_db(transaction=True)
def test_c24_an_interrupted_fold_loses_and_doubles_nothing():
    task = TaskFactory()
    add_scores(task, [0.1, 0.2, 0.7777])
    for _ in range(2):
        with suppress(Undone), transaction.atomic():
            assert folding.fold()
            raise Undone
    assert ScoreTally.objects.exists()
    assert not ScoreCount.objects.exists()
    folding.fold()
    assert folding.fold() == 0
    assert building.check(task.pk)


def old_rows(task, values):
    """Scores that are older than the counters."""
    triggers.drop(connection)
    scores = add_scores(task, values)
    triggers.install(connection)
    UncountedTask.objects.create(task_id=task.pk)
    return scores


@pytest.mark.django_db
def test_c24_tasks_older_than_their_counters_are_read_from_rows_until_a_build(api_for):
    api = api_for(role="organization_admin")
    task = TaskFactory(organization=api.organization)
    scores = old_rows(task, [0.1, 0.25, 1 / 3])
    add_scores(task, [0.5])  # already counted
    deleting.delete_score(scores[0].pk)
    before = api.get("/scores/summary").json()
    assert before["totalRecords"] == 3
    assert progress.of_tasks([task.pk])[task.pk] == TaskProgress(4, 3, 1, total_of(0.25, 1 / 3, 0.5))
    call_command("counters", "build", stdout=StringIO())
    assert not UncountedTask.objects.exists()
    assert api.get("/scores/summary").json() == before
    assert building.check(task.pk)
    assert progress.of_tasks([task.pk])[task.pk] == TaskProgress(4, 3, 1, total_of(0.25, 1 / 3, 0.5))


def total_of(*values):
    return sum(map(fixedpoint.units, values))


@pytest.mark.django_db
def test_c24_the_command_finds_and_repairs_wrong_counters():
    task, other = TaskFactory(), TaskFactory()
    add_scores(task, [0.1, 0.9])
    add_scores(other, [0.4])
    folding.fold()
    call_command("counters", "check", stdout=StringIO())
    ScoreCount.objects.filter(task_id=task.pk, span=0).update(number=7)
    TaskCount.objects.filter(task_id=other.pk).update(rewarded=9)
    out = StringIO()
    with pytest.raises(CommandError, match="3 sets of counters differ"):
        call_command("counters", "check", stdout=out)
    assert public("task", task) in out.getvalue()
    call_command("counters", "check", "--task", public("task", task), "--repair", stdout=StringIO())
    with pytest.raises(CommandError, match="1 set of counters differs"):
        call_command("counters", "check", stdout=StringIO())
    call_command("counters", "check", "--repair", stdout=StringIO())
    out = StringIO()
    call_command("counters", "check", stdout=out)
    assert "equal" in out.getvalue()


@pytest.mark.django_db
def test_c24_missing_triggers_are_reported_and_created_again():
    task = TaskFactory()
    with connection.cursor() as cursor:
        suffix = " on scores_score" if connection.vendor == "postgresql" else ""
        cursor.execute(f"drop trigger scores_count_added{suffix}")
    assert triggers.missing(connection) == {"scores_count_added"}
    with pytest.raises(CommandError, match="scores_count_added"):
        call_command("counters", "check", stdout=StringIO())
    add_scores(task, [0.5])
    migrating.restore_triggers(using="default")
    assert triggers.missing(connection) == set()
    assert building.is_behind(task.pk)
    building.build_waiting()
    assert building.check(task.pk)


@pytest.mark.django_db
def test_c24_dates_on_whole_hours_are_read_from_counters_and_others_from_rows(api_for):
    api = api_for(role="organization_admin")
    task = TaskFactory(organization=api.organization)
    begin = datetime(2026, 3, 1, 21, 30, tzinfo=UTC)
    for hours in range(60):
        add_scores(task, [hours / 60], created_at=begin + timedelta(hours=hours))
    folding.fold()
    principal = Principal(api.organization, api.api_key.role, api.user)
    dates = [
        ("2026-03-02", "2026-03-03"), ("2026-03-01T22:00:00Z", "2026-03-04T05:00:00Z"), (None, "2026-03-02"),
        ("2026-03-02T01:00:00Z", "2026-03-02T05:00:00Z"), ("2026-03-03", None), ("2026-03-02T23:00:00+01:00", None),
        ("2026-03-02T01:15:00Z", "2026-03-02T05:00:00Z"), ("2026-03-02T01:15:00Z", None),
    ]  # fmt: skip
    for start, end in dates:
        selection = check(ScoreFilter(start_date=start, end_date=end), principal)
        assert spread.is_counted(selection) is not ("15:00" in (start or ""))
        rows = spread.from_rows(counted(selection))
        assert spread.of(selection).parts == rows.parts, (start, end)
        if spread.is_counted(selection):
            assert spread.from_counters(selection).bins == rows.bins, (start, end)
        assert sum(rows.bins.values()) > 0


@pytest.mark.django_db
def test_c24_counters_of_another_organization_are_not_visible(api_for):
    mine, theirs = api_for(role="organization_admin"), api_for(role="organization_admin")
    add_scores(TaskFactory(organization=theirs.organization), [0.5, 0.7])
    folding.fold()
    assert theirs.get("/scores/summary").json()["totalRecords"] == 2
    assert mine.get("/scores/summary").json()["totalRecords"] == 0


@pytest.mark.django_db
def test_c24_a_summary_from_counters_reads_scores_only_within_a_bin(api_for, django_assert_max_num_queries):
    api = api_for(role="organization_admin")
    task = TaskFactory(organization=api.organization)
    add_scores(task, [n / 1000 for n in range(0, 1000, 7)])
    folding.fold()
    with connection.execute_wrapper(refuse_scores):
        response = api.get("/scores/summary")
    assert response.status_code == 200
    assert response.json()["scoreDistribution"]["percentiles"]["p50"] == pytest.approx(0.497)


def refuse_scores(execute, sql, params, many, context):
    assert 'FROM "scores_score"' not in sql.split("WHERE")[0] or "NOT EXISTS" in sql
    return execute(sql, params, many, context)


@pytest.mark.django_db
def test_c24_a_save_appends_one_tally_for_its_group_on_postgres():
    if connection.vendor != "postgresql":
        pytest.skip("a trigger of SQLite runs for each row")
    task = TaskFactory()
    runs = [claim(RunFactory(completion=CompletionFactory(task=task))) for _ in range(20)]
    ScoreTally.objects.all().delete()
    TaskTally.objects.all().delete()
    save(task.version.members.get().grader, [judged(run, version_id=task.version_id) for run in runs])
    assert [len(tally.units) for tally in ScoreTally.objects.all()] == [20]
    assert TaskTally.objects.get().rewarded == 20


@pytest.mark.django_db
def test_c24_scores_of_a_rare_model_are_found_and_an_unknown_model_reads_no_scores(api_for):
    api = api_for(role="organization_admin")
    tasks = [TaskFactory(organization=api.organization) for _ in range(3)]
    for task in tasks:
        add_scores(task, [0.5] * 5, models=("usual",))
    (rare,) = add_scores(tasks[1], [0.25], models=("rare",))
    shadow = add_scores(tasks[2], [0.3], models=("rare",), purpose="shadow")[0]
    for folded in (False, True):
        if folded:
            folding.fold()
        page = api.get("/scores?modelId=rare").json()
        assert [row["id"] for row in page["scores"]] == [public("score", shadow), public("score", rare)]
        assert page["pagination"]["total"] == 2
        page = api.get(f"/scores?modelId=rare&taskId={public('task', tasks[1])}").json()
        assert [row["id"] for row in page["scores"]] == [public("score", rare)]
        with connection.execute_wrapper(refuse_scores):
            assert api.get("/scores?modelId=unknown").json()["scores"] == []
    deleting.delete_score(rare.pk)
    assert [row["id"] for row in api.get("/scores?modelId=rare").json()["scores"]] == [public("score", shadow)]
