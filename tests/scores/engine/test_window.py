"""How a drain calls a grader: how many calls at once, with what, and what it saves in between."""

import threading
import time
from datetime import timedelta

import pytest
from django.db import transaction

from autotune.core.outbound import engine
from graders.models import GraderVersion
from scores.engine import claims
from scores.engine.drain import Drain, callable_grader
from scores.models import Score, WorkflowRun
from tests.factories import CompletionFactory, GraderFactory, RunFactory, TaskFactory, public


def runs_of(task, count):
    return [RunFactory(completion=CompletionFactory(task=task, response=str(n))) for n in range(count)]


@pytest.fixture
def single(db, fake):
    """A grader without batches, with two calls out at most."""
    return GraderFactory(endpoint=fake.url, max_batch_size=1, max_concurrency=2)


@pytest.fixture
def watched():
    """`watched(grader, look)`: a drain that calls `look()` at each step."""

    def run(grader, look):
        work = Drain(callable_grader(grader.pk), until=time.monotonic() + 20, is_woken=lambda: bool(look()))
        work.run()

    yield run
    engine.engine().abandon()


def test_one_slow_call_does_not_delay_other_scores(single, fake, watched):
    last, saved = threading.Event(), []

    def judge(completion):
        if completion["response"] == "0":
            last.wait(3)
        return 0.5

    def look():
        saved.append(Score.objects.count())
        if saved[-1] == 8:
            last.set()

    fake.judge = judge
    runs_of(TaskFactory(organization=single.organization, graders=[single]), 9)
    watched(single, look)
    assert last.is_set()
    assert Score.objects.count() == 9


def test_open_calls_never_exceed_the_limit_of_the_grader(single, fake, drain):
    at_once, most, lock = 0, 0, threading.Lock()

    def judge(completion):
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        time.sleep(0.02)
        with lock:
            at_once -= 1
        return 0.5

    fake.judge = judge
    runs_of(TaskFactory(organization=single.organization, graders=[single]), 12)
    drain(single)
    assert (Score.objects.count(), most) == (12, 2)


def test_the_lease_is_renewed_during_a_call(single, fake, watched, monkeypatch):
    monkeypatch.setattr(claims, "RENEW_AFTER", timedelta(milliseconds=20))
    fake.gate.clear()
    leases = []

    def look():
        held = WorkflowRun.objects.filter(status="running").values_list("leased_until", flat=True).first()
        if held is not None:
            leases.append(held)
        if len(set(leases)) >= 4:
            fake.gate.set()

    runs_of(TaskFactory(organization=single.organization, graders=[single]), 1)
    watched(single, look)
    assert len(set(leases)) >= 4
    assert leases == sorted(leases)
    assert Score.objects.count() == 1


def test_no_transaction_is_open_during_a_call(single, fake, drain, transactional_db):
    """During one call the results of others may be saved; but no transaction lasts until the current call ends."""
    free, main = [], transaction.get_connection()

    def judge(completion):
        give_up = time.monotonic() + 3
        while main.in_atomic_block and time.monotonic() < give_up:
            time.sleep(0.001)
        free.append(not main.in_atomic_block)
        return 0.5

    fake.judge = judge
    runs_of(TaskFactory(organization=single.organization, graders=[single]), 6)
    drain(single)
    assert free == [True] * 6


def test_large_texts_travel_in_smaller_batches(task, grader, fake, drain):
    for n in range(7):
        RunFactory(completion=CompletionFactory(task=task, prompt="p" * 2**20, response=f"{n}" + "r" * 2**20))
    drain(grader)
    assert Score.objects.count() == 7
    sizes = [sum(len(item["prompt"]) + len(item["response"]) for item in body["completions"]) for _, body in fake.calls]
    assert len(sizes) > 1
    assert max(sizes) <= 10 * 2**20


def test_tasks_with_different_options_get_separate_calls(task, grader, fake, drain):
    plain = TaskFactory(organization=grader.organization, graders=[grader], include_explanation=False)
    runs_of(task, 3)
    runs_of(plain, 3)
    drain(grader)
    options_by_task = {
        (item["taskId"], body["options"]["includeExplanation"])
        for _, body in fake.calls
        for item in body["completions"]
    }
    assert options_by_task == {(task.public_id, True), (plain.public_id, False)}
    assert Score.objects.count() == 6


def test_messages_and_metadata_reach_the_grader_unchanged(task, grader, fake, drain):
    messages = [{"role": "user", "content": "2 + 2? \u2028 🙂"}]
    completion = CompletionFactory(task=task, prompt="2 + 2?", messages=messages, metadata={"b": 1, "a": [None, 0.5]})
    RunFactory(completion=completion)
    drain(grader)
    ((_, body),) = fake.calls
    (item,) = body["completions"]
    assert item == {
        "id": public("comp", completion), "taskId": task.public_id, "prompt": "2 + 2?", "messages": messages,
        "response": "4", "metadata": {"b": 1, "a": [None, 0.5]},
    }  # fmt: skip


def test_each_attempt_says_which_it_is_and_has_an_id_of_its_own(task, grader, fake, drain):
    numbers, ids = [], []

    def busy(handler, path, body):
        numbers.append(handler.headers["X-Autotune-Attempt"])
        ids.append(body["requestId"])
        return 503, {"error": "busy"}, False

    fake.script = [busy] * 3
    runs_of(task, 1)
    for _ in range(3):
        WorkflowRun.objects.update(status="pending")
        drain(grader)
    assert numbers == ["1", "2", "3"]
    assert len(set(ids)) == 3


def test_the_version_that_judged_is_on_the_score(task, grader, fake, drain):
    runs_of(task, 1)
    drain(grader)
    older = Score.objects.get().grader_version_id
    grader.version = GraderVersion.objects.create(grader=grader, label="2.0.0")
    grader.save(update_fields=["version"])
    runs_of(task, 1)
    drain(grader)
    assert older != grader.version_id
    assert set(Score.objects.values_list("grader_version_id", flat=True)) == {older, grader.version_id}
