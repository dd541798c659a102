"""A pending result shows its reason and when it ends: in the API, in live rewards and on the pages."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from autotune.access.models import Membership
from autotune.core import clock
from graders import pauses
from graders.models import Grader
from scores.models import WorkflowRun
from scores.states import RunStatus, WaitKind
from tests.factories import CompletionFactory, GraderFactory, RunFactory, TaskFactory, public
from tests.scores.submitting import item

pytestmark = pytest.mark.django_db
AHEAD = timedelta(minutes=7)


@pytest.fixture
def api(api_for):
    return api_for(role="organization_admin")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


@pytest.fixture
def grader(task):
    return task.version.members.get().grader


@pytest.fixture
def run(task):
    return RunFactory(completion=CompletionFactory(task=task))


def pause(grader, reason, until):
    Grader.objects.filter(pk=grader.pk).update(held_until=until, held_reason=reason)


def of_completion(api, run):
    return api.get(f"/completions/{public('comp', run.completion)}/score").json()["waitingFor"]


def of_run(api, run):
    return api.get(f"/workflow-runs/{run.public_id}").json()["workflowRun"]["waitingFor"]


@pytest.mark.parametrize(
    ("held", "reason"),
    [
        (pauses.UNHEALTHY, "paused"),
        (pauses.CIRCUIT_OPEN, "circuit_open"),
        (pauses.RATE_LIMITED, "rate_limited"),
    ],
)
def test_c26_a_pending_result_shows_the_pause_of_its_grader_and_its_end(api, run, grader, held, reason):
    until = timezone.now() + AHEAD
    pause(grader, held, until)
    for wait in (of_completion(api, run), of_run(api, run)):
        assert (wait["reason"], wait["until"]) == (reason, clock.wire(until))
        assert "may not be called yet" in wait["detail"]


def test_a_queued_run_has_the_reason_queued(api, run, grader):
    assert of_run(api, run) == {
        "reason": "queued",
        "until": None,
        "detail": "The run is in its grader's queue and will be called in turn.",
    }
    pause(grader, pauses.CIRCUIT_OPEN, timezone.now() - AHEAD)  # over, and not yet released
    assert of_completion(api, run)["reason"] == "queued"


@pytest.mark.parametrize(
    ("fields", "reason", "ends"),
    [
        ({"status": RunStatus.RUNNING, "attempt": 1}, "calling", None),
        ({"status": RunStatus.SLEEPING, "attempt": 2, "error_code": "timeout"}, "retry", "wake_at"),
        ({"status": RunStatus.SLEEPING}, "not_before", "wake_at"),
        ({"status": RunStatus.WAITING, "attempt": 1, "waits_for": WaitKind.CALLBACK}, "callback", "wake_at"),
        ({"status": RunStatus.WAITING, "attempt": 1, "waits_for": WaitKind.REVIEW}, "review", "wake_at"),
        (
            {
                "status": RunStatus.SLEEPING,
                "waits_for": WaitKind.GRADER,
                "steps": [{"s": "hold", "a": 0, "o": "rate_limited"}],
            },
            "rate_limited",
            "wake_at",
        ),
    ],
)
def test_each_state_has_its_reason(api, task, fields, reason, ends):
    until = timezone.now() + AHEAD
    run = RunFactory(completion=CompletionFactory(task=task), wake_at=until, **fields)
    wait = of_run(api, run)
    assert (wait["reason"], wait["until"]) == (reason, clock.wire(until) if ends else None)
    assert of_completion(api, run) == wait


def test_an_inactive_grader_is_reported_with_the_deadline(api, run, grader):
    Grader.objects.filter(pk=grader.pk).update(status="inactive")
    wait = of_run(api, run)
    assert (wait["reason"], wait["until"]) == ("grader_inactive", clock.wire(run.deadline_at))


def test_a_retry_waits_for_a_pause_that_lasts_longer(api, task, grader):
    now = timezone.now()
    fields = {"status": RunStatus.SLEEPING, "attempt": 1, "wake_at": now + timedelta(seconds=5)}
    run = RunFactory(completion=CompletionFactory(task=task), **fields)
    pause(grader, pauses.CIRCUIT_OPEN, now + AHEAD)
    assert (of_run(api, run)["reason"], of_run(api, run)["until"]) == ("circuit_open", clock.wire(now + AHEAD))


def test_a_panel_reports_the_reason_that_ends_last(api):
    graders = [GraderFactory(organization=api.organization) for _ in range(2)]
    completion = CompletionFactory(task=TaskFactory(organization=api.organization, graders=graders))
    first, second = (RunFactory(completion=completion, grader=grader, panel_size=2) for grader in graders)
    pause(graders[1], pauses.CIRCUIT_OPEN, timezone.now() + AHEAD)
    assert of_completion(api, first)["reason"] == "circuit_open"
    assert [of_run(api, run)["reason"] for run in (first, second)] == ["queued", "circuit_open"]


def test_a_shadow_grader_is_no_reason_to_wait(api, task):
    shadow = GraderFactory(organization=api.organization)
    completion = CompletionFactory(task=task)
    run = RunFactory(completion=completion)
    RunFactory(completion=completion, grader=shadow, panel_size=0)
    pause(shadow, pauses.CIRCUIT_OPEN, timezone.now() + AHEAD)
    assert of_completion(api, run)["reason"] == "queued"


def test_a_final_result_has_no_reason(api, run):
    WorkflowRun.objects.filter(pk=run.pk).update(status=RunStatus.FAILED, error_code="timeout")
    assert of_run(api, run) is None


def test_only_the_reason_and_its_end_are_shown_of_another_organizations_grader(api):
    grader = GraderFactory(visibility="listed")
    run = RunFactory(completion=CompletionFactory(task=TaskFactory(organization=api.organization, graders=[grader])))
    until = timezone.now() + AHEAD
    pause(grader, pauses.RATE_LIMITED, until)
    wait = of_completion(api, run)
    assert wait == {
        "reason": "rate_limited",
        "until": clock.wire(until),
        "detail": "The grader may not be called yet: its rate limit is reached.",
    }


def test_a_stranger_gets_404(api_for, run, grader):
    pause(grader, pauses.RATE_LIMITED, timezone.now() + AHEAD)
    stranger = api_for(role="organization_admin")
    assert stranger.get(f"/completions/{public('comp', run.completion)}/score").status_code == 404
    assert stranger.get(f"/workflow-runs/{run.public_id}").status_code == 404


def test_pending_live_rewards_have_a_reason(api, task, grader):
    pause(grader, pauses.CIRCUIT_OPEN, timezone.now() + AHEAD)
    body = {"taskId": public("task", task), "items": [{"prompt": "2 + 2?", "response": "4"}] * 2, "deadlineMs": 0}
    rewards = api.post("/rewards", body).json()["rewards"]
    assert [reward["waitingFor"]["reason"] for reward in rewards] == ["circuit_open"] * 2


def test_the_pages_show_the_reason(api, client, run, grader):
    pause(grader, pauses.CIRCUIT_OPEN, timezone.now() + AHEAD)
    client.force_login(Membership.objects.get(organization=api.organization).user)
    for address in (reverse("workflow_run", args=[run.pk]), reverse("completion", args=[run.completion_id])):
        page = client.get(address)
        assert page.status_code == 200
        assert "its circuit is open after failed calls" in page.content.decode()


def test_a_list_of_runs_loads_all_graders_in_one_query(api, task, django_assert_max_num_queries):
    for _ in range(5):
        RunFactory(completion=CompletionFactory(task=task))
    api.get("/workflow-runs")
    with django_assert_max_num_queries(12):
        runs = api.get("/workflow-runs").json()["workflowRuns"]
    assert {run["waitingFor"]["reason"] for run in runs} == {"queued"}


def test_a_submission_for_later_shows_its_start(api, task):
    later = timezone.now() + AHEAD
    answer = api.post("/completions", item(task, notBefore=later.isoformat()))
    wait = api.get(f"/completions/{answer.json()['completion']['id']}/score").json()["waitingFor"]
    assert wait["reason"] == "not_before"
    assert wait["until"] == clock.wire(later)
