"""A grader that answers, and a drain that runs in the test's own thread."""

import threading
import time
from uuid import UUID

import pytest

from autotune.core.brokers import queue
from autotune.core.outbound import engine
from scores.engine.drain import Drain, callable_grader
from tests.factories import GraderFactory, TaskFactory
from tests.support.fakes import FakeGrader, serving


@pytest.fixture
def fake():
    with serving(FakeGrader()) as running:
        yield running


@pytest.fixture
def grader(db, fake):
    """A batch grader at the fake's address."""
    return GraderFactory(endpoint=fake.url, max_batch_size=10)


@pytest.fixture
def task(grader):
    return TaskFactory(organization=grader.organization, graders=[grader])


@pytest.fixture
def woken(monkeypatch, django_capture_on_commit_callbacks):
    """`woken(work)`: (what `work()` gives, the graders that are woken after its commit)."""

    def run(work):
        sent = []
        monkeypatch.setattr(queue.current_app, "send_task", lambda job, args=(), **_: sent.append(UUID(args[0])))
        with django_capture_on_commit_callbacks(execute=True):
            result = work()
        return result, sent

    return run


@pytest.fixture
def drain():
    """`drain(grader)`: one drain to its end, as a worker runs it."""

    def run(grader, *, seconds=20.0):
        loaded = callable_grader(grader.pk)
        assert loaded is not None, "the grader is not callable"
        work = Drain(loaded, until=time.monotonic() + seconds, is_woken=threading.Event().is_set)
        work.run()
        return work

    yield run
    engine.engine().abandon()
