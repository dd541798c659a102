"""Completions by reward: sorted and filtered within one task, and only by rewards that the reader may see."""

import re

import pytest

from tasks.models import Task
from tests.factories import CompletionFactory, ScoreFactory, TaskFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(visitor):
    return visitor("training_operator")


@pytest.fixture
def task(client):
    task = TaskFactory(organization=client.organization)
    for value in (0.5, 0.125, 0.875):
        ScoreFactory(run__completion__task=task, value=value)
    CompletionFactory(task=task)
    return task


def rewards(client, query):
    return re.findall(r'data-label="Reward">(0\.\d+)', client.get(f"/completions?{query}").content.decode())


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("sort=reward", ["0.125", "0.500", "0.875"]),
        ("sort=-reward", ["0.875", "0.500", "0.125"]),
        ("sort=reward&limit=2&offset=1", ["0.500", "0.875"]),
        ("minReward=0.5&sort=reward", ["0.500", "0.875"]),
        ("minReward=0.5&maxReward=0.5", ["0.500"]),
    ],
)
def test_rewards_sort_and_filter_within_a_task(client, task, query, expected):
    assert rewards(client, f"taskId={task.public_id}&{query}") == expected


def test_the_page_says_that_completions_without_a_reward_are_left_out(client, task):
    assert (
        "completions without a reward are left out"
        in client.get(f"/completions?taskId={task.public_id}&sort=reward").content.decode()
    )


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("sort=reward", "Choose a task first"),
        ("minReward=0.5", "Choose a task first"),
        ("sort=model", "sort by createdAt, reward"),
    ],
)
def test_an_order_that_no_index_serves_is_refused_by_name(client, task, query, fault):
    text = client.get(f"/completions?{query}").content.decode()
    assert fault in text
    assert f"<code>{query.partition('=')[0]}</code>" in text


def test_bounds_that_cross_are_refused(client, task):
    text = client.get(f"/completions?taskId={task.public_id}&minReward=0.5&maxReward=0.25").content.decode()
    assert "It is below the lowest reward, 0.5." in text


def test_the_head_offers_the_order_only_within_a_task(client, task):
    assert "sort=reward" not in client.get("/completions").content.decode()
    assert "sort=reward" in client.get(f"/completions?taskId={task.public_id}").content.decode()


def test_a_task_of_another_organization_shows_nothing(visitor, task):
    stranger = visitor("training_operator")
    assert rewards(stranger, f"taskId={task.public_id}&sort=reward") == []
    assert Task.objects.filter(pk=task.pk).exists()
