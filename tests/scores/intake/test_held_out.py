"""`heldOut` marks completions that must never be trained on: set at intake, part of the content, copied to results."""

import pytest

from autotune.access.principal import Principal
from autotune.core.clock import database_now
from scores.engine import copies
from scores.intake import rescoring, submission
from scores.intake.requests import NewCompletion, TaskId
from scores.models import Reward, Score, WorkflowRun
from scores.reviews import decisions
from scores.reviews.decisions import ReviewDecision, Reviewer
from tasks.models import Completion
from tasks.states import CompletionSource
from tests.factories import (
    CompletionFactory,
    GraderFactory,
    ReviewFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
    UserFactory,
    public,
)
from tests.scores.submitting import item, problems, rows
from tests.support.results import claim, judged, missed, save

pytestmark = pytest.mark.django_db
ORIGIN = {"source": CompletionSource.TELEMETRY, "held_out": True}


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


def principal_of(api):
    return Principal(api.organization, api.api_key.role, api.user)


def origins(rows):
    return list(rows.order_by("pk").values_list("source", "held_out"))


# --- intake ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("members", "expected"), [({}, False), ({"heldOut": False}, False), ({"heldOut": True}, True)])
def test_a_submission_is_held_out_only_if_it_says_so(api, task, members, expected):
    answer = api.post("/completions", item(task, **members))
    assert answer.status_code == 202, answer.content
    completion = answer.json()["completion"]
    assert (completion["heldOut"], completion["source"]) == (expected, "api")
    assert api.get(f"/completions/{completion['id']}").json()["completion"]["heldOut"] is expected


@pytest.mark.parametrize("value", ["true", 1, None, {}])
def test_another_type_is_rejected(api, task, value):
    assert problems(api.post("/completions", item(task, heldOut=value))) == [("/heldOut", "wrong_type")]
    assert rows() == (0, 0)


@pytest.mark.parametrize("name", ["source", "held_out"])
def test_no_request_sets_the_source(api, task, name):
    assert problems(api.post("/completions", item(task, **{name: "manual"}))) == [(f"/{name}", "unknown_field")]


def test_items_of_a_batch_are_marked_one_by_one(api, task):
    batch = {"completions": [item(task), item(task, heldOut=True), item(task, heldOut=False)]}
    answer = api.post("/completions/batch", batch)
    assert answer.status_code == 202, answer.content
    ids = [completion["id"] for completion in answer.json()["completions"]]
    assert [api.get(f"/completions/{pk}").json()["completion"]["heldOut"] for pk in ids] == [False, True, False]


@pytest.mark.parametrize("first", [True, False])
def test_another_mark_is_other_content_of_an_external_id(api, task, first):
    assert api.post("/completions", item(task, externalId="x", heldOut=first)).status_code == 202
    assert api.post("/completions", item(task, externalId="x", heldOut=first)).status_code == 200
    conflict = api.post("/completions", item(task, externalId="x", heldOut=not first))
    assert problems(conflict, 409) == [("/externalId", "external_id_conflict")]
    assert origins(Completion.objects.all()) == [("api", first)]


def test_the_digest_of_what_is_not_held_out_stays_as_it_was(api, task):
    api.post("/completions", item(task, externalId="x"))
    api.post("/completions", item(task, externalId="y", heldOut=False))
    api.post("/completions", item(task, externalId="z", heldOut=True))
    first, second, third = (Completion.objects.get(external_id=name).content_digest for name in "xyz")
    assert bytes(first) == bytes(second) != bytes(third)


def test_the_endpoint_that_receives_it_sets_the_source(api, task):
    new_completion = NewCompletion(task_id=TaskId(task.pk), model_id="m", response="4", prompt="2 + 2?")
    submission.submit(principal_of(api), {0: new_completion}, source=CompletionSource.MANUAL)
    assert origins(Completion.objects.all()) == [("manual", False)]


# --- copies to scores and rewards -----------------------------------------------------------------------------------


def test_a_sole_graders_score_and_reward_have_both(task):
    run = RunFactory(completion=CompletionFactory(task=task, **ORIGIN))
    plain = RunFactory(completion=CompletionFactory(task=task), grader=run.grader)
    save(run.grader, [judged(claim(each), 0.5, version_id=task.version_id) for each in (run, plain)])
    for rows_ in (Score.objects.filter(), Reward.objects.filter()):
        assert sorted(origins(rows_)) == [("api", False), ("telemetry", True)]


def test_a_panels_scores_and_reward_have_both(api):
    graders = [GraderFactory(organization=api.organization) for _ in range(2)]
    task = TaskFactory(organization=api.organization, graders=graders)
    completion = CompletionFactory(task=task, **ORIGIN)
    for grader in graders:
        run = RunFactory(completion=completion, grader=grader, panel_size=2)
        save(grader, [judged(claim(run), 0.5, version_id=task.version_id)])
    assert origins(Score.objects.filter()) == [("telemetry", True)] * 2
    assert origins(Reward.objects.filter()) == [("telemetry", True)]


def test_a_reward_without_a_value_has_both(task):
    run = RunFactory(completion=CompletionFactory(task=task, **ORIGIN))
    save(run.grader, bad=[missed(claim(run))])
    assert Reward.objects.get().value is None
    assert origins(Reward.objects.filter()) == [("telemetry", True)]


def test_a_rescore_keeps_both(api, task):
    completion = CompletionFactory(task=task, **ORIGIN)
    ScoreFactory(run=RunFactory(completion=completion, status="completed", attempt=1))
    rescoring.rescore(completion.pk, principal_of(api))
    run = WorkflowRun.objects.get(generation=1)
    held = claim(run)
    held.generation = 1
    save(run.grader, [judged(held, 0.75, version_id=task.version_id)])
    assert origins(Score.objects.filter()) == [("telemetry", True)] * 2
    assert (Reward.objects.get().value, *origins(Reward.objects.filter())) == (0.75, ("telemetry", True))


def test_a_reviewed_score_has_both(task):
    run = RunFactory(
        completion=CompletionFactory(task=task, **ORIGIN), status="waiting", waits_for="review", attempt=1,
        wake_at=database_now().replace(year=2100),
    )  # fmt: skip
    review = ReviewFactory(run=run)
    decisions.decide(review.pk, ReviewDecision(True, None, None), Reviewer(UserFactory(), administers=True))
    assert origins(Score.objects.filter()) == origins(Reward.objects.filter()) == [("telemetry", True)]


def test_a_copy_has_those_of_its_own_completion(task):
    original = ScoreFactory(run__completion=CompletionFactory(task=task))
    completion = CompletionFactory(task=task, model_id="model-b", **ORIGIN)
    RunFactory(completion=completion, status="waiting", waits_for="reuse", reuses=original.completion_id)
    assert [ended.is_final for ended in copies.end({completion.pk: original.completion_id})] == [True]
    copy = Score.objects.get(reused_from=original.pk)
    assert (copy.source, copy.held_out) == ("telemetry", True)
    assert origins(Reward.objects.filter(pk=completion.pk)) == [("telemetry", True)]


def test_live_rewards_never_reuse_a_held_out_answer(api, task):
    answer = api.post("/completions", item(task, prompt="p", response="r", modelId="live", heldOut=True))
    body = {"taskId": public("task", task), "items": [{"prompt": "p", "response": "r"}], "deadlineMs": 0}
    live = api.post("/rewards", body).json()["rewards"][0]
    assert live["completionId"] != answer.json()["completion"]["id"]
    assert sorted(origins(Completion.objects.all())) == [("api", False), ("api", True)]
