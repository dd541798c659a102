"""The connection pool: which connections it checks before use, and how it notices an outage and its end."""

import threading
import time

import psycopg
import pytest
from django.db import OperationalError, connection
from psycopg_pool import PoolTimeout

from autotune.core import connections
from autotune.core.api import problems
from autotune.core.postgresql import outage
from autotune.core.postgresql import pool as pools
from autotune.core.postgresql.outage import DatabaseAway
from autotune.core.postgresql.pool import ResilientPool
from tests.support.outages import own_postgres, seconds_until

pytestmark = [pytest.mark.postgres, pytest.mark.processes, pytest.mark.timeout(120)]
SLACK = 2.0  # the test machine does other work too
REFUSED_S = 2.0 * SLACK
BACK_S = 2.0 * SLACK


@pytest.fixture(scope="module")
def server():
    with own_postgres(tables=False) as postgres:
        yield postgres


@pytest.fixture
def pool(server):
    kwargs = psycopg.conninfo.conninfo_to_dict(server.url) | {"autocommit": True, "connect_timeout": 2}
    resilient_pool = ResilientPool(kwargs=kwargs, configure=None, min_size=1, max_size=4, timeout=5)
    resilient_pool.open()
    yield resilient_pool
    resilient_pool.close()
    server.thaw()
    if not server.answers():
        server.start()
    server.take_writes()


@pytest.fixture
def checks(monkeypatch):
    """The connections that cost a round trip only to check them."""
    checked = []
    monkeypatch.setattr(pools, "_answers", lambda conn, check=pools._answers: checked.append(conn) or check(conn))
    return checked


def works(pool):
    conn = None
    try:
        conn = pool.getconn()
        return conn.execute("select 1").fetchone() == (1,)
    except psycopg.OperationalError:
        return False
    finally:
        if conn is not None:
            pool.putconn(conn)


def several(pool, count):
    """`count` connections that were in use at once, and are in the pool again."""
    held = [pool.getconn() for _ in range(count)]
    for conn in held:
        pool.putconn(conn)
    return held


def refused_in(pool):
    started_at = time.monotonic()
    with pytest.raises(psycopg.OperationalError):
        pool.getconn()
    return time.monotonic() - started_at


def test_a_busy_connection_costs_no_round_trip(pool, checks):
    for _ in range(50):
        assert works(pool)
    assert checks == []


def test_c2_a_connection_idle_for_a_second_is_checked_once(pool, checks, monkeypatch):
    assert works(pool)
    monkeypatch.setattr(pools, "IDLE_S", 0.0)
    assert works(pool)
    assert len(checks) == 1


def test_c2_after_a_loss_every_older_connection_is_checked(pool, checks):
    held = several(pool, 3)
    lost = pool.getconn()
    lost.close()
    pool.putconn(lost)
    assert works(pool)
    assert works(pool)
    assert set(checks) <= set(held)
    assert len(checks) == 2


def test_c2_dead_connections_are_replaced_at_once_however_many(pool, server):
    several(pool, 4)
    server.cut()
    started_at = time.monotonic()
    assert all(works(pool) for _ in range(12))
    assert time.monotonic() - started_at < 1.0, "psycopg's own check waits a second after each dead one"


def test_c28_the_first_refusals_wait_a_moment_and_later_ones_do_not(pool, server):
    several(pool, 4)
    server.end()
    assert refused_in(pool) < REFUSED_S
    time.sleep(outage.PATIENCE_S)
    assert max(refused_in(pool) for _ in range(20)) < 0.1


def test_c28_waiting_callers_are_refused_when_the_database_goes_away(pool, server):
    """Four connections are in use and break; ten threads wait for one of them."""
    held = [pool.getconn() for _ in range(4)]
    seconds = []
    threads = [threading.Thread(target=lambda: seconds.append(refused_in(pool))) for _ in range(10)]
    for thread in threads:
        thread.start()
    server.end()
    for conn in held:
        with pytest.raises(psycopg.OperationalError):
            conn.execute("select 1")
        pool.putconn(conn)
    for thread in threads:
        thread.join(10)
    assert len(seconds) == 10
    assert max(seconds) < REFUSED_S


def test_c28_a_busy_pool_is_no_outage(pool):
    held = [pool.getconn() for _ in range(4)]
    with pytest.raises(PoolTimeout):
        pool.getconn(timeout=outage.PATIENCE_S + 0.5)
    assert pool.outage.seconds is None
    pool.putconn(held.pop())
    assert works(pool)
    for conn in held:
        pool.putconn(conn)


def test_c28_a_full_server_is_no_outage():
    def full():
        raise psycopg.OperationalError("connection failed: FATAL:  sorry, too many clients already")

    assert outage._fault_of(full) == ""


def test_c29_after_a_long_outage_the_return_is_noticed_at_once(pool, server):
    """psycopg's own pool would try again after 1, 2, 4, 8 seconds."""
    assert works(pool)
    server.end()
    refused_in(pool)
    time.sleep(6)
    server.start()
    assert seconds_until(lambda: works(pool)) < BACK_S
    assert pool.outage.seconds is None


def test_c29_a_restart_within_the_patience_of_a_request_is_not_noticed_by_it(pool, server, monkeypatch):
    monkeypatch.setattr(outage, "PATIENCE_S", 20.0)
    several(pool, 4)
    server.end()
    served = []
    request = threading.Thread(target=lambda: served.append(works(pool)))
    request.start()
    time.sleep(0.5)
    server.start()
    request.join(20)
    assert served == [True]


def test_c29_a_pool_that_is_opened_during_an_outage_serves_after_it(server):
    server.end()
    kwargs = psycopg.conninfo.conninfo_to_dict(server.url) | {"autocommit": True}
    pool = ResilientPool(kwargs=kwargs, configure=None, min_size=1, max_size=4, timeout=5)
    pool.open()
    try:
        assert refused_in(pool) < REFUSED_S
        server.start()
        assert seconds_until(lambda: works(pool)) < BACK_S
    finally:
        pool.close()


def test_c28_a_server_that_hangs_is_away_and_its_connections_are_used_again(pool, server):
    several(pool, 2)
    server.freeze()
    time.sleep(pools.IDLE_S + 0.1)
    assert refused_in(pool) < REFUSED_S
    assert refused_in(pool) < 0.1
    server.thaw()
    assert seconds_until(lambda: works(pool)) < BACK_S


def test_c39_a_connection_that_cannot_write_leaves_the_pool_within_a_second(pool, server):
    server.refuse_writes()
    seconds_until(lambda: works(pool))
    conn = pool.getconn()
    assert conn.is_read_only
    pool.putconn(conn)
    server.take_writes()
    time.sleep(pools.READ_ONLY_S + 0.1)
    conn = pool.getconn()
    assert not conn.is_read_only
    conn.execute("create temporary table written (n int)")
    pool.putconn(conn)


def test_c39_of_several_hosts_the_one_that_can_write_is_used(server):
    """Nobody listens at the first host; the second accepts no writes."""
    kwargs = {
        "host": "127.0.0.1,127.0.0.1", "port": f"1,{server.port}", "dbname": server.database, "user": "postgres",
        "target_session_attrs": "read-write", "autocommit": True,
    }  # fmt: skip
    pool = ResilientPool(kwargs=kwargs, configure=None, min_size=1, max_size=4, timeout=5)
    pool.open()
    try:
        assert seconds_until(lambda: works(pool)) < BACK_S
        server.refuse_writes()
        seconds_until(lambda: not works(pool))
        assert refused_in(pool) < REFUSED_S
        server.take_writes()
        assert seconds_until(lambda: works(pool)) < BACK_S
    finally:
        pool.close()
        server.take_writes()


@pytest.mark.django_db
def test_c39_a_refused_write_is_503_and_names_the_reason():
    with connection.cursor() as cursor:
        cursor.execute("set transaction_read_only = on")
        with pytest.raises(Exception) as refused:
            cursor.execute("create table written (n int)")
    assert connections.refuses_writes(refused.value)
    error = problems.typed(refused.value)
    assert (error.status, error.code, "Retry-After" in error.headers) == (503, "unavailable", True)
    assert "read-only" in error.detail


def test_an_error_of_the_pool_counts_as_an_operational_error_of_django():
    wrapped = OperationalError()
    wrapped.__cause__ = DatabaseAway("the database is away")
    assert connections.is_away(wrapped)
    assert problems.typed(wrapped).status == 503
