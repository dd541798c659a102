"""What `score.completed` and `score.failed` say, from the rows at the moment of fan-out."""

import json

import pytest

from autotune.webhooks.events import fanout
from autotune.webhooks.events.outbox import EmittedEvent, emit
from autotune.webhooks.models import Event
from autotune.webhooks.states import EventKind
from scores.models import Reward
from scores.results import completions, events, failure_codes
from tests.factories import (
    CompletionFactory,
    GraderFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
    WebhookFactory,
    public,
)
from tests.support import results

pytestmark = pytest.mark.django_db


def shown(api, completion):
    return api.get(f"/completions/{public('comp', completion)}/score").json()


def failed_reward(completion, code):
    return Reward.objects.create(
        completion=completion, organization=completion.organization, task=completion.task, value=None,
        confidence=None, aggregation="mean", used=0, failed=1, error_code=code,
    )  # fmt: skip


def test_the_score_and_the_reward_are_those_that_the_api_shows(api_for):
    api = api_for(role="organization_admin")
    task = TaskFactory(organization=api.organization)
    completion = ScoreFactory(run__completion__task=task, value=0.25, reasoning="because").completion
    data = events.completed([completion.pk])[completion.pk]
    state = shown(api, completion)
    assert data == {
        "completionId": public("comp", completion),
        "taskId": public("task", task),
        "source": "api",
        "score": state["score"],
        "reward": state["reward"],
    }
    assert data["score"]["reasoning"] == "because"
    assert data["reward"]["value"] == 0.25


def test_an_event_of_a_panel_has_its_reward_in_the_shape_of_a_score(api_for):
    api = api_for(role="organization_admin")
    graders = [GraderFactory(organization=api.organization) for _ in range(2)]
    completion = CompletionFactory(task=TaskFactory(organization=api.organization, graders=graders))
    for grader in graders:
        run = RunFactory(completion=completion, grader=grader, panel_size=2, status="completed")
        ScoreFactory(run=run, value=0.5, reward=grader is graders[0])
    data = events.completed([completion.pk])[completion.pk]
    assert data["score"] == shown(api, completion)["score"]
    assert (data["score"]["graderId"], data["score"]["value"]) == (None, 0.5)


def test_events_name_the_source_of_the_completion():
    completion = ScoreFactory(run__completion__source="telemetry").completion
    assert events.completed([completion.pk])[completion.pk]["source"] == "telemetry"


@pytest.mark.parametrize(("source", "expected"), [("manual", 1), ("evaluation", 0)])
@pytest.mark.parametrize("panel_size", [1, 2])
@pytest.mark.parametrize("value", [0.5, None])
def test_completions_of_evaluations_have_no_events(source, expected, panel_size, value):
    task = TaskFactory()
    grader = task.version.members.get().grader
    WebhookFactory(organization=task.organization, events=["score.completed", "score.failed"])
    completion = CompletionFactory(task=task, source=source)
    run = RunFactory(completion=completion, panel_size=panel_size)
    if value is None:
        results.save(grader, bad=[results.missed(results.claim(run))])
    else:
        results.save(grader, [results.judged(results.claim(run), value, version_id=task.version_id)])
    assert Reward.objects.get().value == value
    assert Event.objects.count() == expected


def test_shadow_scores_emit_no_event():
    completion = ScoreFactory(value=0.25).completion
    shadow = RunFactory(completion=completion, grader=GraderFactory(), panel_size=0, status="completed")
    ScoreFactory(run=shadow, purpose="shadow", value=1.0, reward=False)
    assert events.completed([completion.pk])[completion.pk]["score"]["value"] == 0.25


def test_a_failure_has_its_code_who_is_responsible_and_what_to_change():
    run = RunFactory(status="failed", error_code="timeout", error_message="There was no answer.")
    failed_reward(run.completion, "timeout")
    data = events.failed([run.completion_id])[run.completion_id]
    assert data == {
        "completionId": public("comp", run.completion),
        "taskId": public("task", run.task),
        "source": "api",
        "error": {
            "code": "timeout",
            "message": f"There was no answer. {failure_codes.advice('timeout')}",
            "fault": "grader",
        },
    }


def test_c21_a_graders_own_words_and_our_advice_are_two_sentences():
    run = RunFactory(status="failed", error_code="grader_error", error_message="why")
    failed_reward(run.completion, "grader_error")
    data = events.failed([run.completion_id])[run.completion_id]
    assert data["error"]["message"] == f"why. {failure_codes.advice('grader_error')}"


def test_a_failure_of_only_the_panel_has_a_sentence_too():
    completion = CompletionFactory()
    failed_reward(completion, "panel_incomplete")
    assert events.failed([completion.pk])[completion.pk]["error"]["message"]


def test_events_match_the_current_state():
    scored, failing, fresh = ScoreFactory().completion, CompletionFactory(), CompletionFactory()
    failed_reward(failing, "timeout")
    everything = [scored.pk, failing.pk, fresh.pk]
    assert set(events.completed(everything)) == {scored.pk}
    assert set(events.failed(everything)) == {failing.pk}


@pytest.mark.parametrize("count", [1, 7])
def test_any_number_takes_few_queries(count, django_assert_num_queries):
    completion_ids = [ScoreFactory().completion_id for _ in range(count)]
    with django_assert_num_queries(3):  # rewards, scores, and the scales of their versions
        assert len(events.completed(completion_ids)) == count
    lost = [RunFactory(status="failed", error_code="timeout").completion for _ in range(count)]
    for completion in lost:
        failed_reward(completion, "timeout")
    with django_assert_num_queries(3):  # rewards, runs, and whose graders they are
        assert len(events.failed([completion.pk for completion in lost])) == count


def test_the_outbox_renders_them():
    completion = ScoreFactory(value=0.75).completion
    WebhookFactory(organization=completion.organization, events=["score.completed"])
    emit(EventKind.SCORE_COMPLETED, [EmittedEvent(completion.organization_id, completion.pk)])
    fanout.fan_out()
    payload = json.loads(Event.objects.get().body)
    assert (payload["event"], payload["data"]["reward"]["value"]) == ("score.completed", 0.75)
    assert completions.shape_of(completion.pk).id == payload["data"]["completionId"]
