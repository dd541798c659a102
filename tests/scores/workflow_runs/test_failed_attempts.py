"""The evidence of failed attempts: what is stored, for how many attempts, and who reads what of it."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from scores.engine import recording
from scores.engine.call_results import CallResults, FailedAttempt
from scores.engine.claims import claimed_under
from scores.engine.materials import TaskFactsCache
from scores.engine.retries import RetryDecision
from scores.models import AttemptEvidence, WorkflowRun
from scores.retention import erasing
from tests.factories import CompletionFactory, OrganizationFactory, RunFactory, TaskFactory, public
from tests.scores.submitting import problems
from tests.support.calling_back import call_back
from tests.support.damaging import damage_row
from tests.support.fakes import refuse

FULL = {"url", "requestId", "durationMs", "items", "status", "headers", "answer", "answerOmitted"}


def run_of(task, **fields):
    return RunFactory(completion=CompletionFactory(task=task), **fields)


def attempts_of(api, run):
    answer = api.get(f"/workflow-runs/{public('run', run)}")
    assert answer.status_code == 200, answer.content
    return answer.json()["workflowRun"]["failedAttempts"]


def wake(run):
    """Make a sleeping run due."""
    WorkflowRun.objects.filter(pk=run.pk).update(status="pending", wake_at=None)


def fail_attempt(grader, run, number, held_by=None):
    """Save the failure of an attempt that sleeps afterwards; `held_by` is the attempt that has the lease."""
    until = timezone.now() + timedelta(minutes=1)
    WorkflowRun.objects.filter(pk=run.pk).update(
        status="running", attempt=held_by or number, leased_until=until, wake_at=None
    )
    decision = RetryDecision("timeout", "No answer.", wake_at=until)
    attempt = FailedAttempt(claimed_under(run, number), decision, evidence={"answer": "quotes the prompt"})
    recording.save(grader.pk, grader.version_id, CallResults(missed=[attempt]), TaskFactsCache())


@pytest.fixture
def reader(api_for, grader):
    """An admin of the grader's organization."""
    return api_for(role="organization_admin", organization=grader.organization)


# --- one attempt ----------------------------------------------------------------------------------------------------


def test_a_server_error_shows_status_headers_answer_and_what_to_do(fake, grader, task, drain, reader):
    fake.script = refuse(503, {"error": "No memory left."}, signed=False)
    run = run_of(task)
    drain(grader, seconds=0.5)
    (attempt,) = attempts_of(reader, run)
    assert (attempt["attempt"], attempt["code"], attempt["check"]) == (1, "grader_unavailable", "The HTTP status")
    assert attempt["advice"].startswith("The grader returned a server error")
    call = attempt["call"]
    assert call.keys() == FULL
    assert (call["status"], call["url"]) == (503, f"{fake.url}/score/batch")
    assert call["answer"] == '{"error": "No memory left."}'
    assert "Content-Type" in call["headers"]
    assert len(call["requestId"]) == 32


def test_the_run_that_recovers_keeps_its_evidence(fake, grader, task, drain, reader):
    fake.script = refuse(503, signed=False)
    run = run_of(task)
    drain(grader, seconds=0.5)
    wake(run)
    drain(grader, seconds=5)
    run.refresh_from_db()
    assert run.status == "completed"
    assert [attempt["code"] for attempt in attempts_of(reader, run)] == ["grader_unavailable"]


def test_a_success_stores_nothing(grader, task, drain):
    run_of(task)
    drain(grader, seconds=0.5)
    assert not AttemptEvidence.objects.exists()


def test_a_call_without_an_answer_has_no_status(grader, task, drain, reader):
    grader.endpoint = "http://127.0.0.1:9"  # no server, and not allowed
    grader.save(update_fields=["endpoint"])
    run = run_of(task)
    drain(grader, seconds=0.5)
    (attempt,) = attempts_of(reader, run)
    assert attempt["check"] == "The connection"
    assert (attempt["call"]["status"], attempt["call"]["answer"]) == (None, None)


def test_a_callback_with_an_error_is_evidence(fake, grader, task, drain, reader):
    fake.answers_later = True
    grader.supports_async, grader.max_batch_size = True, 1
    grader.save(update_fields=["supports_async", "max_batch_size"])
    run = run_of(task)
    drain(grader, seconds=0.5)
    (request,) = fake.accepted
    call_back(request, {"requestId": request["requestId"], "error": f"Failed for {request['callbackUrl']}"})
    (attempt,) = attempts_of(reader, run)
    assert attempt["code"] == "grader_error"
    assert request["callbackUrl"].rpartition("/")[2] not in json.dumps(attempt)
    assert (attempt["call"]["url"], attempt["call"]["status"]) == (None, None)
    assert "Failed for" in attempt["call"]["answer"]


def test_only_the_last_five_of_twenty_attempts_are_kept(grader, task, reader):
    run, other = run_of(task), run_of(task)
    for number in range(1, 21):
        fail_attempt(grader, run, number)
    fail_attempt(grader, other, 1)
    assert [attempt["attempt"] for attempt in attempts_of(reader, run)] == [20, 19, 18, 17, 16]
    assert len(attempts_of(reader, other)) == 1
    assert AttemptEvidence.objects.count() == 6


def test_an_attempt_that_lost_its_lease_stores_nothing(grader, task):
    run = run_of(task)
    fail_attempt(grader, run, 1, held_by=2)
    assert not AttemptEvidence.objects.exists()


def test_lists_leave_the_attempts_out(fake, grader, task, drain, reader):
    fake.script = refuse(503)
    run_of(task)
    drain(grader, seconds=0.5)
    (run,) = reader.get("/workflow-runs").json()["workflowRuns"]
    assert "failedAttempts" not in run


# --- organizations --------------------------------------------------------------------------------------------------


@pytest.fixture
def shared_batch(fake, grader, drain):
    """Runs of two organizations that a grader of a third judged in one batch, each with an error that quotes its text."""
    runs = []
    for name in ("alpha", "beta"):
        task = TaskFactory(organization=OrganizationFactory(), graders=[grader])
        runs.append(RunFactory(completion=CompletionFactory(task=task, response=f"the text of {name}")))
    fake.judge = lambda completion: {"value": 7, "confidence": 1, "reasoning": completion["response"]}
    drain(grader, seconds=0.5)
    ((path, body),) = fake.calls
    assert (path, len(body["completions"])) == ("/score/batch", 2)
    return runs


def test_evidence_of_one_organization_never_reaches_another_in_the_same_batch(shared_batch, api_for):
    for run, own, other in zip(shared_batch, ("alpha", "beta"), ("beta", "alpha"), strict=True):
        row = AttemptEvidence.objects.get(run=run)
        assert row.organization_id == run.organization_id
        assert f"the text of {own}" in row.content["answer"]
        assert f"the text of {other}" not in json.dumps(row.content)
        api = api_for(role="organization_admin", organization=run.organization)
        foreign = next(another for another in shared_batch if another.pk != run.pk)
        assert api.get(f"/workflow-runs/{public('run', foreign)}").status_code == 404


def test_other_organizations_see_code_check_and_advice_only(shared_batch, api_for, fake):
    run = shared_batch[0]
    api = api_for(role="organization_admin", organization=run.organization)
    (attempt,) = attempts_of(api, run)
    assert (attempt["code"], attempt["check"]) == ("out_of_range", "The result")
    assert attempt["advice"]
    assert (attempt["call"], attempt["message"]) == (None, None)
    assert str(fake.port) not in json.dumps(attempt)


def test_other_organizations_see_no_call_on_the_page(shared_batch, visitor, fake):
    run = shared_batch[0]
    page = visitor(organization=run.organization).get(f"/workflow-runs/{public('run', run)}").content.decode()
    assert "Failed attempts" in page
    assert "The result" in page
    assert "the text of" not in page
    assert str(fake.port) not in page


def test_the_graders_organization_sees_the_call_and_each_runs_own_entry(shared_batch, grader, api_for):
    owner = api_for(role="grader_owner", organization=grader.organization, user=grader.created_by)
    for run, own in zip(shared_batch, ("alpha", "beta"), strict=True):
        (attempt,) = attempts_of(owner, run)
        assert f"the text of {own}" in attempt["call"]["answer"]


# --- the filter -----------------------------------------------------------------------------------------------------


def test_runs_are_selected_by_the_code_of_any_attempt(fake, grader, task, drain, reader):
    fake.script = refuse(503, signed=False)
    run = run_of(task)
    drain(grader, seconds=0.5)
    wake(run)
    drain(grader, seconds=5)
    run_of(task, status="completed")
    query = f"graderId={public('grader', grader)}&attemptCode="
    runs = reader.get(f"/workflow-runs?{query}grader_unavailable").json()["workflowRuns"]
    assert [row["id"] for row in runs] == [public("run", run)]
    assert reader.get(f"/workflow-runs?{query}timeout").json()["workflowRuns"] == []


def test_an_attempts_code_needs_a_grader(reader):
    (problem,) = problems(reader.get("/workflow-runs?attemptCode=timeout"))
    assert problem[0] == "?attemptCode"


def test_the_filter_selects_no_runs_of_another_organization(shared_batch, grader, api_for):
    run = shared_batch[0]
    api = api_for(role="organization_admin", organization=run.organization)
    runs = api.get(f"/workflow-runs?graderId={public('grader', grader)}&attemptCode=out_of_range")
    assert [row["id"] for row in runs.json()["workflowRuns"]] == [public("run", run)]


# --- erasure and damage ---------------------------------------------------------------------------------------------


@pytest.fixture
def failed_run(fake, grader, task, drain):
    fake.script = refuse(503, {"error": "quotes the prompt"}, signed=False)
    run = run_of(task)
    drain(grader, seconds=0.5)
    return run


def test_an_erasure_clears_the_evidence_and_keeps_the_code(failed_run, reader):
    erasing.erase([failed_run.completion_id], end_unfinished=True)
    (attempt,) = attempts_of(reader, failed_run)
    assert (attempt["code"], attempt["message"]) == ("grader_unavailable", None)
    assert attempt["call"]["answer"] is attempt["call"]["url"] is None


def test_an_attempt_that_ends_after_the_erasure_stores_nothing(grader, task):
    run = run_of(task, status="running", attempt=1, leased_until=timezone.now() + timedelta(minutes=1))
    erasing.erase([run.completion_id], end_unfinished=True)
    attempt = FailedAttempt(claimed_under(run, 1), RetryDecision("timeout", "No answer."))
    recording.save(grader.pk, grader.version_id, CallResults(missed=[attempt]), TaskFactsCache())
    assert not AttemptEvidence.objects.exists()


def test_damaged_evidence_is_named_and_hides_nothing_else(failed_run, reader):
    damage_row(AttemptEvidence.objects.get(), "content")
    (attempt,) = attempts_of(reader, failed_run)
    assert (attempt["code"], attempt["unreadable"]) == ("grader_unavailable", ["content"])


# --- pages ----------------------------------------------------------------------------------------------------------


def test_the_runs_page_shows_the_evidence(failed_run, grader, visitor):
    page = visitor(organization=grader.organization).get(f"/workflow-runs/{public('run', failed_run)}").content.decode()
    for text in ("Failed attempts", "grader_unavailable", "503", "/score/batch", "quotes the prompt", "Content-Type"):
        assert text in page


def test_the_answer_is_escaped(fake, grader, task, drain, visitor):
    fake.script = refuse(500, b"<script>alert(1)</script>", signed=False)
    run = run_of(task)
    drain(grader, seconds=0.5)
    page = visitor(organization=grader.organization).get(f"/workflow-runs/{public('run', run)}").content.decode()
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert(1)" not in page


def test_the_graders_page_leads_to_runs_that_recovered(failed_run, fake, grader, drain, visitor):
    wake(failed_run)
    drain(grader, seconds=5)
    client = visitor(organization=grader.organization)
    link = f"/workflow-runs?graderId={public('grader', grader)}&amp;attemptCode=grader_unavailable"
    assert link in client.get(f"/graders/{public('grader', grader)}?window=all").content.decode()
    page = client.get(link.replace("&amp;", "&")).content.decode()
    assert public("run", failed_run) in page


def test_the_graders_page_shows_its_own_error_text_beside_the_advice(fake, grader, task, drain, visitor):
    fake.judge = lambda completion: "No <reference> answer."
    run = run_of(task)
    drain(grader, seconds=0.5)
    client = visitor(organization=grader.organization)
    address = f"/graders/{public('grader', grader)}?window=all"
    assert "Last error text: <bdi>No &lt;reference&gt; answer.</bdi>" in client.get(address).content.decode()
    erasing.erase([run.completion_id], end_unfinished=True)
    assert "Last error text" not in client.get(address).content.decode()


def test_a_rejected_review_is_called_rejected_and_offers_no_retry(grader, task, visitor):
    run = run_of(task, status="failed", error_code="review_rejected", attempt=1, completed_at=timezone.now())
    client = visitor(organization=grader.organization)
    page = client.get(f"/workflow-runs/{public('run', run)}").content.decode()
    assert "Rejected by a reviewer" in page
    assert "Retry this run" not in page
    assert "Rejected by a reviewer" in client.get("/workflow-runs?status=failed").content.decode()
