"""Erasures that meet scoring, callbacks, exports, decisions, holds and each other."""

import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from autotune.webhooks.events import fanout
from autotune.webhooks.models import Event
from exports.reading import left_out, ranges
from scores.engine import recording
from scores.engine.call_results import CallResults
from scores.engine.materials import TaskFactsCache
from scores.models import Erasure, Reward, Score, WorkflowRun
from scores.retention import deleting, erasing, erasures, expiry, legal_holds
from scores.retention.legal_holds import RetentionScope
from tasks.models import Completion
from tests.conftest import Api
from tests.factories import (
    ApiKeyFactory,
    CompletionFactory,
    GraderFactory,
    ReviewFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
    WebhookFactory,
    public,
)
from tests.support.calling_back import call_back, status_and_code
from tests.support.concurrency import aside, together, until
from tests.support.results import Bench, claim, judged, state

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)

TEXTS = ("prompt", "response", "messages", "metadata")


def erase(*runs):
    return erasing.erase([run.completion_id for run in runs], end_unfinished=True)


def left():
    """What is still readable of any completion, score or event."""
    texts = Completion.objects.exclude(**{f"{name}__isnull": True for name in TEXTS}).count()
    reasons = Score.objects.filter(reasoning__isnull=False).count()
    return texts + reasons + Event.objects.filter(body__isnull=False).count()


def test_during_a_call_the_run_ends_and_the_response_is_dropped(fake, drain):
    grader = GraderFactory(endpoint=fake.url)
    task = TaskFactory(organization=grader.organization, graders=[grader])
    runs = [RunFactory(completion=CompletionFactory(task=task)) for _ in range(3)]
    fake.gate.clear()
    drained = aside(lambda: drain(grader))
    try:
        until(lambda: fake.calls)
        erase(runs[1])
    finally:
        fake.gate.set()
    drained.result(20)
    assert [state(run)[:2] for run in runs] == [("completed", ""), ("failed", "erased"), ("completed", "")]
    assert Score.objects.count() == 2
    assert Reward.objects.get(pk=runs[1].completion_id).error_code == "erased"


def test_a_concurrent_save_and_erasure_leave_no_reasoning():
    bench = Bench()
    WebhookFactory(organization=bench.task.organization, events=["score.completed", "score.failed"])
    for _ in range(8):
        run = bench.run()
        claimed = claim(run)
        together(
            lambda held=claimed: bench.save([bench.judged(held, reasoning="because")]),
            lambda held=run: erase(held),
            fanout.fan_out,
        )
        while fanout.fan_out():
            pass
        assert state(run)[0] in ("completed", "failed")
        assert not Score.objects.filter(reasoning__isnull=False).exists()
        for event in Event.objects.filter(subject_id=run.completion_id, body__isnull=False):
            assert "because" not in event.body
    assert Reward.objects.count() == 8


@pytest.fixture
def accepted_batch(fake, drain):
    fake.answers_later = True
    grader = GraderFactory(endpoint=fake.url, max_batch_size=2, supports_async=True)
    task = TaskFactory(organization=grader.organization, graders=[grader])
    runs = [RunFactory(completion=CompletionFactory(task=task)) for _ in range(2)]
    drain(grader)
    (request,) = fake.accepted
    by_id = {public("comp", run.completion): run for run in runs}
    return request, [by_id[item["id"]] for item in request["completions"]]


def test_a_callback_for_an_erased_completion_is_cancelled(accepted_batch, fake):
    request, runs = accepted_batch
    erase(*runs)
    reply = call_back(request, fake.judged(request))
    assert (reply.status_code, reply.json()["code"]) == (404, "not_found")
    assert not Score.objects.exists()


def test_a_concurrent_callback_and_erasure_both_end(accepted_batch, fake):
    request, runs = accepted_batch
    reply, _ = together(lambda: call_back(request, fake.judged(request)), lambda: erase(*runs))
    assert reply.status_code in (200, 404, 410), reply.content
    assert left() == 0
    ended = {state(run)[:2] for run in runs}
    assert ended == ({("completed", "")} if reply.status_code == 200 else {("failed", "erased")})


def test_of_a_batch_one_item_is_erased_and_the_other_recorded(accepted_batch, fake):
    request, (erased, kept) = accepted_batch
    reply, _ = together(lambda: status_and_code(call_back(request, fake.judged(request))), lambda: erase(erased))
    assert reply == (200, "recorded")
    assert state(kept)[:2] == ("completed", "")
    assert Score.objects.filter(completion=erased.completion_id, reasoning__isnull=False).count() == 0


def test_a_running_export_leaves_out_erased_completions():
    scores = [ScoreFactory(run__completion__response=f"r{n}") for n in range(3)]
    heads = [
        ranges.RecordHead(
            score.completion_id.bytes,
            score.task_id.bytes,
            b"m",
            10,
            0.5,
            0.9,
            0,
            None,
            None,
            None,
            score.completion.task_version_id.bytes,
            b"prompt",
            None,
            None,
        )
        for score in scores
    ]

    class Reader:
        forms = left_out.ALL

        def heads(self, after, limit):
            erase(scores[1].run)  # between the look at the rewards and the look at the texts
            return heads, None

    (group,) = list(ranges.groups(Reader(), columns=["response"]))
    assert (group.texts, group.left_out) == ([[b"r0", b"r2"]], 1)


def test_a_concurrent_decision_and_erasure_leave_no_text():
    for _ in range(4):
        review = ReviewFactory()
        reviewer = ApiKeyFactory(role="reviewer", organization=review.organization)
        path = f"/reviews/{review.public_id}"
        answers = together(
            lambda key=reviewer, path=path: Api(key.text).post(f"{path}/claim", Idempotency_Key="k"),
            lambda run=review.run: erase(run),
        )
        assert answers[0].status_code in (200, 409)
        again = Api(reviewer.text).post(f"{path}/claim", Idempotency_Key="k")
        assert again.status_code in (409, 410)
        assert left() == 0


def test_two_concurrent_erasures_count_each_completion_once():
    bench = Bench()
    for _ in range(6):
        bench.run()
    by = bench.task.created_by
    for _ in range(2):
        erasures.request(RetentionScope(bench.task.organization_id, task_id=bench.task.pk), by)
    together(*[lambda: erasures.work()] * 3)
    done = list(Erasure.objects.values_list("status", flat=True))
    assert done == ["completed"] * 2
    assert sum(Erasure.objects.values_list("erased", flat=True)) == 6


def test_concurrent_erasures_retention_and_saves_never_deadlock():
    """Panels of two, batches that overlap: all lock callbacks, completions and runs in one order."""
    graders = [GraderFactory(), GraderFactory()]
    task = TaskFactory(graders=graders)
    completions = [CompletionFactory(task=task) for _ in range(12)]
    held = [
        [claim(RunFactory(completion=completion, grader=grader, panel_size=2)) for completion in completions]
        for grader in graders
    ]
    pks = [completion.pk for completion in completions]

    def save(which):
        grader = graders[which]
        for claimed in held[which]:
            recording.save(
                grader.pk,
                grader.version_id,
                CallResults([judged(claimed, version_id=task.version_id, reasoning="because")]),
                TaskFactsCache(),
            )

    together(
        lambda: save(0),
        lambda: save(1),
        lambda: erasing.erase(pks[::-1], end_unfinished=True),
        lambda: [deleting.delete_completion(pk) for pk in pks],
    )
    assert left() == 0
    assert Reward.objects.count() == 12
    assert not WorkflowRun.objects.exclude(status__in=("completed", "failed")).exists()


@pytest.mark.postgres
def test_a_hold_waits_for_an_erasure_that_began_without_it_and_stops_the_next():
    score = ScoreFactory()
    scope, by = RetentionScope(score.organization_id), score.completion.created_by
    begun, go_on = threading.Event(), threading.Event()

    def erasure():
        with transaction.atomic():
            erase(score.run)
            begun.set()
            go_on.wait(20)

    erasing_ = aside(erasure)
    assert begun.wait(20)
    placing = aside(lambda: legal_holds.place(scope, "r", by))
    until(_waits_for_an_advisory_lock)
    go_on.set()
    erasing_.result(20), placing.result(20)
    other = ScoreFactory(run__completion__task=score.task)
    assert erase(other.run).held == [other.completion_id]


@pytest.mark.postgres
def test_an_erasure_waits_for_a_hold_that_is_being_placed():
    score = ScoreFactory()
    begun, go_on = threading.Event(), threading.Event()

    def hold():
        with transaction.atomic():
            legal_holds.place(RetentionScope(score.organization_id), "r", score.completion.created_by)
            begun.set()
            go_on.wait(20)

    placing = aside(hold)
    assert begun.wait(20)
    erasing_ = aside(lambda: erase(score.run))
    until(_waits_for_an_advisory_lock)
    go_on.set()
    placing.result(20)
    assert erasing_.result(20).held == [score.completion_id]


def test_concurrent_retention_runs_work_once():
    task = TaskFactory(text_days=1)
    for _ in range(5):
        ScoreFactory(run__completion__task=task)
    later = timezone.now() + timedelta(days=2)
    assert together(*[lambda: expiry.work(later)] * 3) == [False] * 3
    assert left() == 0


def _waits_for_an_advisory_lock():
    with connection.cursor() as cursor:
        cursor.execute("select count(*) from pg_locks where locktype = 'advisory' and not granted")
        return cursor.fetchone()[0]


def test_a_concurrent_retry_and_erasure_store_no_response_with_the_text():
    task = TaskFactory()
    key = ApiKeyFactory(organization=task.organization)
    body = {"taskId": public("task", task), "modelId": "m", "prompt": "p", "response": "r", "externalId": "x"}
    Api(key.text).post("/completions", body)
    run = WorkflowRun.objects.get()
    answer, _ = together(lambda: Api(key.text).post("/completions", body, Idempotency_Key="k"), lambda: erase(run))
    assert answer.status_code in (200, 409)
    again = Api(key.text).post("/completions", body, Idempotency_Key="k")
    assert again.status_code in (409, 410) or again.json()["completion"]["prompt"] is None
