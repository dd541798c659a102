"""Requests with one key that meet, on PostgreSQL: one does the work, and no outcome is a 500."""

import threading

import pytest
from django.db import connection

from autotune.access.idempotency import answers as stored_answers
from autotune.access.models import StoredAnswer
from tasks import definitions
from tasks.models import Task
from tests.conftest import Api
from tests.factories import ApiKeyFactory, TaskFactory
from tests.scores.submitting import item, problems, rows
from tests.support import submissions
from tests.support.concurrency import PATIENCE_S, aside, together

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True, serialized_rollback=True)]
ONE, BATCH = "/completions", "/completions/batch"


@pytest.fixture
def key():
    return ApiKeyFactory(role="training_operator")


@pytest.fixture
def task(key):
    return TaskFactory(organization=key.organization)


@pytest.fixture
def post(key):
    """`post(path, body, "k")`: a work for a thread of its own."""
    return lambda path, body, idempotency_key="k": (
        lambda: Api(key.text).post(path, body, idempotency_key=idempotency_key)
    )


@pytest.fixture
def before_the_write(monkeypatch):
    """`before_the_write(act)`: `act()` once, when a submission has been checked and is about to be stored."""
    return submissions.before_the_write(monkeypatch)


def is_in_flight(answer):
    return (answer.status_code, answer.json().get("code"), answer.get("Retry-After")) == (
        409, "idempotency_in_flight", "1",
    )  # fmt: skip


@pytest.mark.parametrize(("path", "wrap"), [(ONE, False), (BATCH, True)], ids=["one", "batch"])
def test_fifty_concurrent_requests_store_one_row_and_get_one_response_or_a_retry(task, post, path, wrap):
    body = {"completions": [item(task)]} if wrap else item(task)
    answers = together(*[post(path, body)] * 50)
    assert rows() == (1, 1)
    answered = [answer for answer in answers if not is_in_flight(answer)]
    assert {answer.status_code for answer in answered} == {202}
    assert len({answer.content for answer in answered}) == 1
    assert [answer.get("Idempotency-Replayed") for answer in answered].count(None) == 1
    assert StoredAnswer.objects.count() == 1
    assert post(path, body)()["Idempotency-Replayed"] == "true"


def test_of_concurrent_bodies_one_is_accepted(task, post):
    bodies = [item(task, response=str(number)) for number in range(6)]
    answers = together(*[post(ONE, body) for body in bodies])
    assert sorted({answer.status_code for answer in answers} - {409, 422}) == [202]
    assert [answer.status_code for answer in answers].count(202) == 1
    assert rows() == (1, 1)


def test_a_concurrent_request_is_in_flight_until_the_first_one_ends(task, post, before_the_write):
    begun, may_go_on = threading.Event(), threading.Event()

    def wait():
        begun.set()
        assert may_go_on.wait(PATIENCE_S)

    before_the_write(wait)
    first = aside(post(ONE, item(task)))
    assert begun.wait(PATIENCE_S)
    assert is_in_flight(post(ONE, item(task))())
    assert post(ONE, item(task), "another")().status_code == 202
    may_go_on.set()
    answer = first.result(PATIENCE_S)
    again = post(ONE, item(task))()
    assert (again.content, again["Idempotency-Replayed"]) == (answer.content, "true")
    assert rows() == (2, 2)


def test_a_task_deleted_at_the_same_moment_is_not_found(task, post, before_the_write):
    """Its key is checked at the commit, which is that of the stored answer."""
    before_the_write(lambda: aside(lambda: definitions.delete(Task.objects.get(pk=task.pk))).result(PATIENCE_S))
    assert problems(post(ONE, item(task, externalId="x"))(), 404) == [("/taskId", "not_found")]
    assert rows() == (0, 0)
    assert StoredAnswer.objects.count() == 0


def test_one_external_id_under_several_keys_is_one_row(task, post):
    body = item(task, externalId="x", metadata={"a": 1})
    answers = together(*[post(ONE, body, f"k{number}") for number in range(6)])
    assert sorted(answer.status_code for answer in answers) == [200] * 5 + [202]
    assert len({answer.json()["completion"]["id"] for answer in answers}) == 1
    assert rows() == (1, 1)
    assert StoredAnswer.objects.count() == 6


def test_an_external_id_taken_by_a_concurrent_request_is_found_in_the_same_transaction(task, post, before_the_write):
    body = item(task, externalId="x")
    before_the_write(lambda: aside(post(ONE, body, "rival")).result(PATIENCE_S))
    answer = post(ONE, body)()
    assert (answer.status_code, answer.json()["existing"]) == (200, True)
    assert rows() == (1, 1)


def test_a_connection_that_breaks_before_the_commit_leaves_neither_work_nor_answer(task, post, monkeypatch):
    """A repeated request is processed once."""
    stored, broken = stored_answers.answer_row, []

    def row(*args):
        if not broken:
            broken.append(True)
            with connection.cursor() as cursor:
                cursor.execute("select pg_backend_pid()")
                (backend,) = cursor.fetchone()
            aside(lambda: _terminate(backend)).result(PATIENCE_S)
        return stored(*args)

    monkeypatch.setattr(stored_answers, "answer_row", row)
    assert aside(post(ONE, item(task))).result(PATIENCE_S).status_code == 503
    assert rows() == (0, 0)
    assert StoredAnswer.objects.count() == 0
    assert post(ONE, item(task))().status_code == 202
    assert post(ONE, item(task))()["Idempotency-Replayed"] == "true"
    assert rows() == (1, 1)


def _terminate(backend):
    with connection.cursor() as cursor:
        cursor.execute("select pg_terminate_backend(%s)", [backend])
