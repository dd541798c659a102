"""Live rewards of graders that take their time: asynchronous ones, people, and panels."""

import pytest

from tests.conftest import Api
from tests.factories import ApiKeyFactory, GraderFactory, TaskFactory
from tests.scores.live.asking import reward_request
from tests.support.calling_back import call_back

pytestmark = pytest.mark.django_db
PENDING = ("pending", None, None)


@pytest.fixture
def ask(grader):
    """`ask(task, *responses)`: (status, value, code) of each."""
    api = Api(ApiKeyFactory(role="training_operator", organization=grader.organization).text)

    def work(task, *responses):
        rewards = api.post("/rewards", reward_request(task, *responses)).json()["rewards"]
        return [(reward["status"], reward["value"], reward["code"]) for reward in rewards]

    return work


def test_an_asynchronous_grader_leaves_it_pending_until_its_callback(fake, ask, drain, db):
    fake.answers_later = True
    grader = GraderFactory(endpoint=fake.url, max_batch_size=1, supports_async=True)
    task = TaskFactory(organization=grader.organization, graders=[grader])
    mine = Api(ApiKeyFactory(role="training_operator", organization=grader.organization).text)

    def state():
        (reward,) = mine.post("/rewards", reward_request(task, "4")).json()["rewards"]
        return reward["status"], reward["value"], reward["code"]

    assert state() == PENDING
    drain(grader)
    assert state() == PENDING
    assert call_back(fake.accepted[-1], fake.judged(fake.accepted[-1])).status_code == 200
    assert state() == ("completed", 0.75, None)
    assert len(fake.accepted) == 1


def test_only_the_item_that_waits_for_a_person_is_pending(fake, grader, ask, drain):
    fake.judge = lambda completion: {"value": 0.25, "confidence": float(completion["response"])}
    task = TaskFactory(organization=grader.organization, graders=[grader], review_below_confidence=0.5)
    ask(task, "0.9", "0.1")
    drain(grader)
    assert ask(task, "0.9", "0.1") == [("completed", 0.25, None), PENDING]


def test_a_panel_is_pending_until_its_last_grader_has_judged(fake, grader, ask, drain):
    other = GraderFactory(endpoint=fake.url, organization=grader.organization, max_batch_size=10)
    task = TaskFactory(organization=grader.organization, graders=[grader, other])
    ask(task, "4")
    drain(grader)
    assert ask(task, "4") == [PENDING]
    fake.judge = lambda completion: 0.25
    drain(other)
    assert ask(task, "4") == [("completed", 0.5, None)]


def test_a_shadow_grader_is_not_waited_for(grader, ask, drain):
    shadow = GraderFactory(organization=grader.organization)
    task = TaskFactory(organization=grader.organization, graders=[grader, (shadow, 1.0, "shadow")])
    ask(task, "4")
    drain(grader)
    assert ask(task, "4") == [("completed", 0.75, None)]
