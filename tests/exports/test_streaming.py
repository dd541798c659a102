"""An export is never held whole, holds no connection while the client reads, and never looks whole when it is not."""

import random
import socket

import pytest
from django.db import DatabaseError, OperationalError, connection

from exports.reading import ranges
from tests.factories import CompletionFactory, RunFactory, ScoreFactory, TaskFactory
from tests.support.concurrency import until


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


def many(api, count, **completion):
    task = TaskFactory(organization=api.organization)
    for _ in range(count):
        ScoreFactory(run=RunFactory(completion=CompletionFactory(task=task, **completion)))


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
@pytest.mark.parametrize("query", ["", "?per=grader", "?format=parquet"])
def test_the_queries_grow_with_the_ranges_and_not_with_the_rows(api, monkeypatch, query, django_assert_max_num_queries):
    many(api, 30)
    monkeypatch.setattr(ranges, "RANGE_ROWS", 10)
    with django_assert_max_num_queries(5 + 4 * 4):  # key, data key, label; four a range
        list(api.get(f"/scores/export{query}").streaming_content)


@pytest.mark.django_db
def test_large_texts_are_loaded_in_small_groups(api, monkeypatch):
    many(api, 5, response="x" * 100_000)
    monkeypatch.setattr(ranges, "TEXT_BYTES", 210_000)
    pieces = list(api.get("/scores/export").streaming_content)
    assert [piece.count(b"\n") for piece in pieces] == [2, 2, 1]


@pytest.mark.django_db
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_an_error_during_the_stream_aborts_it(api, monkeypatch, caplog, form):
    many(api, 4)
    monkeypatch.setattr(ranges, "RANGE_ROWS", 1)
    monkeypatch.setattr("exports.formats.parquet.GROUP_ROWS", 1)
    stream = iter(api.get(f"/scores/export?format={form}").streaming_content)
    got = [next(stream)]

    def broken(*arguments):
        raise DatabaseError("gone")

    monkeypatch.setattr(ranges, "stored_of", broken)
    with pytest.raises(DatabaseError):
        got.extend(stream)
    assert not b"".join(got).endswith(b"PAR1")
    assert "failed after" in caplog.text


@pytest.mark.django_db
def test_an_error_before_the_first_chunk_is_an_error_response(api, monkeypatch):
    many(api, 1)

    def away(*arguments):
        raise OperationalError("away")

    monkeypatch.setattr(ranges, "stored_of", away)
    assert api.get("/scores/export").status_code == 503


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True, serialized_rollback=True)
@pytest.mark.parametrize("query", ["", "?dimensions=true&per=grader", "?format=parquet"])
def test_no_connection_is_held_while_the_client_reads(api, monkeypatch, query):
    many(api, 3)
    monkeypatch.setattr(ranges, "RANGE_ROWS", 1)
    monkeypatch.setattr("exports.formats.parquet.GROUP_ROWS", 1)
    for _ in api.get(f"/scores/export{query}").streaming_content:
        assert connection.connection is None


@pytest.mark.django_db
def test_a_client_that_leaves_is_no_error(api, monkeypatch, caplog):
    many(api, 3)
    monkeypatch.setattr(ranges, "RANGE_ROWS", 1)
    response = api.get("/scores/export")
    next(iter(response.streaming_content))
    response.close()
    assert "failed after" not in caplog.text


class TestAClientThatLeaves:
    """Over a real server: nothing is left open in the database when the other side goes away in the middle."""

    @pytest.mark.postgres
    @pytest.mark.django_db(transaction=True, serialized_rollback=True)
    @pytest.mark.parametrize("query", ["", "?per=grader", "?format=parquet", "?format=tfrecord&compression=gzip"])
    def test_a_stream_leaves_no_open_cursor_and_no_connection(self, api, monkeypatch, live_server, query):
        many(api, 16, response=random.Random(1).randbytes(500_000).hex())  # more than sockets hold, also compressed
        monkeypatch.setattr(ranges, "RANGE_ROWS", 2)
        monkeypatch.setattr("exports.formats.parquet.GROUP_ROWS", 1)
        host, port = live_server.thread.host, live_server.thread.port
        with socket.create_connection((host, port), timeout=20) as client:
            client.sendall(
                f"GET /api/v1/scores/export{query} HTTP/1.0\r\nHost: {host}\r\nAuthorization: Bearer {api.key}\r\n\r\n".encode()
            )
            assert client.recv(4_096).startswith(b"HTTP/1.1 200")
        until(lambda: busy() == 0)

    @pytest.mark.django_db
    def test_closing_a_stream_closes_its_reader(self, api, monkeypatch):
        many(api, 3)
        monkeypatch.setattr(ranges, "RANGE_ROWS", 1)
        ended = []
        groups = ranges.groups

        def watched(*arguments, **more):
            try:
                yield from groups(*arguments, **more)
            finally:
                ended.append(True)

        monkeypatch.setattr(ranges, "groups", watched)
        response = api.get("/scores/export?compression=zstd&format=tfrecord")
        stream = iter(response.streaming_content)
        next(stream)
        response.close()
        del stream
        assert ended == [True]


def busy():
    """Other sessions of this database that run a statement or have a transaction open."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
            " and backend_type = 'client backend' and state <> 'idle'"
        )
        return cursor.fetchone()[0]
