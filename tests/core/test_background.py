"""A background loop repeats its step, outlives the step's errors, and can be woken and stopped."""

import logging
import threading
import time
from contextlib import contextmanager

import pytest
from django.db import OperationalError

from autotune.core import background
from autotune.core.background import BackgroundLoop, survived
from tests.support.concurrency import until

logger = logging.getLogger("tests.background")
LONG_S = 3_600.0


@pytest.fixture
def start():
    """`start(step, **options)`: a running loop, which is stopped after the test."""
    loops = []

    def run(step, *, name="test-loop", **options):
        loop = BackgroundLoop(name, step, action="the test", logger=logger, **options)
        loop.start()
        loops.append(loop)
        return loop

    yield run
    for loop in loops:
        loop.stop()
        loop.join()
        assert not loop.is_running


def test_a_step_is_repeated_in_a_daemon_thread_with_the_name(start):
    threads = []
    start(lambda: threads.append(threading.current_thread()) or 0.0)
    until(lambda: len(threads) >= 3)
    assert len(set(threads)) == 1
    assert (threads[0].name, threads[0].daemon) == ("test-loop", True)


def test_the_first_pass_waits_for_its_time(start):
    passes = []
    loop = start(lambda: passes.append(1), first_s=LONG_S)
    time.sleep(0.05)
    assert passes == []
    loop.wake()
    until(lambda: passes)


def test_a_step_without_a_delay_sleeps_until_it_is_woken(start):
    passes = []
    loop = start(lambda: passes.append(1))
    until(lambda: len(passes) == 1)
    time.sleep(0.05)
    assert len(passes) == 1
    loop.wake()
    until(lambda: len(passes) == 2)


def test_a_wake_up_during_a_pass_starts_another_pass(start):
    passes, is_inside, may_end = [], threading.Event(), threading.Event()

    def step():
        passes.append(1)
        is_inside.set()
        may_end.wait(10)
        return LONG_S

    loop = start(step)
    is_inside.wait(10)
    loop.wake()
    assert len(passes) == 1
    may_end.set()
    until(lambda: len(passes) == 2)


def test_waking_starts_a_thread_where_none_is_alive():
    passes = []
    loop = BackgroundLoop("test-loop", lambda: passes.append(1), action="the test", logger=logger)
    assert not loop.is_running
    loop.wake()
    until(lambda: passes)
    loop.stop()
    loop.join()


def test_starting_twice_starts_one_thread(start):
    loop = start(lambda: LONG_S, name="test-loop-once")
    loop.start()
    loop.wake()
    assert [thread.name for thread in threading.enumerate()].count("test-loop-once") == 1


def test_a_failed_pass_is_followed_by_the_next(start, caplog):
    faults, passes = [ZeroDivisionError("once"), OperationalError("away")], []

    def step():
        if faults:
            raise faults.pop(0)
        passes.append(1)

    start(step, retry_s=0.0)
    until(lambda: passes)
    assert "the test failed" in caplog.text
    assert "ZeroDivisionError: once" in caplog.text
    assert "the test: the database is away: away" in caplog.text


def test_stopping_ends_a_wait_at_once(start):
    loop = start(lambda: LONG_S)
    loop.stop()
    until(lambda: not loop.is_running, seconds=5)


def test_stopping_lets_the_current_pass_finish(start):
    is_inside, may_end, ended = threading.Event(), threading.Event(), []

    def step():
        is_inside.set()
        may_end.wait(10)
        ended.append(1)
        return 0.0

    loop = start(step)
    is_inside.wait(10)
    loop.stop()
    assert loop.stopping.is_set()
    may_end.set()
    loop.join()
    assert ended == [1]


def test_a_step_may_end_its_own_loop():
    passes = []

    def step():
        passes.append(1)
        loop.stop()
        return 0.0

    loop = BackgroundLoop("test-loop", step, action="the test", logger=logger)
    loop.start()
    loop.join()
    assert (passes, loop.is_running) == ([1], False)


def test_the_context_of_the_thread_surrounds_all_passes():
    order = []

    @contextmanager
    def around():
        order.append("enter")
        yield
        order.append("leave")

    def step():
        order.append("pass")
        if order.count("pass") == 2:
            loop.stop()
        return 0.0

    loop = BackgroundLoop("test-loop", step, action="the test", logger=logger, around=around)
    loop.start()
    loop.join()
    assert order == ["enter", "pass", "pass", "leave"]


class Closing:
    """Counts how often the thread's database connection is closed."""

    def __init__(self):
        self.count = 0

    def close(self):
        self.count += 1


@pytest.mark.parametrize(
    ("keeps", "returned", "closed"), [(False, 0.0, 3), (True, 0.0, 0), (True, None, 3), (False, None, 3)]
)
def test_the_connection_is_released_between_passes_unless_the_loop_keeps_it(monkeypatch, keeps, returned, closed):
    monkeypatch.setattr(background, "connection", closing := Closing())
    passes = []

    def step():
        passes.append(1)
        loop.stop() if len(passes) == 3 else loop.wake()
        return returned

    loop = BackgroundLoop("test-loop", step, action="the test", logger=logger, keeps_connection=keeps)
    loop.start()
    loop.join()
    assert closing.count == closed


def test_a_pass_that_fails_releases_even_a_connection_that_is_kept(monkeypatch):
    monkeypatch.setattr(background, "connection", closing := Closing())

    def step():
        loop.stop()
        raise ZeroDivisionError

    loop = BackgroundLoop("test-loop", step, action="the test", logger=logger, keeps_connection=True)
    loop.start()
    loop.join()
    assert closing.count == 1


def fail(exc):
    with survived("the work", logger):
        raise exc


def test_each_kind_of_error_is_logged_once_with_its_traceback(caplog):
    for _ in range(5):
        fail(ZeroDivisionError("a"))
        fail(KeyError("b"))
    for _ in range(5):
        with survived("other work", logger):
            raise ZeroDivisionError("c")
    lines = [(record.getMessage(), record.exc_info[0]) for record in caplog.records]
    assert lines == [
        ("the work failed", ZeroDivisionError), ("the work failed", KeyError), ("other work failed", ZeroDivisionError)
    ]  # fmt: skip


def test_an_outage_is_one_line_without_a_traceback(caplog):
    for _ in range(5):
        fail(OperationalError("connection refused"))
    (record,) = caplog.records
    assert (record.levelname, record.exc_info) == ("WARNING", None)
    assert record.getMessage() == "the work: the database is away: connection refused"


def test_the_end_of_the_process_is_not_logged_as_an_error():
    with pytest.raises(SystemExit):
        fail(SystemExit(3))
