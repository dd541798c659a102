"""Query parameters: numbers and booleans are read from their text, and every refusal names the parameter."""

from typing import Annotated

import pytest
from msgspec import Meta

from autotune.core.api import parsing
from autotune.core.api.operations import QueryStruct
from tests.core.api.test_parsing import TaskId, fault_of


class Query(QueryStruct):
    limit: Annotated[int, Meta(ge=1, le=1000)] = 50
    min_score: Annotated[float, Meta(ge=0, le=1)] | None = None
    any_number: float = 0.0
    partial: bool = False
    search: str | None = None
    task_id: TaskId | None = None


@pytest.mark.parametrize(
    ("given_query", "name", "expected"),
    [
        ({"limit": "7"}, "limit", 7),
        ({"minScore": "0.25"}, "min_score", 0.25),
        ({"minScore": "1"}, "min_score", 1.0),
        ({"partial": "true"}, "partial", True),
        ({"partial": "false"}, "partial", False),
        ({"search": "123"}, "search", "123"),
        ({"search": ""}, "search", ""),
        ({"search": "null"}, "search", "null"),
        ({"search": "true"}, "search", "true"),
    ],
)
def test_numbers_and_booleans_of_a_query_are_read_from_their_text(given_query, name, expected):
    value = getattr(parsing.convert_query(given_query, Query), name)
    assert (value, type(value)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("given_query", "pointer", "code"),
    [
        ({"limit": "0"}, "?limit", "out_of_range"),
        ({"limit": "1001"}, "?limit", "out_of_range"),
        ({"limit": "9" * 40}, "?limit", "out_of_range"),
        ({"limit": "9" * 5000}, "?limit", "wrong_type"),
        ({"limit": ""}, "?limit", "wrong_type"),
        ({"limit": "+5"}, "?limit", "wrong_type"),
        ({"limit": "0x10"}, "?limit", "wrong_type"),
        ({"limit": "٥"}, "?limit", "wrong_type"),
        ({"limit": "5.5"}, "?limit", "wrong_type"),
        ({"limit": "null"}, "?limit", "wrong_type"),
        ({"minScore": "nan"}, "?minScore", "out_of_range"),
        ({"anyNumber": "nan"}, "?anyNumber", "number_not_finite"),
        ({"minScore": "-0.1"}, "?minScore", "out_of_range"),
        ({"minScore": "null"}, "?minScore", "wrong_type"),
        ({"anyNumber": "inf"}, "?anyNumber", "number_not_finite"),
        ({"anyNumber": "1e999"}, "?anyNumber", "wrong_type"),
        ({"partial": "maybe"}, "?partial", "wrong_type"),
        ({"partial": ""}, "?partial", "wrong_type"),
        ({"taskId": "x"}, "?taskId", "malformed_id"),
        ({"taskId": ""}, "?taskId", "malformed_id"),
        ({"taskId": "null"}, "?taskId", "malformed_id"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_wrong_parameter_is_refused_with_its_name(given_query, pointer, code):
    assert fault_of(parsing.convert_query, given_query, Query) == (pointer, code)
