"""Iterating over a list continues to its end, whatever its parameters; `items` are one page."""

import pytest


@pytest.fixture
def task_ids(client, grader):
    return [client.tasks.create(name=f"task {n}", prompt_template="x", grader_id=grader.id).id for n in range(5)]


def test_c26_iteration_continues_past_the_first_page(client, task_ids):
    page = client.tasks.list(limit=2, sort="name")
    assert [task.id for task in page.items] == task_ids[:2]
    assert [task.id for task in page] == task_ids
    assert (len(page), page.total) == (2, 5)


def test_c26_iteration_from_an_offset_continues_from_there(client, task_ids):
    assert [task.id for task in client.tasks.list(limit=2, offset=1, sort="name")] == task_ids[1:]


def test_c26_filters_apply_to_every_page(client, task_ids):
    client.tasks.create(name="other", prompt_template="x", grader_id=client.tasks.get(task_ids[0]).grader_id)
    assert sorted(task.id for task in client.tasks.list(limit=2, search="task")) == sorted(task_ids)


def test_c26_a_page_can_be_iterated_again(client, task_ids):
    page = client.tasks.list(limit=2)
    assert list(page) == list(page)


def test_c26_the_page_after_the_last_is_none(client, task_ids):
    assert client.tasks.list(limit=5).next_page() is None
    assert list(client.tasks.list(search="no such task")) == []
