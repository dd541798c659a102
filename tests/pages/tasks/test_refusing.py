"""The list of tasks and a task's page say when a task refuses submissions, as the API does."""

import pytest
from django.utils import timezone

from graders.states import GraderStatus
from tests.factories import GraderFactory, TaskFactory, public

pytestmark = pytest.mark.django_db
PILL = "refuses submissions"


@pytest.fixture
def client(visitor):
    return visitor("training_operator")


def make_task(client, status, part="scoring", **of_grader):
    grader = GraderFactory(organization=client.organization, status=status, **of_grader)
    active = GraderFactory(organization=client.organization)
    return TaskFactory(organization=client.organization, graders=[active, (grader, 1.0, part)])


def pages_of(client, task):
    return [client.get(path).content.decode() for path in ("/tasks", f"/tasks/{public('task', task)}")]


def submit(api_for, client, task):
    api = api_for(role="training_operator", organization=client.organization)
    body = {"taskId": public("task", task), "prompt": "p", "response": "r", "modelId": "m"}
    return api.post("/completions", body).status_code


def test_an_inactive_grader_of_the_panel_is_named_with_a_link(client, api_for):
    task = make_task(client, GraderStatus.INACTIVE, name="Ward round")
    listed, page = pages_of(client, task)
    assert (PILL in listed, PILL in page, submit(api_for, client, task)) == (True, True, 409)
    assert "This task refuses submissions." in page
    notice = page[page.index("This task refuses submissions.") :]
    assert "Ward round" in notice[: notice.index("</div>")]
    assert f"/tasks/{public('task', task)}/edit" in notice[: notice.index("</div>")]


@pytest.mark.parametrize(
    ("status", "part"),
    [(GraderStatus.ACTIVE, "scoring"), (GraderStatus.DEGRADED, "scoring"), (GraderStatus.INACTIVE, "shadow")],
)
def test_a_task_that_takes_submissions_says_nothing(client, api_for, status, part):
    task = make_task(client, status, part)
    assert [PILL in page for page in pages_of(client, task)] == [False, False]
    assert submit(api_for, client, task) == 202


def test_a_deleted_grader_blocks_too(client, api_for):
    task = make_task(client, GraderStatus.INACTIVE, deleted_at=timezone.now())
    assert [PILL in page for page in pages_of(client, task)] == [True, True]
    assert submit(api_for, client, task) == 409


def test_a_grader_that_the_reader_may_not_read_is_named_by_its_id(client):
    foreign = GraderFactory(name="Somebody else's", status=GraderStatus.INACTIVE)
    task = TaskFactory(organization=client.organization, graders=[foreign])
    _, page = pages_of(client, task)
    assert (public("grader", foreign) in page, "Somebody else" in page) == (True, False)


def test_an_archived_task_says_that_it_is_archived(client):
    task = make_task(client, GraderStatus.INACTIVE)
    task.archived = True
    task.save()
    page = client.get(f"/tasks/{public('task', task)}").content.decode()
    assert ("This task is archived" in page, "refuses submissions." in page) == (True, True)
    assert PILL not in client.get("/tasks?archived=true").content.decode()


def test_the_list_takes_one_query_for_any_number_of_tasks(client, queries):
    make_task(client, GraderStatus.INACTIVE)
    count = queries(client, "/tasks")
    for _ in range(5):
        make_task(client, GraderStatus.INACTIVE)
    assert queries(client, "/tasks") == count
