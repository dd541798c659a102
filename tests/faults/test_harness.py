"""The fault harness can fail: whatever it promises to find, it finds (bench/faults)."""

from collections import Counter
from datetime import timedelta

import pytest
from django.db import connection

from autotune.core.clock import database_now
from bench.faults import misbehaviour, sabotage
from bench.faults.checker import FAULTS, Findings, check
from bench.faults.database import Database
from bench.faults.exchange import value_of
from bench.faults.journal import Book
from bench.faults.report import Result
from bench.faults.watch import Watch
from scores.models import Reward, Score, WorkflowRun
from tests.factories import CompletionFactory, RunFactory, public

COUNT = 40


class TestDatabase(Database):
    """The harness's database, looking through the test's own connection and so into its transaction."""

    __test__ = False

    def __init__(self):
        super().__init__("postgres://" if connection.vendor == "postgresql" else "file")

    def _connect(self):
        connection.ensure_connection()
        return connection.connection

    def close(self):
        self._connection = None


@pytest.fixture
def database(db):
    return TestDatabase()


@pytest.fixture
def expected(task):
    """What was submitted: {external id: response}, each with its completion and run."""
    responses = {f"e{n}": f"response {n}" for n in range(COUNT)}
    for name, response in responses.items():
        RunFactory(completion=CompletionFactory(task=task, external_id=name, response=response))
    return responses


@pytest.fixture
def score(database, task, grader, fake, drain, expected):
    """Scores everything in earnest; `check` of what came of it. `spoil()` comes between."""
    fake.judge = lambda completion: value_of(completion["id"], completion["response"])

    def run(spoil=lambda book: None):
        drain(grader)
        book = book_of(fake)
        spoil(book)
        return check(database, public("task", task), expected, book)

    return run


def book_of(fake):
    book = Book()
    for _, body in fake.calls:
        for completion in body["completions"]:
            book.requests[completion["id"]].add(body["requestId"])
    book.answered.update(fake.items)
    return book


def test_a_correct_run_has_no_findings(score):
    findings = score()
    assert findings.ok, findings
    assert (findings.submitted, findings.completions, findings.scores, findings.calls) == (COUNT,) * 4


# --- a save that is broken below the server's own code ---------------------------------------------------------------


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("kind", "fault"), [("doubled", "scoreDoubled"), ("lost", "scoreMissing"), ("wrong", "wrongValue")]
)
def test_a_broken_save_is_found(database, score, monkeypatch, kind, fault):
    monkeypatch.setattr(sabotage, "EVERY", 4)
    sabotage.KINDS[kind](database)
    findings = score()
    assert findings.faults[fault] >= 1
    assert not findings.ok


# --- what is wrong with the rows ------------------------------------------------------------------------------------


def a_run():
    return WorkflowRun.objects.order_by("pk").first()


def unfinished(book):
    WorkflowRun.objects.filter(pk=a_run().pk).update(status="pending")


def failed(book):
    WorkflowRun.objects.filter(pk=a_run().pk).update(status="failed", error_code="timeout")


def without_run(book):
    run = a_run()
    Score.objects.filter(run=run).delete()
    run.delete()


def with_two_runs(book):
    RunFactory(completion=a_run().completion, status="completed")


def without_score(book):
    a_run().score.delete()


def another_value(book):
    Score.objects.filter(run=a_run()).update(value=0.123)


def swapped_values(book):
    first, second = Score.objects.order_by("pk")[:2]
    Score.objects.filter(pk=first.pk).update(value=second.value)


def without_reward(book):
    Reward.objects.filter(completion=a_run().completion).delete()


def another_reward(book):
    Reward.objects.filter(completion=a_run().completion).update(value=0.123)


def store_unsubmitted(book):
    CompletionFactory(task=a_run().task, external_id="nobody's")


def stored_without_name(book):
    CompletionFactory(task=a_run().task, external_id=None)


ROWS = [
    (unfinished, "unfinished"),
    (failed, "failedOtherwise"),
    (without_run, "runMissing"),
    (with_two_runs, "runMissing"),
    (without_score, "scoreMissing"),
    (another_value, "wrongValue"),
    (swapped_values, "wrongValue"),
    (without_reward, "rewardMissing"),
    (another_reward, "wrongReward"),
    (store_unsubmitted, "storedTwice"),
    (stored_without_name, "storedTwice"),
]


@pytest.mark.parametrize(("spoil", "fault"), ROWS, ids=[spoil.__name__ for spoil, _ in ROWS])
def test_a_damaged_row_is_found(score, spoil, fault):
    assert score(spoil).faults[fault] >= 1


def test_a_submission_without_a_completion_is_found(score, expected):
    expected["e-lost"] = "never stored"
    assert score().faults == {"lost": 1}


# --- where the journal and the database disagree --------------------------------------------------------------------


def test_a_score_that_no_grader_gave_is_found(score):
    findings = score(lambda book: book.answered.subtract([public("comp", a_run().completion)]))
    assert findings.faults == {"scoreUnfounded": 1}


def test_a_score_without_a_call_is_found(score):
    assert "fewerCallsThanScores" in score(lambda book: book.requests.clear()).faults


def test_a_call_beyond_the_leases_is_found(score):
    findings = score(lambda book: book.requests[public("comp", a_run().completion)].add("another"))
    assert findings.faults == {"moreCallsThanLeases": 1}


# --- work that does not move -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("lost_s", "idle"), [(0, False), (40, True)], ids=["held", "abandoned"])
def test_a_run_of_a_dead_worker_is_reported_as_idle(database, expected, lost_s, idle):
    lease = database_now() + timedelta(seconds=15 - lost_s)
    WorkflowRun.objects.filter(pk=a_run().pk).update(status="running", attempt=1, leased_until=lease)
    watch = Watch(database)
    watch.step()
    assert (watch.longest_idle_s > 20) is idle


def test_an_unserved_queue_is_reported_as_stalled(database, expected):
    watch = Watch(database)
    watch.step()
    watch._moved_at -= 30
    watch._next = 0
    watch.step()
    assert watch.longest_standstill_s > 20


# --- what follows ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", FAULTS)
def test_any_fault_fails_the_scenario(fault):
    findings = Findings()
    findings.add(fault, "an example")
    result = Result("kills")
    result.take(findings)
    assert not result.ok
    assert f"1 x {fault}" in result.problems


def test_every_misbehaviour_has_an_outcome_that_is_documented():
    documented = {mode for mode, codes in misbehaviour.EXPECTED.items() if codes}
    assert documented == misbehaviour.MODES.keys() - {"good", "cannot judge some"}


def test_a_journal_counts_each_request_once(tmp_path):
    from bench.faults import journal

    book = tmp_path / "graders.jsonl"
    writer = journal.Writer(book)
    writer.note("call", "g", "r1", ["a", "b"])
    writer.note("call", "g", "r1", ["a", "b"])  # libcurl repeats a request whose kept connection broke
    writer.note("answer", "g", "r1", ["a"])
    writer.note("call", "other", "r2", ["a"])
    with book.open("a") as file:
        file.write('{"cut o')
    read = journal.read([book], "g")
    assert {item: len(requests) for item, requests in read.requests.items()} == {"a": 1, "b": 1}
    assert read.answered == Counter({"a": 1})
