"""After the commit each grader is woken once; a broker that is away fails nothing."""

import pytest
from django.conf import settings
from django.db import transaction

from autotune.core import redis
from autotune.core.brokers import queue
from scores.engine import wakeups
from tests.factories import GraderFactory, TaskFactory
from tests.scores.submitting import item, rows

pytestmark = pytest.mark.django_db
BATCH = "/completions/batch"


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def sent(monkeypatch):
    """What goes to the broker."""
    messages = []
    monkeypatch.setattr(queue.current_app, "send_task", lambda job, args=(), **_: messages.append((job, *args)))
    return messages


def panel(api, *graders):
    return TaskFactory(organization=api.organization, graders=list(graders))


def test_each_grader_of_a_batch_is_woken_once_after_the_commit(api, sent, django_capture_on_commit_callbacks):
    grader_a, grader_b, shadow = (GraderFactory(organization=api.organization) for _ in range(3))
    first, second = panel(api, grader_a, (shadow, 1.0, "shadow")), panel(api, grader_a, grader_b)
    with django_capture_on_commit_callbacks(execute=True):
        answer = api.post(BATCH, {"completions": [item(first), item(second)] * 20})
        assert answer.status_code == 202
        assert sent == []
    assert sorted(sent) == sorted((wakeups.JOB, str(grader.pk)) for grader in (grader_a, grader_b, shadow))


def test_a_refused_submission_wakes_no_grader(api, sent, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        assert (
            api.post(BATCH, {"completions": [item(TaskFactory(organization=api.organization)), None]}).status_code
            == 400
        )
    assert sent == []


def test_an_existing_completion_wakes_no_grader(api, sent, django_capture_on_commit_callbacks):
    task = TaskFactory(organization=api.organization)
    api.post("/completions", item(task, externalId="x"))
    with django_capture_on_commit_callbacks(execute=True):
        assert api.post("/completions", item(task, externalId="x")).status_code == 200
    assert sent == []


def test_an_unavailable_broker_fails_no_submission(api, monkeypatch, django_capture_on_commit_callbacks):
    def away(*args, **kwargs):
        raise ConnectionError("no broker")

    monkeypatch.setattr(queue.current_app, "send_task", away)
    with django_capture_on_commit_callbacks(execute=True):
        assert api.post("/completions", item(TaskFactory(organization=api.organization))).status_code == 202
    assert rows() == (1, 1)


def test_an_unavailable_redis_fails_no_submission(api, sent, monkeypatch, django_capture_on_commit_callbacks):
    monkeypatch.setattr(settings, "REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setattr(redis, "_client", None)
    monkeypatch.setattr(redis, "_away_until", 0.0)
    with django_capture_on_commit_callbacks(execute=True):
        assert api.post("/completions", item(TaskFactory(organization=api.organization))).status_code == 202
    assert len(sent) == 1


@pytest.mark.redis
def test_a_pending_wake_up_is_not_sent_again(sent):
    grader = GraderFactory()
    wakeups.acknowledge(grader.pk)
    wakeups.send(grader.pk)
    wakeups.send(grader.pk)
    assert len(sent) == 1
    wakeups.acknowledge(grader.pk)
    wakeups.send(grader.pk)
    assert len(sent) == 2


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_a_wake_up_waits_for_the_outermost_commit(sent):
    grader = GraderFactory()
    wakeups.acknowledge(grader.pk)
    with transaction.atomic():
        with transaction.atomic():
            wakeups.on_commit([grader.pk, grader.pk])
        assert sent == []
    assert sent == [(wakeups.JOB, str(grader.pk))]
