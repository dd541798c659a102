"""Wake-ups are hints: sent after the commit, at most one at a time, and nothing fails without a broker."""

import time
import uuid

import pytest
import redis as redis_client
from django.conf import settings
from django.db import transaction

from autotune.core import redis
from autotune.core.brokers import queue
from scores.engine import wakeups
from tests.support.broker import broker, memory_broker

GRADER = uuid.UUID(int=7)
WAKE_UP = (wakeups.JOB, str(GRADER))
NOBODY = "redis://127.0.0.1:1/0"


@pytest.fixture
def messages():
    with memory_broker() as running:
        yield running


@pytest.fixture(autouse=True)
def _no_mark():
    wakeups.acknowledge(GRADER)
    yield
    wakeups.acknowledge(GRADER)


def mark():
    """Milliseconds until the mark of a queued wake-up expires; negative without one."""
    return redis_client.Redis.from_url(settings.REDIS_URL).pttl(wakeups._mark(GRADER))


def test_a_wake_up_names_its_job_and_the_grader(messages):
    wakeups.send(GRADER)
    assert messages.take() == [("scores.score_pending", str(GRADER))]


def test_it_is_sent_after_the_commit_once_for_each_grader(db, messages, django_capture_on_commit_callbacks):
    other = uuid.UUID(int=8)
    with django_capture_on_commit_callbacks(execute=True):
        wakeups.on_commit([GRADER, other, GRADER])
        assert messages.take() == []
    assert sorted(messages.take()) == [WAKE_UP, (wakeups.JOB, str(other))]
    wakeups.acknowledge(other)


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_nothing_is_sent_for_what_was_rolled_back(messages):
    with transaction.atomic():
        wakeups.on_commit([GRADER])
        transaction.set_rollback(True)
    assert messages.take() == []


@pytest.mark.redis
def test_an_unavailable_broker_causes_no_error_and_little_delay(caplog):
    began = time.monotonic()
    with broker(NOBODY):
        assert queue.send(wakeups.JOB, str(GRADER)) is False
        wakeups.send(GRADER)
    assert time.monotonic() - began < 1.5
    assert "wake-up scores.score_pending not sent" in caplog.text


@pytest.mark.redis
@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_a_commit_succeeds_while_the_broker_is_unavailable():
    done = []
    with broker(NOBODY), transaction.atomic():
        wakeups.on_commit([GRADER])
        transaction.on_commit(lambda: done.append("later"))
    assert done == ["later"]


def test_without_redis_each_is_sent(messages, settings):
    settings.REDIS_URL = ""
    for _ in range(3):
        wakeups.send(GRADER)
    wakeups.acknowledge(GRADER)
    assert messages.take() == [WAKE_UP] * 3


def test_while_redis_is_unavailable_each_is_sent(messages, settings, monkeypatch):
    settings.REDIS_URL = NOBODY
    monkeypatch.setattr(redis, "_client", None)
    monkeypatch.setattr(redis, "_away_until", 0.0)
    began = time.monotonic()
    for _ in range(20):
        wakeups.send(GRADER)
        wakeups.acknowledge(GRADER)
    assert messages.take() == [WAKE_UP] * 20
    assert time.monotonic() - began < 1.5


@pytest.mark.redis
def test_a_queued_wake_up_is_not_sent_again_until_a_drain_begins(messages):
    for _ in range(5):
        wakeups.send(GRADER)
    assert messages.take() == [WAKE_UP]
    wakeups.acknowledge(GRADER)
    wakeups.send(GRADER)
    assert messages.take() == [WAKE_UP]


@pytest.mark.redis
def test_graders_have_marks_of_their_own(messages):
    other = uuid.UUID(int=8)
    for grader_id in (GRADER, other):
        wakeups.send(grader_id)
    assert sorted(messages.take()) == [WAKE_UP, (wakeups.JOB, str(other))]
    wakeups.acknowledge(other)


@pytest.mark.redis
def test_the_mark_of_a_lost_message_ends_by_itself(messages):
    wakeups.send(GRADER)
    assert 0 < mark() <= wakeups.MARK_MS == 2_000
    wakeups.acknowledge(GRADER)
    assert mark() < 0
