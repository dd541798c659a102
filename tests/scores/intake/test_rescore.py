"""POST /completions/:id/rescore: new runs; old scores stay, and the reward follows the newest."""

from datetime import UTC, datetime

import pytest

from scores.models import Reward, Score, WorkflowRun
from scores.results import failure_codes
from tests.factories import (
    CompletionFactory,
    GraderFactory,
    OrganizationFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
    public,
)
from tests.support.results import claim, judged, missed, save

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


@pytest.fixture
def scored(task):
    """A completion whose sole grader gave 0.25."""
    run = RunFactory(completion=CompletionFactory(task=task), status="completed", attempt=1)
    ScoreFactory(run=run, value=0.25)
    return run.completion


def rescore(api, completion):
    return api.post(f"/completions/{public('comp', completion)}/rescore")


def newest(completion):
    return WorkflowRun.objects.filter(completion=completion).order_by("generation", "pk").last()


def judge(run, value, **more):
    held = claim(run)
    held.generation = run.generation
    save(run.grader, [judged(held, value, version_id=run.completion.task_version_id, **more)])


def state(api, completion):
    return api.get(f"/completions/{public('comp', completion)}/score").json()


# --- the sole grader ------------------------------------------------------------------------------------------------


def test_a_new_run_for_each_grader_is_due(api, scored, woken):
    answer, graders = woken(lambda: rescore(api, scored))
    assert answer.status_code == 202, answer.content
    run = newest(scored)
    assert answer.json() == {"workflowRunIds": [public("run", run)]}
    assert (run.status, run.generation, run.panel_size, run.attempt) == ("pending", 1, 1, 0)
    assert graders == [run.grader_id]
    assert (
        public("run", run) in api.get(f"/completions/{public('comp', scored)}").json()["completion"]["workflowRunIds"]
    )


def test_the_old_reward_stays_until_the_new_score_is_there(api, scored):
    rescore(api, scored)
    before = state(api, scored)
    assert (before["status"], before["reward"]["value"], before["score"]["value"]) == ("completed", 0.25, 0.25)
    judge(newest(scored), 0.75)
    after = state(api, scored)
    assert (after["status"], after["reward"]["value"], after["score"]["value"]) == ("completed", 0.75, 0.75)
    assert [score["value"] for score in after["scores"]] == [0.25, 0.75]
    assert list(Score.objects.order_by("pk").values_list("superseded", flat=True)) == [True, False]


def test_a_re_score_that_fails_leaves_the_old_reward(api, scored):
    rescore(api, scored)
    run = newest(scored)
    save(run.grader, bad=[missed(claim(run), "grader_error")])
    after = state(api, scored)
    assert (after["status"], after["reward"]["value"], after["score"]["value"]) == ("completed", 0.25, 0.25)
    assert not Score.objects.filter(superseded=True).exists()


def test_a_failed_completion_is_processed_again_and_may_get_a_reward(api, task):
    completion = CompletionFactory(task=task)
    run = RunFactory(completion=completion)
    save(run.grader, bad=[missed(claim(run), "grader_error")])
    assert state(api, completion)["status"] == "failed"
    rescore(api, completion)
    assert state(api, completion)["status"] == "processing"
    judge(newest(completion), 0.5)
    assert (state(api, completion)["status"], Reward.objects.get().value) == ("completed", 0.5)


def test_a_completion_can_be_rescored_repeatedly(api, scored):
    for value in (0.5, 0.75, 1.0):
        assert rescore(api, scored).status_code == 202
        judge(newest(scored), value)
        assert state(api, scored)["score"]["value"] == value
    assert (newest(scored).generation, Score.objects.filter(superseded=False).count()) == (3, 1)


# --- a panel --------------------------------------------------------------------------------------------------------


def panel_of(api, aggregation="mean"):
    """A completion with scores 0.2 and 0.4 of its scoring graders, and a shadow grader."""
    graders = [GraderFactory(organization=api.organization) for _ in range(3)]
    members = [graders[0], graders[1], (graders[2], 1.0, "shadow")]
    task = TaskFactory(organization=api.organization, graders=members, aggregation=aggregation)
    completion = CompletionFactory(task=task)
    for grader, size, value in zip(graders, (2, 2, 0), (0.2, 0.4, 0.9), strict=True):
        judge(RunFactory(completion=completion, grader=grader, panel_size=size), value)
    return completion, graders


def runs_of_generation(completion, generation):
    return list(WorkflowRun.objects.filter(completion=completion, generation=generation).order_by("pk"))


def test_the_reward_of_a_panel_changes_when_all_its_new_runs_have_ended(api):
    completion, _ = panel_of(api)
    assert state(api, completion)["reward"]["value"] == pytest.approx(0.3)
    rescore(api, completion)
    first, second, shadow = runs_of_generation(completion, 1)
    assert [run.panel_size for run in (first, second, shadow)] == [2, 2, 0]
    judge(first, 0.8)
    assert state(api, completion)["reward"]["value"] == pytest.approx(0.3)
    judge(second, 1.0)
    assert state(api, completion)["reward"]["value"] == pytest.approx(0.9)


def test_if_a_graders_new_run_failed_its_old_score_counts(api):
    completion, _ = panel_of(api)
    rescore(api, completion)
    first, second, _ = runs_of_generation(completion, 1)
    judge(first, 0.8)
    save(second.grader, bad=[missed(claim(second), "timeout")])
    after = state(api, completion)
    assert (after["reward"]["value"], after["reward"]["used"], after["reward"]["failed"]) == (
        pytest.approx(0.6), 2, 0,
    )  # fmt: skip
    assert (after["score"]["graderId"], after["score"]["value"]) == (None, pytest.approx(0.6))


def test_a_shadow_grader_with_an_unfinished_run_gets_no_second_run(api, task):
    shadow = GraderFactory(organization=api.organization)
    grader = task.version.members.get().grader
    task = TaskFactory(organization=api.organization, graders=[grader, (shadow, 1.0, "shadow")])
    completion = CompletionFactory(task=task)
    ScoreFactory(run=RunFactory(completion=completion, grader=grader, status="completed", attempt=1))
    RunFactory(completion=completion, grader=shadow, panel_size=0)
    assert rescore(api, completion).status_code == 202
    assert [run.grader_id for run in runs_of_generation(completion, 1)] == [grader.pk]


def test_the_panel_is_that_of_the_completion_s_version(api, task, scored):
    other = GraderFactory(organization=api.organization)
    answer = api.patch(f"/tasks/{public('task', task)}", {"graderId": public("grader", other)})
    assert answer.status_code == 200, answer.content
    rescore(api, scored)
    assert newest(scored).grader_id == task.version.members.get().grader_id != other.pk


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["pending", "running", "sleeping", "waiting"])
def test_a_completion_that_is_being_scored_is_refused(api, task, status):
    run = RunFactory(completion=CompletionFactory(task=task), status=status)
    answer = rescore(api, run.completion)
    assert (answer.status_code, answer.json()["code"], WorkflowRun.objects.count()) == (409, "not_final", 1)


def test_a_second_rescore_is_refused(api, scored):
    assert [rescore(api, scored).status_code for _ in range(2)] == [202, 409]


def test_a_grader_that_is_not_called_refuses(api, task, scored):
    grader = task.version.members.get().grader
    grader.status = "inactive"
    grader.save()
    answer = rescore(api, scored)
    assert (answer.status_code, answer.json()["code"]) == (409, "grader_inactive")


def test_an_archived_task_refuses(api, task, scored):
    task.archived = True
    task.save()
    answer = rescore(api, scored)
    assert (answer.status_code, answer.json()["code"]) == (409, "task_archived")


def test_a_completion_without_its_text_refuses(api, scored):
    scored.erased_at = datetime.now(UTC)
    scored.save()
    answer = rescore(api, scored)
    assert (answer.status_code, answer.json()["code"]) == (409, "text_erased")


def test_roles_that_may_rescore(api_for, task, scored):
    for role in ("reviewer", "grader_owner"):
        assert rescore(api_for(role=role, organization=task.organization), scored).status_code == 403
    for role in ("training_operator", "organization_admin", "admin"):
        assert rescore(api_for(role=role), scored).status_code == 404
    assert rescore(api_for(role="organization_admin", organization=task.organization), scored).status_code == 202


def test_a_test_key_cannot_rescore_with_graders_of_other_organizations(api_for):
    api = api_for(role="training_operator", kind="test")
    listed = GraderFactory(organization=OrganizationFactory(), visibility="listed")
    run = RunFactory(
        completion=CompletionFactory(task=TaskFactory(organization=api.organization, graders=[listed])),
        status="completed", attempt=1,
    )  # fmt: skip
    ScoreFactory(run=run)
    assert rescore(api, run.completion).status_code == 403


def test_a_body_is_refused(api, scored):
    answer = api.post(f"/completions/{public('comp', scored)}/rescore", {"graderId": "x"})
    assert answer.status_code == 400


# --- what rests on scores -------------------------------------------------------------------------------------------


def records(api, query=""):
    answer = api.get(f"/scores/export{query}")
    assert answer.status_code == 200
    return [line for line in b"".join(answer.streaming_content).splitlines() if line]


def test_exports_and_figures_have_only_the_newest_score_and_the_list_all(api, scored):
    import json

    rescore(api, scored)
    judge(newest(scored), 0.75)
    for query in ("", "?per=grader"):
        assert [json.loads(line)["score"] for line in records(api, query)] == [0.75], query
    summary = api.get("/scores/summary").json()
    assert (summary["totalRecords"], summary["unscored"], summary["scoreDistribution"]["mean"]) == (1, 0, 0.75)
    assert [score["value"] for score in api.get("/scores").json()["scores"]] == [0.75, 0.25]


def test_a_completion_does_not_count_as_unscored_during_a_rescore(api, scored):
    rescore(api, scored)
    summary = api.get("/scores/summary").json()
    assert (summary["totalRecords"], summary["unscored"]) == (1, 0)


def test_a_grader_that_failed_twice_counts_as_one_missing_score(api, task):
    run = RunFactory(completion=CompletionFactory(task=task))
    save(run.grader, bad=[missed(claim(run), "grader_error")])
    rescore(api, run.completion)
    again = newest(run.completion)
    save(again.grader, bad=[missed(claim(again), "grader_error")])
    assert api.get("/scores/summary").json()["unscored"] == 1
    assert failure_codes.fault(Reward.objects.get().error_code) == "grader"
