"""Workflow runs through the client: found by their failure, retried, cancelled; completions scored again."""

import pytest
from autotune_sdk import ConflictError, RetrySkip

from tests.support.submitting import is_recent, items

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)


def test_failed_runs_are_found_by_code_and_retried(client, grader, score, fake):
    task = client.tasks.create(name="Runs", prompt_template="{{q}}", grader_id=grader.id)
    fake.judge, right = (lambda completion: "cannot"), fake.judge
    taken = client.completions.submit_batch(items(3), task_id=task.id).ids
    score()

    failed_runs = client.workflow_runs.list(status="failed", code="grader_error", task_id=task.id, sort="createdAt")
    assert ([run.completion_id for run in failed_runs], failed_runs.total) == (taken, 3)
    iterated = client.workflow_runs.iterate(task_id=task.id, page_size=2)
    assert [run.id for run in iterated] == [run.id for run in failed_runs][::-1]
    first = client.workflow_runs.get(failed_runs.items[0].id)
    assert (first.error.code, first.error.fault, first.current_step) == ("grader_error", "grader", None)
    assert first.error.message.startswith("cannot. ")
    assert is_recent(first.completed_at)
    assert [step.step for step in first.steps] == ["queue", "call"]

    fake.judge = right
    assert client.workflow_runs.retry(first.id).status == "pending"
    with pytest.raises(ConflictError) as caught:
        client.workflow_runs.retry(first.id)
    assert caught.value.code == "not_failed"
    done = client.workflow_runs.retry_matching(code="grader_error", task_id=task.id)
    assert (done.retried, done.skipped, done.more) == (2, (), False)
    score()
    assert {client.completions.score(completion_id).status for completion_id in taken} == {"completed"}
    again = client.workflow_runs.get(first.id)
    assert (again.status, again.error, again.result.completion_id) == ("completed", None, taken[0])


def test_a_run_is_cancelled_and_a_superseded_run_is_skipped(client, grader, score):
    task = client.tasks.create(name="Ended", prompt_template="{{q}}", grader_id=grader.id)
    (sent,) = client.completions.submit_batch(items(1), task_id=task.id).completions
    ended = client.workflow_runs.cancel(sent.workflow_run_ids[0])
    assert (ended.status, ended.error.code, ended.error.fault) == ("failed", "cancelled", "caller")
    (new,) = client.completions.rescore(sent.id)
    assert client.completions.get(sent.id).workflow_run_ids == (*sent.workflow_run_ids, new)
    assert client.workflow_runs.retry_matching(completion_id=sent.id).skipped == (RetrySkip("superseded", 1),)
    with pytest.raises(ConflictError):
        client.completions.rescore(sent.id)
    score()
    assert client.completions.score(sent.id).status == "completed"
