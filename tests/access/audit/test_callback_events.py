"""A grader's late answer leaves one event of the grader's organization, however it ends; its token is in none."""

import json

import pytest

from autotune.access.models.audit import INSTALLATION
from scores.models import Score
from tests.access.audit.reading import everything, sound
from tests.conftest import Api
from tests.factories import CallbackFactory, RunFactory, public
from tests.support.calling_back import signature

pytestmark = pytest.mark.django_db
TOKEN = "a-token-of-an-address"
ANSWER = json.dumps(
    {"requestId": "late", "score": {"value": 1, "confidence": 1, "reasoning": "private words"}}
).encode()


@pytest.fixture
def grader():
    run = RunFactory(status="waiting", waits_for="callback", attempt=1)
    CallbackFactory(run=run, token=TOKEN, request_id="late")
    return run.grader


def call_back(body=ANSWER, token=TOKEN, **changes):
    return Api().post(f"/callbacks/{token}", raw=body, **signature("late", body) | changes)


def test_a_recorded_callback_is_an_event_of_the_grader(grader, events):
    assert call_back().json()["code"] == "recorded"
    event = events.only()
    assert (event.action, event.outcome, event.status) == ("callbacks.create", "succeeded", 200)
    assert (event.actor, event.object_id) == (public("grader", grader), public("grader", grader))
    assert (event.organization_id, event.user_id, event.key_id) == (grader.organization_id, None, None)
    assert event.route == "/api/v1/callbacks/:token"
    assert TOKEN not in everything(event)
    assert "private words" not in everything(event)
    assert sound(event)


def test_a_refused_callback_records_the_reason(grader, events):
    call_back()
    call_back()
    again = events()[-1]
    assert (again.outcome, again.status, again.code) == ("refused", 409, "already_recorded")
    assert again.organization_id == grader.organization_id


def test_a_forged_or_guessed_callback_is_anonymous(grader, events):
    call_back(x_autotune_signature="0" * 64)
    call_back(token="guessed")
    forged, guessed = events()
    assert (forged.outcome, forged.status, forged.actor) == ("refused", 401, "anonymous")
    assert (guessed.outcome, guessed.status, guessed.object_id) == ("refused", 404, "")
    for event in (forged, guessed):
        assert event.chain == INSTALLATION
        assert "guessed" not in everything(event)
    assert not Score.objects.exists()
