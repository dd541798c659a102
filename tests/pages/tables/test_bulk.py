"""Acts on selected rows: each row is checked and reported for itself, and a second submit is safe."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from autotune.core import ids
from scores.models import WorkflowRun
from tests.factories import CompletionFactory, GraderFactory, OrganizationFactory, RunFactory, ScoreFactory, TaskFactory

pytestmark = pytest.mark.django_db
RETRY, RESCORE, COMPARE = (
    "/workflow-runs/selected/retry", "/completions/selected/rescore", "/completions/selected/compare"
)  # fmt: skip


@pytest.fixture
def client(visitor):
    client = visitor("training_operator")
    grader = GraderFactory(organization=client.organization, created_by=client.user)
    client.task = TaskFactory(organization=client.organization, graders=[grader])
    return client


def failed(task, **fields):
    return RunFactory(
        completion__task=task, status="failed", error_code="timeout", completed_at=timezone.now(), **fields
    )


def results(answer):
    """{id: (result, details)} of the report."""
    rows = re.findall(r"<tr>\s*<td>(.*?)</tr>", answer.content.decode(), re.S)
    cells = [[re.sub(r"<[^>]+>", "", cell).strip() for cell in row.split("</td>")] for row in rows]
    return {row[0]: (row[1], row[2]) for row in cells}


def test_the_list_has_a_box_for_each_row_and_buttons_for_the_acts(client):
    run = failed(client.task)
    text = client.get("/workflow-runs").content.decode()
    assert f'value="{run.public_id}"' in text
    assert f'formaction="{RETRY}"' in text


def test_a_reader_gets_no_boxes_and_may_not_act(visitor, client):
    run = failed(client.task)
    reader = visitor("reviewer", client.organization)
    assert 'name="ids"' not in reader.get("/workflow-runs").content.decode()
    assert reader.post(RETRY, {"ids": [run.public_id]}).status_code == 403


def test_good_rows_are_done_beside_rows_that_cannot_be(client):
    good, pending = failed(client.task), RunFactory(completion__task=client.task)
    deleted, foreign = ids.encode("run", ids.new()), failed(TaskFactory(organization=OrganizationFactory()))
    answer = client.post(
        RETRY, {"ids": [good.public_id, pending.public_id, deleted, foreign.public_id, "<script>", good.public_id]}
    )
    report = results(answer)
    assert answer.status_code == 200
    assert report[good.public_id] == ("done", "The run is due again.")
    assert report[pending.public_id] == ("not done", "Only a failed run can be retried.")
    assert (
        report[deleted][1] == report[foreign.public_id][1] == "There is no such workflow run. It may have been deleted."
    )
    assert "<script>" not in answer.content.decode().replace("<script ", "")
    assert "1 of 5 selected rows done" in answer.content.decode()
    foreign.refresh_from_db()
    assert foreign.status == "failed"


def test_a_second_submit_does_no_harm(client):
    run = failed(client.task)
    client.post(RETRY, {"ids": [run.public_id]})
    assert results(client.post(RETRY, {"ids": [run.public_id]}))[run.public_id][0] == "not done"
    completion = ScoreFactory(run__completion__task=client.task).completion
    assert results(client.post(RESCORE, {"ids": [completion.public_id]}))[completion.public_id][0] == "done"
    runs = WorkflowRun.objects.filter(completion=completion).count()
    assert results(client.post(RESCORE, {"ids": [completion.public_id]}))[completion.public_id][0] == "not done"
    assert WorkflowRun.objects.filter(completion=completion).count() == runs


def test_without_a_selected_row_the_list_says_so(client):
    assert "Select at least one row first." in client.post(RETRY, follow=True).content.decode()


def test_at_most_a_page_of_rows_is_acted_on(client):
    answer = client.post(RETRY, {"ids": [ids.encode("run", ids.new()) for _ in range(150)]})
    assert len(results(answer)) == 100


def test_two_selected_completions_are_compared(client):
    first, second, third = (CompletionFactory(task=client.task).public_id for _ in range(3))
    answer = client.post(COMPARE, {"ids": [first, second]})
    assert answer["Location"] == f"/completions/compare?a={first}&b={second}"
    assert client.post(COMPARE, {"ids": [first, second, third]})["Location"] == "/completions"


def test_a_form_without_its_token_is_refused(client):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(client.user)
    assert strict.post(RETRY, {"ids": [failed(client.task).public_id]}).status_code == 403
