"""GET /completions/:id/score: the state of one completion's score, and what each caller sees of it."""

import pytest

from autotune.core import clock
from scores.models import Reward
from tests.factories import (
    CompletionFactory,
    GraderFactory,
    OrganizationFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
    UserFactory,
    public,
)
from tests.scores.submitting import problems

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def completion(api):
    return CompletionFactory(task=TaskFactory(organization=api.organization))


def path_of(completion, query=""):
    return f"/completions/{public('comp', completion)}/score{query}"


def state(api, completion):
    answer = api.get(path_of(completion))
    assert answer.status_code == 200, answer.content
    assert list(answer.json()) == ["score", "scores", "reward", "status", "waitingFor"]
    return answer.json()


def reward(completion, value, **members):
    return Reward.objects.create(
        **{
            "completion": completion, "organization": completion.organization, "task": completion.task, "value": value,
            "confidence": None if value is None else 0.5, "aggregation": "mean", "used": 2, "failed": 0, **members,
        }
    )  # fmt: skip


def test_before_a_run_starts_the_status_is_pending(api, completion):
    RunFactory(completion=completion)
    pending = state(api, completion)
    assert pending.pop("waitingFor")["reason"] == "queued"
    assert pending == {"score": None, "scores": [], "reward": None, "status": "pending"}


@pytest.mark.parametrize("run", [("running", 1), ("sleeping", 1), ("waiting", 1), ("pending", 2)])
def test_after_a_run_starts_the_status_is_processing(api, completion, run):
    RunFactory(completion=completion, status=run[0], attempt=run[1])
    processing = state(api, completion)
    assert processing.pop("waitingFor")["reason"] in ("calling", "retry", "callback", "queued")
    assert processing == {"score": None, "scores": [], "reward": None, "status": "processing"}


def test_the_score_is_that_of_the_sole_grader(api, completion):
    score = ScoreFactory(run__completion=completion, value=0.25, reasoning="Right.")
    body = state(api, completion)
    assert body["scores"] == [body["score"]] == [api.get(f"/scores/{public('score', score)}").json()["score"]]
    assert body["reward"] == {
        "value": 0.25, "confidence": 0.9, "aggregation": "mean", "used": 1, "failed": 0,
        "scoredAt": clock.wire(Reward.objects.get().scored_at),
    }  # fmt: skip
    assert body["status"] == "completed"


def panel_of_two(api, *, shadow=False):
    graders = [GraderFactory(organization=api.organization) for _ in range(2)]
    members = [graders[0], (graders[1], 1.0, "shadow" if shadow else "scoring")]
    completion = CompletionFactory(task=TaskFactory(organization=api.organization, graders=members))
    sizes = (1, 0) if shadow else (2, 2)
    runs = [
        RunFactory(completion=completion, grader=grader, panel_size=size, status="completed", attempt=1)
        for grader, size in zip(graders, sizes, strict=True)
    ]
    return completion, runs


def test_the_score_of_a_panel_is_its_reward_without_a_grader(api):
    completion, runs = panel_of_two(api)
    scores = [ScoreFactory(run=run, value=value, reward=False) for run, value in zip(runs, (0.2, 0.8), strict=True)]
    assert state(api, completion)["score"] is None
    stored_reward = reward(completion, 0.5)
    body = state(api, completion)
    assert body["score"] == {
        "id": None, "completionId": public("comp", completion), "graderId": None, "graderVersion": None, "value": 0.5,
        "confidence": 0.5, "rawValue": 0.5, "scale": {"min": 0.0, "max": 1.0}, "calibrated": None,
        "reasoning": None, "dimensions": None, "reviewedBy": None, "reusedFrom": None, "receipt": None, "createdAt": clock.wire(stored_reward.scored_at),
    }  # fmt: skip
    assert [score["id"] for score in body["scores"]] == [public("score", score) for score in scores]
    assert (body["reward"]["value"], body["reward"]["used"], body["status"]) == (0.5, 2, "completed")


def test_a_panel_reports_a_failed_grader(api):
    completion, runs = panel_of_two(api)
    ScoreFactory(run=runs[0], value=0.2, reward=False)
    runs[1].status = "failed"
    runs[1].save()
    reward(completion, 0.2, used=1, failed=1)
    body = state(api, completion)
    assert (body["score"]["graderId"], body["reward"]["used"], body["reward"]["failed"]) == (None, 1, 1)


def test_a_shadow_score_is_shown_and_never_counts(api):
    completion, runs = panel_of_two(api, shadow=True)
    ScoreFactory(run=runs[1], value=0.1, purpose="shadow", reward=False)
    body = state(api, completion)
    assert (body["score"], body["reward"], [score["value"] for score in body["scores"]]) == (None, None, [0.1])
    ScoreFactory(run=runs[0], value=0.9)
    body = state(api, completion)
    assert (body["score"]["value"], body["reward"]["value"], body["status"]) == (0.9, 0.9, "completed")
    assert body["score"]["graderId"] == public("grader", runs[0].grader)


def test_a_failed_completion_has_neither_score_nor_reward(api, completion):
    RunFactory(completion=completion, status="failed", attempt=5, error_code="grader_timeout")
    reward(completion, None, used=0, failed=1, error_code="grader_timeout")
    assert state(api, completion) == {
        "score": None, "scores": [], "reward": None, "status": "failed", "waitingFor": None,
    }  # fmt: skip


def test_a_current_etag_of_a_final_score_gets_304(api, completion):
    RunFactory(completion=completion)
    assert "ETag" not in api.get(path_of(completion))
    ScoreFactory(run=completion.runs.get())
    tag = api.get(path_of(completion))["ETag"]
    for query in ("", "?wait=30"):
        again = api.get(path_of(completion, query), if_none_match=tag)
        assert (again.status_code, again.content) == (304, b"")


def test_a_stranger_finds_nothing(api_for, completion):
    ScoreFactory(run__completion=completion)
    for role in ("training_operator", "organization_admin", "reviewer", "grader_owner", "admin"):
        assert problems(api_for(role=role).get(path_of(completion)), 404) == []


def test_a_grader_owner_sees_their_own_score_and_no_reward(api_for):
    owner = api_for(role="grader_owner")
    mine = GraderFactory(organization=owner.organization, created_by=owner.user, visibility="listed")
    theirs = GraderFactory(organization=owner.organization, created_by=UserFactory())
    task = TaskFactory(organization=OrganizationFactory(), graders=[mine, theirs])
    completion = CompletionFactory(task=task)
    runs = [
        RunFactory(completion=completion, grader=grader, panel_size=2, status="completed", attempt=1)
        for grader in (mine, theirs)
    ]
    ScoreFactory(run=runs[1], value=0.8, reward=False)
    assert owner.get(path_of(completion)).status_code == 404
    own = ScoreFactory(run=runs[0], value=0.2, reward=False)
    reward(completion, 0.5)
    body = state(owner, completion)
    assert [score["id"] for score in body["scores"]] == [public("score", own)]
    assert (body["score"], body["reward"], body["status"]) == (None, None, "completed")


def test_a_colleague_with_another_grader_sees_nothing_of_it(api_for):
    owner = api_for(role="grader_owner")
    completion = CompletionFactory(task=TaskFactory(organization=owner.organization))
    ScoreFactory(run__completion=completion)
    assert owner.get(path_of(completion)).status_code == 404


@pytest.mark.parametrize(
    "wait", ["31", "30.001", "-1", "abc", "", "NaN", "Infinity", "1e999", "null", "true", "1&wait=2"]
)
def test_an_invalid_wait_is_refused(api, completion, wait):
    assert [pointer for pointer, _ in problems(api.get(path_of(completion, f"?wait={wait}")))] == ["?wait"]


@pytest.mark.parametrize("wait", ["0", "0.0", "30", "12.5"])
def test_a_final_score_is_returned_without_waiting(api, completion, wait):
    ScoreFactory(run__completion=completion)
    assert api.get(path_of(completion, f"?wait={wait}")).json()["status"] == "completed"


def test_the_queries_do_not_grow_with_the_panel(api, django_assert_max_num_queries):
    graders = [GraderFactory(organization=api.organization) for _ in range(20)]
    completion = CompletionFactory(task=TaskFactory(organization=api.organization, graders=graders))
    for grader in graders:
        run = RunFactory(completion=completion, grader=grader, panel_size=20, status="completed", attempt=1)
        ScoreFactory(run=run, reward=False)
    reward(completion, 0.5)
    with django_assert_max_num_queries(12):  # the audit trail's among them
        assert len(state(api, completion)["scores"]) == 20
