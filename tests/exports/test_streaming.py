"""An export is never held whole, holds no connection while the client reads, and never looks whole when it is not."""

import pytest
from django.db import DatabaseError, OperationalError, connection

from exports import ranges
from tests.factories import CompletionFactory, RunFactory, ScoreFactory, TaskFactory


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
def test_an_error_on_the_way_breaks_the_stream_off(api, monkeypatch, caplog, form):
    many(api, 4)
    monkeypatch.setattr(ranges, "RANGE_ROWS", 1)
    monkeypatch.setattr("exports.parquet.GROUP_ROWS", 1)
    stream = iter(api.get(f"/scores/export?format={form}").streaming_content)
    got = [next(stream)]

    def broken(completions):
        raise DatabaseError("gone")

    monkeypatch.setattr(ranges, "_texts", broken)
    with pytest.raises(DatabaseError):
        got.extend(stream)
    assert not b"".join(got).endswith(b"PAR1")
    assert "broke off" in caplog.text


@pytest.mark.django_db
def test_an_error_before_the_first_piece_is_told_as_one(api, monkeypatch):
    many(api, 1)

    def away(completions):
        raise OperationalError("away")

    monkeypatch.setattr(ranges, "_texts", away)
    assert api.get("/scores/export").status_code == 503


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True, serialized_rollback=True)
@pytest.mark.parametrize("query", ["", "?dimensions=true&per=grader", "?format=parquet"])
def test_no_connection_is_held_while_the_client_reads(api, monkeypatch, query):
    many(api, 3)
    monkeypatch.setattr(ranges, "RANGE_ROWS", 1)
    monkeypatch.setattr("exports.parquet.GROUP_ROWS", 1)
    for _ in api.get(f"/scores/export{query}").streaming_content:
        assert connection.connection is None


@pytest.mark.django_db
def test_a_client_that_leaves_is_no_error(api, monkeypatch, caplog):
    many(api, 3)
    monkeypatch.setattr(ranges, "RANGE_ROWS", 1)
    response = api.get("/scores/export")
    next(iter(response.streaming_content))
    response.close()
    assert "broke off" not in caplog.text
