"""Hosted graders: the drain judges in child processes, and a failing item affects no other."""

import os
import threading
import time

import pytest

from graders.hosted import children, judges
from graders.hosted.messages import Judge
from graders.models import Tally
from graders.states import GraderKind
from scores.engine import claims
from scores.engine.drain import Drain, callable_grader
from scores.models import Reward, Score, WorkflowRun
from tests.factories import CompletionFactory, GraderFactory, RunFactory, TaskFactory


@pytest.fixture(autouse=True)
def _two_children(settings):
    """Two children at most, which end with the test."""
    settings.JUDGE_PROCESSES, settings.JUDGE_MEMORY_BYTES = 2, 512 << 20
    children.close()
    yield
    children.close()


@pytest.fixture
def rule(monkeypatch):
    """`rule(name, **settings)`: graders of the kind `rubric` judge by this rule of tests/support/rules.py."""

    def use(name, **settings):
        judge = Judge(f"tests.support.rules:{name}", settings)
        monkeypatch.setitem(judges._preparations, GraderKind.RUBRIC, lambda grader, version_id: judge)

    return use


@pytest.fixture
def hosted(db):
    """A grader without an address, with a time limit of a second for each item."""
    return GraderFactory(kind=GraderKind.RUBRIC, endpoint="", max_batch_size=10, timeout_ms=1_000, max_concurrency=4)


@pytest.fixture
def submit(hosted):
    """`submit(*responses)`: a run of the grader for each response."""
    task = TaskFactory(organization=hosted.organization, graders=[hosted], max_attempts=1)
    return lambda *responses: [
        RunFactory(completion=CompletionFactory(task=task, response=response)) for response in responses
    ]


def outcome(run):
    """The score's value, or the code of the failure."""
    run.refresh_from_db()
    return run.score.value if run.status == "completed" else run.error_code


def test_a_rule_judges_by_length(rule, hosted, submit, drain):
    rule("by_length", most=3)
    short, long = submit("abc", "abcd")
    drain(hosted)
    assert (outcome(short), outcome(long)) == (1.0, 0.0)
    score = Score.objects.get(run=short)
    assert (score.grader_version, score.reasoning, score.dimensions) == (
        hosted.version, "3 characters", [{"name": "length", "value": 1.0, "weight": 1.0}],
    )  # fmt: skip
    assert Reward.objects.get(completion=short.completion).value == 1.0


def test_a_rule_judges_by_regular_expression(rule, hosted, submit, drain):
    rule("by_pattern", pattern=r"\d+")
    runs = submit("42", "no", "")
    drain(hosted)
    assert [outcome(run) for run in runs] == [1.0, 0.0, 0.0]


def test_members_that_the_task_does_not_request_are_left_out(rule, hosted, submit, drain):
    rule("by_length", most=3)
    (run,) = submit("abc")
    run.task.include_dimensions = run.task.include_explanation = False
    run.task.save()
    drain(hosted)
    assert (run.score.dimensions, run.score.reasoning) == (None, None)


@pytest.mark.parametrize(
    ("response", "code"),
    [
        ("loops", "timeout"),
        ("sleeps", "timeout"),
        ("backtracks", "timeout"),
        ("fills", "judge_out_of_memory"),
        ("dies", "judge_died"),
        ("exits", "judge_died"),
        ("raises", "judge_failed"),
        ("refuses", "grader_error"),
        ("strays", "judge_failed"),
        ("mute", "judge_failed"),
        ("nul", "judge_failed"),
        ("surrogate", "judge_failed"),
    ],
)
def test_a_misbehaving_item_fails_without_the_others(rule, hosted, submit, drain, response, code):
    rule("misbehaves")
    runs = submit("good", response, "good", "good")
    drain(hosted)
    assert [outcome(run) for run in runs] == [0.5, code, 0.5, 0.5]
    hosted.refresh_from_db()
    assert (hosted.status, hosted.gone_at) == ("active", None)


def test_several_bad_items_of_a_batch_each_fail_with_their_own_code(rule, hosted, submit, drain):
    rule("misbehaves")
    runs = submit("dies", "good", "loops", "fills", "good", "dies")
    drain(hosted)
    assert [outcome(run) for run in runs] == [
        "judge_died", 0.5, "timeout", "judge_out_of_memory", 0.5, "judge_died",
    ]  # fmt: skip


def test_the_pool_recovers_for_the_next_drain(rule, hosted, submit, drain):
    rule("misbehaves")
    submit("dies", "loops")
    drain(hosted)
    (run,) = submit("good")
    drain(hosted)
    assert outcome(run) == 0.5


def test_a_child_that_died_while_it_was_idle_is_replaced(rule, hosted, submit, drain):
    rule("process")
    (run,) = submit("a")
    drain(hosted)
    os.kill(int(run.score.reasoning), 9)
    time.sleep(0.1)  # until the kernel has ended it
    (later,) = submit("b")
    drain(hosted)
    assert outcome(later) == 0.5
    assert later.score.reasoning != run.score.reasoning


def test_items_are_judged_in_reused_child_processes(rule, hosted, submit, drain):
    rule("process")
    runs = submit(*"abcdef")
    drain(hosted)
    drain(hosted)
    processes = {run.score.reasoning for run in runs}
    assert str(os.getpid()) not in processes
    assert len(processes) <= 2


def test_more_calls_than_children_wait_their_turn(rule, hosted, submit, drain):
    hosted.max_batch_size = 1
    hosted.save()
    rule("by_length", most=3)
    runs = submit(*["abc"] * 9)
    drain(hosted)
    assert [outcome(run) for run in runs] == [1.0] * 9


def test_a_rule_that_cannot_be_loaded_is_a_failure_with_a_reason(rule, hosted, submit, drain):
    rule("absent")
    (run,) = submit("a")
    drain(hosted)
    assert outcome(run) == "judge_failed"
    assert "tests.support.rules:absent cannot be loaded" in run.error_message


def test_a_timeout_is_retried_like_any_other(rule, hosted, submit, drain):
    rule("misbehaves")
    (run,) = submit("loops")
    run.task.max_attempts = 5
    run.task.save()
    drain(hosted)
    run.refresh_from_db()
    assert (run.status, run.error_code, run.failures) == ("sleeping", "timeout", 1)


def test_figures_of_the_grader_count_verdicts_and_failures(rule, hosted, submit, drain):
    rule("misbehaves")
    submit("good", "raises")
    drain(hosted)
    tallies = list(Tally.objects.filter(grader_id=hosted.pk))
    assert sum(tally.scored for tally in tallies) == 1
    assert [tally.errors for tally in tallies if tally.errors] == [{"judge_failed": 1}]


def test_a_kind_without_a_judge_is_an_error_and_leaves_the_runs_due(hosted, submit, drain):
    (run,) = submit("a")
    with pytest.raises(judges.UnknownKind, match="'rubric'"):
        drain(hosted)
    run.refresh_from_db()
    assert run.status == "pending"


def test_leases_of_waiting_calls_are_renewed(rule, hosted, submit, monkeypatch):
    rule("misbehaves")
    submit("sleeps", "good")
    renewed = []
    monkeypatch.setattr(claims, "renew", renewed.append)
    monkeypatch.setattr(claims, "RENEW_AFTER", claims.timedelta(0))
    work = Drain(callable_grader(hosted.pk), until=time.monotonic() + 20, is_woken=threading.Event().is_set)
    work.run()
    assert max(map(len, renewed)) == 2


def test_a_drain_that_fails_ends_its_children_and_keeps_the_leases(rule, hosted, submit, monkeypatch):
    rule("misbehaves")
    submit("sleeps")
    work = Drain(callable_grader(hosted.pk), until=time.monotonic() + 20, is_woken=threading.Event().is_set)
    steps = iter([True, True])

    def step():
        if next(steps, None) is None:
            raise RuntimeError("the database is away")
        return Drain._step(work)

    monkeypatch.setattr(work, "_step", step)
    with pytest.raises(RuntimeError):
        work.run()
    assert (len(work.body), WorkflowRun.objects.get().status) == (0, "running")
    assert children.shared()._busy == 0


def test_a_rule_gets_the_whole_item(rule, hosted, drain):
    """Also numbers that no 64 bits hold, and a system prompt."""
    rule("by_number")
    task = TaskFactory(organization=hosted.organization, graders=[hosted], system_prompt="Be brief.")
    number = 2**80 + 1
    run = RunFactory(completion=CompletionFactory(task=task, response=str(number), metadata={"number": number}))
    drain(hosted)
    assert (outcome(run), run.score.reasoning) == (1.0, "Be brief.")
