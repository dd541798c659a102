"""A machine whose clock is off signs and waits by the database's clock, and logs the difference."""

import logging
import time
from datetime import UTC, datetime, timedelta

import pytest

from autotune.core import clock
from graders import targets
from graders.gateway import requests
from tests.factories import GraderFactory

TEN_MINUTES = 600


@pytest.fixture(autouse=True)
def reading(monkeypatch):
    monkeypatch.setattr(clock, "_reading", clock._Reading())
    return clock._reading


@pytest.fixture
def machine_off(monkeypatch):
    """`machine_off(seconds)`: the machine's clock is ahead by so many seconds."""
    right = time.time

    def set_ahead(seconds):
        monkeypatch.setattr(clock.machine, "time", lambda: right() + seconds)

    return set_ahead


@pytest.mark.parametrize("ahead", [TEN_MINUTES, -TEN_MINUTES])
def test_c40_after_a_reading_the_time_is_the_databases(reading, machine_off, ahead):
    machine_off(ahead)
    assert clock.shared_time() == pytest.approx(time.time(), abs=1)
    right = time.time() - ahead
    reading.take(datetime.fromtimestamp(right, UTC))
    assert clock.shared_time() == pytest.approx(right, abs=1)
    assert clock.shared_now(may_read=False).timestamp() == pytest.approx(right, abs=1)


@pytest.mark.parametrize(("ahead", "words"), [(TEN_MINUTES, "600 s ahead of"), (-TEN_MINUTES, "600 s behind")])
def test_c40_a_clock_that_is_off_is_logged_once(reading, machine_off, caplog, ahead, words):
    machine_off(ahead)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            reading.take(datetime.fromtimestamp(time.time() - ahead, UTC))
    (record,) = caplog.records
    assert words in record.getMessage()


def test_a_clock_that_is_off_by_less_than_five_seconds_is_not_logged(reading, caplog):
    with caplog.at_level(logging.WARNING):
        reading.take(datetime.now(UTC) - timedelta(seconds=4))
    assert caplog.records == []


@pytest.mark.postgres
@pytest.mark.django_db
def test_c40_the_databases_clock_is_read_once_a_minute(reading, machine_off, django_assert_num_queries, monkeypatch):
    machine_off(TEN_MINUTES)
    with django_assert_num_queries(1):
        moments = [clock.shared_now() for _ in range(3)]
    assert all(moment.timestamp() == pytest.approx(time.time() - TEN_MINUTES, abs=1) for moment in moments)
    later = time.monotonic() + 2 * clock.READING_S
    monkeypatch.setattr(clock.machine, "monotonic", lambda: later)
    with django_assert_num_queries(1):
        clock.shared_now()


@pytest.mark.postgres
@pytest.mark.django_db
@pytest.mark.parametrize("ahead", [TEN_MINUTES, -TEN_MINUTES])
def test_c40_requests_to_graders_are_signed_by_the_databases_clock(machine_off, ahead):
    right = time.time()
    machine_off(ahead)
    call = requests.build_health(targets.load(GraderFactory()))
    assert int(dict(call.request.headers)["X-Autotune-Timestamp"]) == pytest.approx(right, abs=2)
