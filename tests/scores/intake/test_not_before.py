"""`notBefore` of a submission: its runs sleep until then."""

from datetime import UTC, datetime, timedelta

import pytest

from scores.engine import sweep
from scores.models import WorkflowRun
from tests.factories import TaskFactory, public
from tests.scores.submitting import item, problems, rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization, deadline_ms=60_000)


def ahead(**delta):
    return (datetime.now(UTC) + timedelta(**delta)).isoformat()


def test_its_run_sleeps_until_then_and_has_its_whole_deadline_after_it(api, task, woken):
    moment = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=2)
    answer, graders = woken(lambda: api.post("/completions", item(task, notBefore=moment.isoformat())))
    assert answer.status_code == 202, answer.content
    run = WorkflowRun.objects.get()
    assert (run.status, run.wake_at, run.attempt) == ("sleeping", moment, 0)
    assert run.deadline_at == moment + timedelta(minutes=1)
    assert graders == []
    body = answer.json()
    assert body["completion"]["status"] == "pending"
    assert 7_100_000 < body["estimatedScoreTimeMs"] < 7_300_000
    listed = api.get("/completions?status=pending").json()["completions"]
    assert [completion["id"] for completion in listed] == [public("comp", run.completion)]
    assert api.get("/completions?status=processing").json()["completions"] == []


def test_the_sweep_wakes_the_run_at_that_time(api, task):
    api.post("/completions", item(task, notBefore=ahead(hours=1)))
    sweep.sweep()
    run = WorkflowRun.objects.get()
    assert run.status == "sleeping"
    WorkflowRun.objects.update(wake_at=datetime.now(UTC) - timedelta(seconds=1))
    assert sweep.sweep() == [run.grader_id]
    run.refresh_from_db()
    assert (run.status, run.wake_at) == ("pending", None)


def test_each_item_of_a_batch_has_its_own_not_before(api, task, woken):
    items = [item(task), item(task, notBefore=ahead(days=1)), item(task, notBefore=None)]
    answer, graders = woken(lambda: api.post("/completions/batch", {"completions": items}))
    assert answer.status_code == 202
    assert sorted(WorkflowRun.objects.values_list("status", flat=True)) == ["pending", "pending", "sleeping"]
    assert len(graders) == 1


@pytest.mark.parametrize("text", ["2020-01-01T00:00:00Z", "2020-01-01", "2020-01-01T00:00:00"])
def test_a_past_not_before_has_no_effect(api, task, text):
    assert api.post("/completions", item(task, notBefore=text)).status_code == 202
    run = WorkflowRun.objects.get()
    assert (run.status, run.wake_at) == ("pending", None)
    assert run.deadline_at > datetime.now(UTC)


def test_a_run_that_never_began_can_be_cancelled(api, task):
    answer = api.post("/completions", item(task, notBefore=ahead(hours=1)))
    assert api.post(f"/workflow-runs/{answer.json()['workflowRunId']}/cancel").status_code == 200
    assert WorkflowRun.objects.get().status == "failed"


def test_not_before_is_no_content_of_an_external_id(api, task):
    first = api.post("/completions", item(task, externalId="a", notBefore=ahead(hours=1)))
    again = api.post("/completions", item(task, externalId="a"))
    assert (first.status_code, again.status_code, again.json()["existing"]) == (202, 200, True)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("", "invalid_date"), ("soon", "invalid_date"), ("2026-13-01", "invalid_date"), (" 2026-01-01", "invalid_date"),
        ("0001-01-01T00:00:00+23:59", "invalid_date"), ("9999-12-31T23:59:59-23:59", "invalid_date"),
        ("9999-01-01", "out_of_range"), (5, "wrong_type"), (True, "wrong_type"), ([], "wrong_type"),
    ],
    ids=["empty", "word", "month", "space", "before-time", "after-time", "far", "number", "boolean", "list"],
)  # fmt: skip
def test_an_invalid_not_before_is_refused(api, task, value, code):
    assert problems(api.post("/completions", item(task, notBefore=value))) == [("/notBefore", code)]
    batch = {"completions": [item(task), item(task, notBefore=value)]}
    assert problems(api.post("/completions/batch", batch)) == [("/completions/1/notBefore", code)]
    assert rows() == (0, 0)


def test_not_before_is_at_most_thirty_days_ahead(api, task):
    assert api.post("/completions", item(task, notBefore=ahead(days=29, hours=23))).status_code == 202
    answer = api.post("/completions", item(task, notBefore=ahead(days=30, hours=1)))
    assert problems(answer) == [("/notBefore", "out_of_range")]
