"""How many completions there are, at the foot of their list: exact up to a bound."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from autotune.core.pages import listing
from tests.factories import CompletionFactory, RunFactory, TaskFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(visitor):
    return visitor("training_operator")


@pytest.fixture
def five(client):
    task = TaskFactory(organization=client.organization)
    completions = [CompletionFactory(task=task, model_id=f"model-{number % 2}") for number in range(5)]
    for completion in completions:
        RunFactory(completion=completion)
    return completions


def foot(client, query=""):
    text = client.get(f"/completions?{query}").content.decode()
    match = re.search(r'aria-label="Pages">\s*<span>([^<]*)</span>', text)
    return match and match[1].strip()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("limit=2", "1–2 of 5 completions"),
        ("limit=2&offset=4", "5–5 of 5 completions"),
        ("limit=2&modelId=model-0", "1–2 of 3 completions"),
        ("", "1–5 of 5 completions"),
        ("modelId=other", None),
        ("limit=2&status=pending", "1–2 completions"),
    ],
)
def test_few_are_counted_exactly(client, five, query, expected):
    assert foot(client, query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("limit=2", "1–2 of more than 3 completions"),
        ("limit=2&modelId=model-0", "1–2 of 3 completions"),
        ("limit=1&offset=3", "4–4 completions"),
        ("limit=2&offset=4", "5–5 of 5 completions"),
    ],
)
def test_above_the_limit_the_count_is_a_lower_bound(client, five, monkeypatch, query, expected):
    monkeypatch.setattr(listing, "COUNTED", 3)
    assert foot(client, query) == expected


def test_a_complete_page_needs_no_count(client, five):
    for query, counts in (("", 0), ("limit=2", 1)):
        with CaptureQueriesContext(connection) as queries:
            foot(client, query)
        assert (
            sum("COUNT(" in statement["sql"] and "tasks_completion" in statement["sql"] for statement in queries)
            == counts
        )
