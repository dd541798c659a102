"""Events of reads and refusals while the database is away: kept, and written when it is back."""

import psycopg
import pytest
from django.db import InternalError, OperationalError

from autotune.access.audit import backlog, macs, trail
from autotune.access.audit.backlog import Backlog
from tests.factories import TaskFactory, public


@pytest.fixture
def api(api_for):
    return api_for(role="organization_admin")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


@pytest.fixture
def kept(monkeypatch):
    """The backlog of this test, which no thread works on."""
    mine = Backlog(lambda: trail.losses.one())
    monkeypatch.setattr(mine, "_watch", lambda: None)
    monkeypatch.setattr(backlog.connection, "close", lambda: None)  # that of the test's transaction
    monkeypatch.setattr(trail, "kept", mine)
    return mine


def away(*_, **__):
    raise OperationalError("the database is away")


def read_only(*_, **__):
    raise InternalError("cannot execute INSERT in a read-only transaction") from psycopg.errors.ReadOnlySqlTransaction()


@pytest.mark.parametrize("failure", [away, read_only])
def test_c28_c39_a_read_goes_on_and_its_event_is_written_later(api, task, events, kept, monkeypatch, failure):
    with monkeypatch.context() as outage:
        outage.setattr(trail, "insert", failure)
        assert api.get(f"/tasks/{public('task', task)}").status_code == 200
        assert api.get("/tasks/task_00000000000000000000000000").status_code == 404
        assert len(kept) == 2
        assert not kept.write()
    assert (len(kept), events()) == (2, [])
    assert kept.write()
    read, refused = events()
    assert (read.action, read.status, read.object_id) == ("tasks.read", 200, public("task", task))
    assert (refused.status, refused.outcome, refused.user_id) == (404, "refused", api.user.pk)
    assert all(macs.fits(macs.key_of(event.chain), event) for event in (read, refused))
    assert kept.write()
    assert len(events()) == 2


def test_what_changes_something_is_still_refused(api, task, events, kept, monkeypatch):
    with monkeypatch.context() as outage:
        outage.setattr(trail, "insert", away)
        answer = api.post("/webhooks", {"url": "https://hooks.example.org/x", "events": ["score.completed"]})
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    kept.write()
    assert [event.status for event in events()] == [503], "the refusal itself is on record"


def test_more_than_a_process_keeps_are_counted(api, task, events, kept, monkeypatch):
    monkeypatch.setattr(backlog, "MOST_KEPT", 2)
    with monkeypatch.context() as outage:
        outage.setattr(trail, "insert", away)
        for _ in range(5):
            api.get("/tasks")
    kept.write()
    api.get("/tasks")
    assert events.only(action="audit.lost").objects_count == 3
    assert len(events(action="tasks.read")) == 3


def test_an_event_that_was_written_before_the_connection_broke_is_not_lost(api, task, events, kept):
    def written_and_broken(event, **_):
        insert(event)
        raise OperationalError("the connection was lost before the answer")

    insert = trail.insert
    with pytest.MonkeyPatch.context() as outage:
        outage.setattr(trail, "insert", written_and_broken)
        api.get("/tasks")
    with pytest.MonkeyPatch.context() as patched:  # in the test's transaction the second insert would end it
        patched.setattr(trail, "insert", lambda *a, **k: None)
        assert kept.write()
    assert len(events()) == 1


def test_one_that_can_never_be_written_holds_up_no_other(kept, caplog):
    written = []
    kept.keep(lambda: 1 // 0, OperationalError("away"))
    kept.keep(lambda: written.append(1), OperationalError("away"))
    assert kept.write()
    assert written == [1]
    assert "could not be written" in caplog.text


def test_a_process_that_ends_meanwhile_reports_its_loss(kept, caplog):
    kept.keep(away, OperationalError("away"))
    kept.close()
    assert "1 events are lost" in caplog.text


def test_its_thread_ends_when_nothing_is_kept(monkeypatch):
    monkeypatch.setattr(backlog, "EVERY_S", 0.0)
    mine, written = Backlog(lambda: None), []
    for number in range(3):
        mine.keep(lambda number=number: written.append(number), OperationalError("away"))
    while mine._is_watched:
        pass
    assert written == [0, 1, 2]
