"""While the database is away, events of reads and refusals are kept; they are written when it is back."""

import psycopg
import pytest
from django.db import InternalError, OperationalError

from autotune.access.audit import backlog, macs, trail
from autotune.access.audit.backlog import AuditBacklog
from tests.factories import TaskFactory, public
from tests.support.concurrency import together, until


@pytest.fixture
def api(api_for):
    return api_for(role="organization_admin")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


@pytest.fixture
def unwritten(monkeypatch):
    """The backlog of this test, without a thread."""
    own_backlog = AuditBacklog(lambda: trail.losses.add())
    monkeypatch.setattr(own_backlog._loop, "wake", lambda: None)
    monkeypatch.setattr(backlog.connection, "close", lambda: None)  # it would close the test's transaction
    monkeypatch.setattr(trail, "unwritten", own_backlog)
    return own_backlog


def away(*_, **__):
    raise OperationalError("the database is away")


def read_only(*_, **__):
    raise InternalError("cannot execute INSERT in a read-only transaction") from psycopg.errors.ReadOnlySqlTransaction()


@pytest.mark.parametrize("failure", [away, read_only])
def test_c28_c39_a_read_continues_and_its_event_is_written_later(api, task, events, unwritten, monkeypatch, failure):
    with monkeypatch.context() as outage:
        outage.setattr(trail, "insert", failure)
        assert api.get(f"/tasks/{public('task', task)}").status_code == 200
        assert api.get("/tasks/task_00000000000000000000000000").status_code == 404
        assert len(unwritten) == 2
        assert not unwritten.write()
    assert (len(unwritten), events()) == (2, [])
    assert unwritten.write()
    read, refused = events()
    assert (read.action, read.status, read.object_id) == ("tasks.read", 200, public("task", task))
    assert (refused.status, refused.outcome, refused.user_id) == (404, "refused", api.user.pk)
    assert all(macs.fits(macs.key_of(event.chain), event) for event in (read, refused))
    assert unwritten.write()
    assert len(events()) == 2


def test_a_change_is_still_refused(api, task, events, unwritten, monkeypatch):
    with monkeypatch.context() as outage:
        outage.setattr(trail, "insert", away)
        answer = api.post("/webhooks", {"url": "https://hooks.example.org/x", "events": ["score.completed"]})
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    unwritten.write()
    assert [event.status for event in events()] == [503], "the refusal itself is on record"


def test_events_beyond_the_limit_of_a_process_are_counted_as_lost(api, task, events, unwritten, monkeypatch):
    monkeypatch.setattr(backlog, "MOST_KEPT", 2)
    with monkeypatch.context() as outage:
        outage.setattr(trail, "insert", away)
        for _ in range(5):
            api.get("/tasks")
    unwritten.write()
    api.get("/tasks")
    assert events.only(action="audit.lost").objects_count == 3
    assert len(events(action="tasks.read")) == 3


def test_an_event_that_was_written_before_the_connection_broke_is_not_lost(api, task, events, unwritten):
    def written_and_broken(event, **_):
        insert(event)
        raise OperationalError("the connection was lost before the answer")

    insert = trail.insert
    with pytest.MonkeyPatch.context() as outage:
        outage.setattr(trail, "insert", written_and_broken)
        api.get("/tasks")
    with pytest.MonkeyPatch.context() as patched:  # in the test's transaction the second insert would end it
        patched.setattr(trail, "insert", lambda *a, **k: None)
        assert unwritten.write()
    assert len(events()) == 1


def test_an_event_that_can_never_be_written_blocks_no_other(unwritten, caplog):
    written = []
    unwritten.keep(lambda: 1 // 0, OperationalError("away"))
    unwritten.keep(lambda: written.append(1), OperationalError("away"))
    assert unwritten.write()
    assert written == [1]
    assert "could not be written" in caplog.text


def test_a_process_that_ends_during_the_outage_reports_its_loss(unwritten, caplog):
    unwritten.keep(away, OperationalError("away"))
    unwritten.close()
    assert "1 events are lost" in caplog.text


def test_two_threads_that_write_at_once_write_each_event_once(unwritten):
    written = []
    for number in range(200):
        unwritten.keep(lambda number=number: written.append(number), OperationalError("away"))
    assert together(unwritten.write, unwritten.close, unwritten.write) == [True, None, True]
    assert written == list(range(200))


def test_the_thread_survives_an_error_of_its_own():
    written = []

    def lost():
        raise RuntimeError("nobody counts losses")

    own_backlog = AuditBacklog(lost)
    own_backlog.keep(lambda: 1 // 0, OperationalError("away"))
    own_backlog.keep(lambda: written.append(1), OperationalError("away"))
    until(lambda: written == [1] and not len(own_backlog))


def test_the_thread_writes_events_added_after_it_caught_up():
    own_backlog, written = AuditBacklog(lambda: None), []
    for number in range(3):
        own_backlog.keep(lambda number=number: written.append(number), OperationalError("away"))
        until(lambda: not len(own_backlog))
    assert written == [0, 1, 2]


def test_the_thread_retries_until_the_database_is_back(monkeypatch):
    monkeypatch.setattr(backlog, "EVERY_S", 0.01)
    outcomes, written = [OperationalError("away")] * 3, []

    def write():
        if outcomes:
            raise outcomes.pop()
        written.append(1)

    own_backlog = AuditBacklog(lambda: None)
    own_backlog.keep(write, OperationalError("away"))
    until(lambda: written)
