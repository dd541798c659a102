"""The scheduler of `beat`: no outage of the database, however long, ends the process or its messages."""

from datetime import timedelta

import pytest
from django.db import OperationalError
from django_celery_beat.schedulers import DatabaseScheduler

from autotune.celery import app
from autotune.site.servers import beat
from autotune.site.servers.beat import Scheduler

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _connection_of_the_test(monkeypatch):
    monkeypatch.setattr(beat.connection, "close", lambda: None)


@pytest.fixture
def scheduler():
    return Scheduler(app=app)


def away(*_, **__):
    raise OperationalError("the database is away")


def test_c29_the_scheduler_has_the_whole_schedule(scheduler):
    assert {"sweep", "deliver-webhooks", "seal-audit"} <= set(scheduler.schedule)


def test_c29_a_full_read_during_an_outage_leaves_the_schedule_as_it_is(scheduler, monkeypatch):
    before = set(scheduler.schedule)
    monkeypatch.setattr(beat.connection, "ensure_connection", away)
    monkeypatch.setattr(DatabaseScheduler, "all_as_schedule", away)
    scheduler._last_full_sync -= timedelta(hours=1)  # such a read is due
    assert set(scheduler.schedule) == before
    assert scheduler.tick() >= 0


def test_c29_during_an_outage_nothing_is_read_or_written_and_no_traceback_logged(scheduler, monkeypatch, caplog):
    monkeypatch.setattr(beat.connection, "ensure_connection", away)
    monkeypatch.setattr(DatabaseScheduler, "schedule_changed", lambda self: pytest.fail("it reads"))
    monkeypatch.setattr(DatabaseScheduler, "sync", lambda self: pytest.fail("it writes"))
    for _ in range(3):
        assert not scheduler.schedule_changed()
        scheduler.sync()
    assert "Traceback" not in caplog.text


def test_c29_a_scheduler_that_starts_during_an_outage_waits_for_its_end(monkeypatch):
    answers = iter([False, False, True])
    monkeypatch.setattr(beat, "START_EVERY_S", 0)
    monkeypatch.setattr(beat, "_answers", lambda: next(answers, True))
    assert Scheduler(app=app).schedule
    assert next(answers, None) is None
