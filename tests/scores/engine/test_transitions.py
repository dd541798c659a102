"""The moves of a workflow run: one table, which the database's constraint and the guarded statements follow."""

import pytest
from django.db import IntegrityError, connection, transaction

from scores.engine import transitions, waits
from scores.engine.transitions import MOVES, InvalidTransition, advance
from scores.models import WorkflowRun
from scores.results import failure_codes, waiting_reasons
from scores.states import FINAL, RunStatus, WaitKind
from scores.workflow_runs import steps
from scores.workflow_runs.pages import words
from tests.factories import RunFactory

EVERY_MOVE = [(source, target) for source in RunStatus for target in RunStatus]
ALLOWED = [(source, target) for source, target in EVERY_MOVE if target in MOVES[source]]
REFUSED = [(source, target) for source, target in EVERY_MOVE if target not in MOVES[source]]


def status_of(run):
    return WorkflowRun.objects.values_list("status", flat=True).get(pk=run.pk)


def test_the_table_names_every_status():
    assert set(MOVES) == set(RunStatus)


def test_a_completed_run_never_changes():
    assert MOVES[RunStatus.COMPLETED] == frozenset()


def test_a_failed_run_changes_only_by_a_retry():
    assert MOVES[RunStatus.FAILED] == {RunStatus.PENDING}


def test_only_pending_runs_are_claimed():
    assert transitions.sources(RunStatus.RUNNING) == ("pending",)


def test_every_status_that_is_not_final_has_a_way_to_an_end():
    for status in set(RunStatus) - set(FINAL):
        assert set(FINAL) <= MOVES[status]


@pytest.mark.parametrize("status", RunStatus)
def test_the_database_takes_every_status_of_the_table(db, status):
    assert status_of(RunFactory(status=status)) == status


def test_the_database_refuses_a_status_that_is_not_in_the_table(db):
    run = RunFactory()
    with pytest.raises(IntegrityError), transaction.atomic():
        WorkflowRun.objects.filter(pk=run.pk).update(status="lost")


@pytest.mark.parametrize(("source", "target"), ALLOWED)
def test_a_run_makes_the_transitions_of_the_table(db, source, target):
    run = RunFactory(status=source)
    advance(run, target)
    assert (run.status, status_of(run)) == (target, target)


@pytest.mark.parametrize(("source", "target"), REFUSED)
def test_a_run_makes_no_other_transition(db, source, target):
    run = RunFactory(status=source)
    with pytest.raises(InvalidTransition, match=run.public_id):
        advance(run, target)
    assert status_of(run) == source


@pytest.mark.parametrize(("source", "target"), EVERY_MOVE)
def test_the_guard_of_a_queryset_accepts_the_same_runs(db, source, target):
    if not transitions.sources(target):
        return
    run = RunFactory(status=source)
    with connection.cursor() as cursor:
        cursor.execute(f"select count(*) from scores_workflowrun r where {transitions.condition(target)}")
        assert cursor.fetchone()[0] == (target in MOVES[source])
    assert status_of(run) == source


def test_a_transition_may_exclude_a_source():
    guard = transitions.condition(RunStatus.COMPLETED, unless=frozenset({RunStatus.WAITING}), alias="x")
    assert guard == "x.status in ('pending', 'running', 'sleeping')"


def test_advancing_stores_what_changes_with_the_move(db):
    run = RunFactory(status="running")
    advance(run, RunStatus.FAILED, error_code="cancelled", error_repeats=2)
    assert (run.status, run.error_code, run.error_repeats) == ("failed", "cancelled", 2)


def test_the_slower_of_two_writers_gets_an_error(db):
    ours = RunFactory(status="running")
    theirs = WorkflowRun.objects.get(pk=ours.pk)
    advance(theirs, RunStatus.COMPLETED)
    with pytest.raises(InvalidTransition):
        advance(ours, RunStatus.FAILED, error_code="timeout")
    assert WorkflowRun.objects.values_list("status", "error_code").get() == ("completed", "")


def test_each_wait_names_the_code_with_which_it_expires():
    codes = {name.value: rule.code for name, rule in waits.WAITS.items()}
    assert codes == {
        "callback": "callback_expired", "model": "model_expired", "review": "review_expired", "reuse": "",
    }  # fmt: skip
    assert set(filter(None, codes.values())) <= failure_codes.CODES.keys()


def test_each_wait_that_expires_has_a_limit_and_a_reason(settings):
    settings.CALLBACK_DEADLINE_S, settings.REVIEW_DAYS = 7 * 86_400, 30
    days = {name.value: rule.limit().days for name, rule in waits.WAITS.items() if rule.limit}
    assert days == {"callback": 7, "model": 3, "review": 30}
    for rule in waits.WAITS.values():
        assert bool(rule.code) == bool(rule.limit) == bool(rule.message)
        assert waiting_reasons.DETAILS[rule.reason] == rule.detail


def test_the_table_covers_every_wait():
    assert set(waits.WAITS) == set(WaitKind) - {WaitKind.GRADER}  # of a sleeping run
    assert set(waits.RETRIED) <= set(waits.ANSWERABLE)


@pytest.mark.parametrize("waits_for", WaitKind)
def test_the_conditions_of_the_statements_are_those_of_the_table(db, waits_for):
    run = RunFactory(status="waiting", waits_for=waits_for)
    rule = waits.WAITS.get(waits_for)
    conditions = {waits.answerable(): rule is None or rule.takes_answer}
    conditions[waits.failable()] = rule is not None and rule.takes_answer
    conditions[waits.retriable()] = rule is not None and rule.retries
    with connection.cursor() as cursor:
        for condition, is_met in conditions.items():
            cursor.execute(f"select count(*) from scores_workflowrun r where {condition}")
            assert cursor.fetchone()[0] == is_met, condition
    assert status_of(run) == "waiting"


def test_each_wait_has_a_text_on_pages():
    assert {name.value for name in WaitKind} <= words.WAITS.keys()
    assert steps.REUSE in words.STEPS
