"""Two models with equal answers at the same moment, on PostgreSQL: graders judge one, and no call waits forever."""

import pytest
from django.db import connection, transaction

from scores.engine import copies, settling, sweep
from scores.intake import rescoring
from scores.live import answering, reuse
from scores.models import LiveAnswer, Reward, Score, WorkflowRun
from scores.results import waiting
from scores.retention import erasing
from tasks.models import Completion
from tests.scores.live.judging import due, fail, judge
from tests.scores.live.test_copies import completion_of, principal
from tests.scores.live.test_rewards_races import ask, waits_for_a_lock
from tests.support.concurrency import PATIENCE_S, aside, together, until

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True, serialized_rollback=True)]
MANY = [f"good {number}" for number in range(30)]


@pytest.fixture(autouse=True)
def _nobody_waits_any_more():
    yield
    until(lambda: waiting.hub._count == 0)


class TestAtTheSameMoment:
    def test_c10_two_models_are_judged_once(self, key, live_task):
        together(*[ask(key, live_task, "good", modelId=model) for model in "ABABCD"])
        assert Completion.objects.count() == 4
        assert (len(due()), WorkflowRun.objects.filter(waits_for="reuse").count()) == (1, 3)
        judge()
        sweep.sweep(passes=1)
        assert list(Reward.objects.values_list("value", flat=True)) == [1.0] * 4

    def test_overlapping_requests_in_different_orders_never_deadlock(self, key, live_task):
        requests = [
            ask(key, live_task, *MANY, modelId="A"),
            ask(key, live_task, *reversed(MANY), modelId="B"),
            ask(key, live_task, *MANY[10:], modelId="C"),
        ] * 2
        together(*requests)
        assert Completion.objects.count() == 80
        assert len(due()) == 30
        judge()
        while copies.sweep():
            pass
        assert Reward.objects.filter(value=1.0).count() == 80

    def test_stale_judgements_are_replaced_once(self, key, live_task):
        """All find the same old judgement, of another version of the grader."""
        ask(key, live_task, "good", modelId="A")()
        judge({"good": 0.25})
        grader = live_task.version.members.get().grader
        grader.version = grader.versions.create(label="2.0.0")
        grader.save(update_fields=["version"])
        together(*[ask(key, live_task, "good", modelId=model) for model in "BCABCD"])
        assert len(due()) == 1
        judge()
        sweep.sweep(passes=1)
        newest = {model: Reward.objects.filter(completion__model_id=model).latest("pk").value for model in "ABCD"}
        assert newest == dict.fromkeys("ABCD", 1.0)

    def test_c19_concurrent_fresh_calls_are_each_judged(self, key, live_task):
        together(*[ask(key, live_task, "good", "bad", "good", fresh=True, modelId=model) for model in "ABAB"])
        assert len(due()) == 12
        assert LiveAnswer.objects.count() == 4
        judge()
        assert Score.objects.filter(reused_from=None).count() == 12

    def test_concurrent_fresh_and_other_calls_all_end(self, key, live_task):
        requests = [
            ask(key, live_task, *MANY, modelId="A"),
            ask(key, live_task, *reversed(MANY), fresh=True, modelId="B"),
        ]
        together(*requests * 2)
        judge()
        while copies.sweep():
            pass
        assert Reward.objects.count() == Completion.objects.count()

    def test_one_whose_rival_is_rolled_back_is_judged(self, key, live_task, monkeypatch):
        real, futures = answering._store, []

        def store(request, drafts):
            real(request, drafts)
            if not futures:
                futures.append(aside(ask(key, live_task, "good", modelId="B")))
                until(waits_for_a_lock)
                raise RuntimeError("the process ends here")

        monkeypatch.setattr(answering, "_store", store)
        with pytest.raises(AssertionError):
            ask(key, live_task, "good", modelId="A")()
        futures[0].result(PATIENCE_S)
        assert [run.completion.model_id for run in due()] == ["B"]


class TestWhileItIsStored:
    @pytest.fixture
    def between(self, monkeypatch):
        """`between(work)` runs `work` once in its own connection, after the lookup and before the record is stored."""

        def arrange(work):
            real, acted = reuse.take, []

            def take(*args, **kwargs):
                if not acted:
                    acted.append(True)
                    aside(work).result(PATIENCE_S)
                return real(*args, **kwargs)

            monkeypatch.setattr(reuse, "take", take)

        return arrange

    def test_a_source_that_is_saved_then_is_copied_in_the_call(self, key, live_task, between):
        ask(key, live_task, "good", modelId="A")()
        between(judge)
        assert ask(key, live_task, "good", modelId="B")()[0]["value"] == 1.0

    def test_a_source_that_is_erased_then_leaves_it_to_be_judged(self, key, live_task, between):
        ask(key, live_task, "good", modelId="A")()
        judge()
        source = completion_of("A").pk
        between(lambda: erasing.erase([source], end_unfinished=True))
        assert ask(key, live_task, "good", modelId="B")()[0]["status"] == "pending"
        assert [run.completion.model_id for run in due()] == ["B"]

    def test_a_source_that_fails_then_leaves_it_to_be_judged(self, key, live_task, between):
        ask(key, live_task, "good", modelId="A")()
        between(fail)
        ask(key, live_task, "good", modelId="B")()
        assert [run.completion.model_id for run in due()] == ["B"]

    def test_a_source_that_is_scored_again_then_is_copied(self, key, live_task, between):
        ask(key, live_task, "good", modelId="A")()
        judge()
        source = completion_of("A").pk

        def rescore():
            rescoring.rescore(source, principal(key))
            judge({"good": 0.5})

        between(rescore)
        assert ask(key, live_task, "good", modelId="B")()[0]["value"] == 0.5

    def test_the_sweep_sees_a_save_committed_after_the_last_check(self, key, live_task, monkeypatch):
        """No wake-up is needed: the answering call saw nothing, and the process is killed."""
        ask(key, live_task, "good", modelId="A")()
        monkeypatch.setattr(answering.LiveSubmission, "end_copies", lambda submitted: judge())
        assert ask(key, live_task, "good", modelId="B")()[0]["status"] == "pending"
        monkeypatch.undo()
        sweep.sweep(passes=1)
        assert Reward.objects.get(completion__model_id="B").value == 1.0


class TestWhileItIsCopied:
    def test_concurrent_ends_copy_once(self, key, live_task):
        ask(key, live_task, *MANY, modelId="A")()
        for model in "BC":
            ask(key, live_task, *reversed(MANY), modelId=model)()
        judge()
        sources = dict(WorkflowRun.objects.filter(waits_for="reuse").values_list("completion_id", "reuses"))
        together(*[copies.sweep, lambda: copies.end(sources)] * 3)
        assert Score.objects.count() == Reward.objects.count() == 90

    def test_an_erasure_of_the_source_waits_or_wins(self, key, live_task):
        ask(key, live_task, *MANY, modelId="A")()
        ask(key, live_task, *MANY, modelId="B")()
        judge()
        erased_ids = list(Completion.objects.filter(model_id="A").values_list("pk", flat=True))
        together(copies.sweep, lambda: erasing.erase(erased_ids, end_unfinished=True))
        copies.sweep()
        runs_of_b = WorkflowRun.objects.filter(completion__model_id="B")
        assert set(runs_of_b.values_list("status", flat=True)) in ({"completed"}, {"pending"})
        assert Score.objects.exclude(reused_from=None).count() == runs_of_b.filter(status="completed").count()

    def test_of_an_erasure_and_the_end_of_a_copy_one_wins(self, key, live_task):
        ask(key, live_task, *MANY, modelId="A")()
        ask(key, live_task, *MANY, modelId="B")()
        judge()
        erased_ids = list(Completion.objects.filter(model_id="B").values_list("pk", flat=True))
        together(copies.sweep, lambda: erasing.erase(erased_ids, end_unfinished=True))
        assert Reward.objects.filter(completion__model_id="B").count() == 30
        assert not WorkflowRun.objects.filter(waits_for="reuse").exists()
        assert not Score.objects.filter(completion__model_id="B", reasoning__isnull=False).exists()

    def test_a_process_that_is_killed_in_the_middle_leaves_it_to_the_sweep(self, key, live_task, monkeypatch):
        ask(key, live_task, "good", modelId="A")()
        ask(key, live_task, "good", modelId="B")()
        judge()
        monkeypatch.setattr(copies.statements, "copy", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            copies.sweep()
        monkeypatch.undo()
        assert WorkflowRun.objects.filter(waits_for="reuse").count() == 1
        copies.sweep()
        assert Reward.objects.filter(value=1.0).count() == 2

    def test_it_locks_completions_before_runs(self, key, live_task):
        ask(key, live_task, "good", modelId="A")()
        ask(key, live_task, "good", modelId="B")()
        judge()
        with transaction.atomic():
            settling.lock([completion_of("A").pk])
            future = aside(copies.sweep)
            until(waits_for_a_lock)
            run = WorkflowRun.objects.select_for_update(nowait=True).get(waits_for="reuse")
            assert run.status == "waiting"
        assert len(future.result(PATIENCE_S)) == 1


class TestWaiting:
    def test_the_call_is_woken_when_the_source_is_judged(self, key, live_task):
        ask(key, live_task, "good", modelId="A")()
        future = aside(ask(key, live_task, "good", modelId="B", deadlineMs=60_000))
        until(lambda: waiting.hub._sources)
        judge()
        assert future.result(PATIENCE_S)[0]["value"] == 1.0
        assert waiting.hub._sources == {}

    def test_many_calls_are_woken_when_the_sources_are_judged(self, key, live_task):
        futures = [
            aside(ask(key, live_task, *MANY, modelId=model, deadlineMs=60_000)) for model in ("A", "B", "C", "B")
        ]
        until(lambda: waiting.hub._count == 4 and Completion.objects.count() == 90)
        judge()
        assert {reward["value"] for future in futures for reward in future.result(PATIENCE_S)} == {1.0}

    def test_when_the_source_fails_it_waits_for_its_own_judgement(self, key, live_task):
        ask(key, live_task, "good", modelId="A")()
        future = aside(ask(key, live_task, "good", modelId="B", deadlineMs=60_000))
        until(lambda: waiting.hub._sources)
        fail()
        until(lambda: [run.completion.model_id for run in due()] == ["B"])
        assert not future.done()
        judge()
        assert future.result(PATIENCE_S)[0]["value"] == 1.0

    def test_the_deadline_ends_the_wait_and_not_the_work(self, key, live_task):
        ask(key, live_task, "good", modelId="A")()
        assert ask(key, live_task, "good", modelId="B", deadlineMs=200)()[0]["status"] == "pending"
        judge()
        copies.sweep()
        assert Reward.objects.get(completion__model_id="B").value == 1.0


def test_the_sweep_reads_the_index_of_waiting_runs(db):
    """The sweep never reads the whole table, however few rows the planner expects."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("set local enable_seqscan = off")
        plan = copies._page().explain()
    assert "scores_run_reusing" in plan
    assert "Sort" not in plan
