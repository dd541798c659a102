"""An operator with a task and a reward endpoint of theirs."""

import pytest

from scores.models import Reward
from tests.factories import RewardEndpointFactory, TaskFactory, public
from tests.pages.exports.seeing import Seen


@pytest.fixture
def operator(visitor):
    return visitor("training_operator")


@pytest.fixture
def task(operator):
    return TaskFactory(organization=operator.organization, name="Contract clauses")


@pytest.fixture
def endpoint(operator, task):
    return RewardEndpointFactory(task=task, created_by=operator.user, answered=1000, unscored_count=40)


@pytest.fixture
def path(endpoint):
    return f"/reward-endpoints/{public('rwd', endpoint)}"


@pytest.fixture
def see():
    """`see(client, path)`: the page, with its text."""
    return lambda client, path, **data: Seen(client.get(path, data))


@pytest.fixture
def graders_say(monkeypatch):
    """`graders_say(0.8)`: that is the reward of whatever is waited for; None: nothing comes."""

    def make(value):
        def wait(completions, seconds, **_):
            from tasks.models import Completion

            for completion in Completion.objects.filter(pk__in=completions if value is not None else []):
                Reward.objects.create(
                    completion=completion, organization=completion.organization, task=completion.task, value=value,
                    confidence=0.9, aggregation="mean", used=1, failed=0,
                )  # fmt: skip
            return set(completions)

        monkeypatch.setattr("scores.live.trying.hub.wait_all", wait)

    return make
