"""Submissions that meet others, on PostgreSQL: its locks and constraints decide, and no outcome is a 500."""

import threading

import pytest
from django.db import connection, transaction

from autotune.core.crypto import encryption
from autotune.core.models import DataKey
from tasks import definitions
from tasks.models import Completion, Task
from tests.conftest import Api
from tests.factories import ApiKeyFactory, TaskFactory
from tests.scores.submitting import item, problems, rows
from tests.support import submissions
from tests.support.concurrency import PATIENCE_S, aside, together, until

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True, serialized_rollback=True)]
BATCH = "/completions/batch"


@pytest.fixture
def key():
    return ApiKeyFactory(role="training_operator")


@pytest.fixture
def task(key):
    return TaskFactory(organization=key.organization)


def waiting_for_a_lock():
    with connection.cursor() as cursor:
        cursor.execute(
            "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
        )
        return cursor.fetchone()[0]


@pytest.fixture
def before_the_write(monkeypatch):
    """`before_the_write(act)`: `act()` once, when a submission has been checked and is about to be stored."""
    return submissions.before_the_write(monkeypatch)


def deleted_elsewhere(task):
    aside(lambda: definitions.delete(Task.objects.get(pk=task.pk))).result(PATIENCE_S)


def test_a_task_deleted_at_the_same_moment_is_not_found(key, task, before_the_write):
    before_the_write(lambda: deleted_elsewhere(task))
    answer = Api(key.text).post("/completions", item(task, externalId="x"))
    assert problems(answer, 404) == [("/taskId", "not_found")]
    assert rows() == (0, 0)


def test_in_a_batch_a_deleted_task_is_an_error_of_its_items(key, task, before_the_write):
    other = TaskFactory(organization=key.organization)
    body = {"completions": [item(task), item(other), item(task)]}
    before_the_write(lambda: deleted_elsewhere(task))
    answer = Api(key.text).post(f"{BATCH}?partial=true", body)
    assert (answer.status_code, [completion["index"] for completion in answer.json()["completions"]]) == (207, [1])
    assert [(error["index"], error["code"]) for error in answer.json()["errors"]] == [
        (0, "not_found"),
        (2, "not_found"),
    ]
    assert rows() == (1, 1)


def test_a_deletion_that_commits_while_the_submission_waits_for_it(key, task):
    """The submission's check at the commit waits for the deleter's lock on the task, and then finds nothing there."""
    locked, written = threading.Event(), threading.Event()

    def delete():
        with transaction.atomic():
            definitions.delete(Task.objects.get(pk=task.pk))
            locked.set()
            written.wait(PATIENCE_S)

    deletion = aside(delete)
    assert locked.wait(PATIENCE_S)
    submission = aside(lambda: Api(key.text).post("/completions", item(task)))
    until(lambda: waiting_for_a_lock() or submission.done())
    written.set()
    deletion.result(PATIENCE_S)
    assert problems(submission.result(PATIENCE_S), 404) == [("/taskId", "not_found")]
    assert rows() == (0, 0)


def test_concurrent_submissions_and_a_deletion_never_give_500(key):
    for _ in range(5):
        task = TaskFactory(organization=key.organization)

        def submit(task=task):
            return Api(key.text).post("/completions", item(task)).status_code

        def delete(task=task):
            try:
                definitions.delete(Task.objects.get(pk=task.pk))
            except Exception as exc:
                return getattr(exc, "status", 500)
            return 204

        *submitted, deleted = together(submit, submit, submit, delete)
        assert set(submitted) <= {202, 404}
        assert deleted in (204, 409)
        kept = Completion.objects.filter(task_id=task.pk).count()
        assert kept == submitted.count(202)
        assert Task.objects.filter(pk=task.pk).exists() == (deleted == 409)


def test_concurrent_submissions_of_one_external_id_store_one_row(key, task):
    body = item(task, externalId="x", metadata={"a": 1})
    answers = together(*[lambda: Api(key.text).post("/completions", body)] * 6)
    assert sorted(answer.status_code for answer in answers) == [200] * 5 + [202]
    assert len({answer.json()["completion"]["id"] for answer in answers}) == 1
    assert rows() == (1, 1)


def test_concurrent_submissions_of_one_external_id_with_other_content_conflict(key, task):
    works = [
        lambda n=n: Api(key.text).post("/completions", item(task, externalId="x", response=str(n))) for n in (1, 2)
    ]
    answers = together(*works)
    assert sorted(answer.status_code for answer in answers) == [202, 409]
    assert rows() == (1, 1)


def test_two_batches_in_opposite_orders_never_deadlock(key, task):
    batch = [item(task, externalId=f"{n:03}") for n in range(300)]
    works = [
        lambda b=b: Api(key.text).post(BATCH, {"completions": b}) for b in (batch, batch[::-1], batch, batch[::-1])
    ]
    answers = together(*works)
    assert [answer.status_code for answer in answers] == [202] * 4
    ids = [
        {completion["externalId"]: completion["id"] for completion in answer.json()["completions"]}
        for answer in answers
    ]
    assert ids[0] == ids[1] == ids[2] == ids[3]
    assert rows() == (300, 300)


def test_the_first_submission_of_an_organization_and_month_makes_its_data_keys(key, task):
    """Not inside the COPY, whose connection answers no query."""
    DataKey.objects.update(period="2020-01")
    encryption.keyring.clear()
    answer = Api(key.text).post(BATCH, {"completions": [item(task, externalId="x", metadata={"a": 1}), item(task)]})
    assert answer.status_code == 202
    assert DataKey.objects.filter(scope=key.organization_id).count() == 3  # with the month's and the digests'
    encryption.keyring.clear()
    assert Api(key.text).get("/completions").json()["completions"][0]["response"] == "4"


def test_the_data_keys_of_a_refused_first_submission_are_not_remembered(key, task):
    """They were rolled back with it."""
    archived = TaskFactory(organization=key.organization, archived=True)
    DataKey.objects.filter(period="digest").delete()
    encryption.keyring.clear()
    body = {"completions": [item(task, externalId="x"), item(archived)]}
    assert Api(key.text).post(BATCH, body).status_code == 409
    assert Api(key.text).post("/completions", item(task, externalId="x")).status_code == 202
    encryption.keyring.clear()
    assert Api(key.text).post("/completions", item(task, externalId="x")).status_code == 200
