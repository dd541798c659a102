"""Erasures on request: of a completion, a task or a model, in bounded batches that survive a kill."""

import pytest
from django.db import transaction

from scores import jobs
from scores.models import Erasure
from scores.retention import erasing, erasures
from tasks.models import Completion
from tests.factories import CompletionFactory, RunFactory, TaskFactory, public
from tests.scores.submitting import problems


@pytest.fixture
def task(db):
    return TaskFactory()


@pytest.fixture
def api(api_for, task):
    return api_for(organization=task.organization)


def ask(api, **body):
    answer = api.post("/erasures", body)
    assert answer.status_code == 202, answer.content
    return answer.json()["erasure"]


def shown(api, erasure):
    return api.get(f"/erasures/{erasure['id']}").json()["erasure"]


def erased():
    return set(Completion.objects.filter(erased_at__isnull=False))


def test_a_completion_a_task_or_a_model_is_erased_and_nothing_else(api, task):
    first, second = CompletionFactory(task=task), CompletionFactory(task=task)
    sibling = CompletionFactory(task=TaskFactory(organization=task.organization), model_id="model-b")
    strangers = CompletionFactory(model_id="model-b")
    for body, gone in (
        ({"completionId": public("comp", first)}, {first}),
        ({"modelId": "model-b"}, {first, sibling}),
        ({"taskId": public("task", task)}, {first, sibling, second}),
    ):
        erasure = ask(api, **body)
        assert (erasure["status"], erasure["erased"], erasure["completedAt"]) == ("pending", 0, None)
        assert {name: erasure[name] for name in ("completionId", "taskId", "modelId") if erasure[name]} == body
        jobs.erase()
        assert erased() == gone
        done = shown(api, erasure)
        assert (done["status"], done["erased"], done["held"]) == ("completed", 1, 0)
        assert done["completedAt"]
    assert strangers not in erased()


def test_completions_submitted_after_the_request_stay(api, task):
    before = CompletionFactory(task=task)
    ask(api, taskId=public("task", task))
    CompletionFactory(task=task)
    jobs.erase()
    assert erased() == {before}


def test_runs_in_progress_end(api, task):
    run = RunFactory(completion=CompletionFactory(task=task))
    ask(api, taskId=public("task", task))
    jobs.erase()
    run.refresh_from_db()
    assert (run.status, run.error_code) == ("failed", "erased")


def test_a_killed_job_is_resumed_and_counts_nothing_twice(api, task, monkeypatch):
    for name, value in (("AT_ONCE", 2),):
        monkeypatch.setattr(erasing, name, value)
    monkeypatch.setattr(erasures, "READ_LIMIT", 3)
    for n in range(7):
        CompletionFactory(task=task, model_id="model-a" if n % 2 else "model-b")
    erasure = ask(api, modelId="model-a")
    assert erasures.step()
    assert shown(api, erasure)["status"] == "running"
    with transaction.atomic():
        erasures.step()
        transaction.set_rollback(True)  # as a kill before the commit does
    jobs.erase()
    assert (shown(api, erasure)["erased"], shown(api, erasure)["status"]) == (3, "completed")
    assert {completion.model_id for completion in erased()} == {"model-a"}
    assert len(erased()) == 3


def test_a_job_ends_in_time_and_schedules_another(api, task, monkeypatch):
    ask(api, taskId=public("task", task))
    assert erasures.work(budget_s=0.0) is True
    assert erasures.work() is False
    assert erasures.work() is False


def test_the_worker_is_woken_after_the_commit(api, task, monkeypatch, django_capture_on_commit_callbacks):
    sent = []
    monkeypatch.setattr(erasures.queue, "send", sent.append)
    with django_capture_on_commit_callbacks(execute=True):
        ask(api, taskId=public("task", task))
    assert sent == ["scores.erase"]


def test_an_invalid_request_names_its_member(api, task):
    other = CompletionFactory()
    assert problems(api.post("/erasures", {})) == [("", "missing_field")]
    both = {"modelId": "m", "taskId": public("task", task)}
    assert sorted(problems(api.post("/erasures", both))) == [
        ("/modelId", "mutually_exclusive"), ("/taskId", "mutually_exclusive"),
    ]  # fmt: skip
    for body, pointer in (
        ({"completionId": public("comp", other)}, "/completionId"),
        ({"taskId": public("task", other.task)}, "/taskId"),
    ):
        assert problems(api.post("/erasures", body), 404) == [(pointer, "not_found")]
    assert problems(api.post("/erasures", {"taskId": "x"})) == [("/taskId", "malformed_id")]
    assert not Erasure.objects.exists()


def test_the_list_has_own_erasures_and_filters_by_status(api, api_for, task):
    first, second = ask(api, modelId="a"), ask(api, modelId="b")
    erasures.step()
    ask(api_for(), modelId="a")
    assert [erasure["id"] for erasure in api.get("/erasures").json()["erasures"]] == [second["id"], first["id"]]
    assert [erasure["id"] for erasure in api.get("/erasures?status=completed").json()["erasures"]] == [first["id"]]


def test_roles_that_may_request_erasures(api_for, task, operating):
    stranger = api_for()
    erasure = ask(api_for(organization=task.organization), modelId="m")
    for role in ("training_operator", "reviewer", "grader_owner"):
        api = api_for(organization=task.organization, role=role)
        codes = [api.get("/erasures"), api.get(f"/erasures/{erasure['id']}"), api.post("/erasures", {"modelId": "m"})]
        assert [answer.status_code for answer in codes] == [403] * 3, role
    assert stranger.get(f"/erasures/{erasure['id']}").status_code == 404
    admin = api_for(organization=operating, role="admin")
    assert admin.get(f"/erasures/{erasure['id']}").status_code == 200
    assert ask(admin, taskId=public("task", task))["organizationId"] == public("org", task.organization)


def test_the_same_request_with_its_key_is_one_erasure(api):
    answers = [api.post("/erasures", {"modelId": "m"}, Idempotency_Key="k").json() for _ in range(2)]
    assert answers[0] == answers[1]
    assert Erasure.objects.count() == 1
