"""GET /completions: filters, order, pages, and what it may cost."""

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from autotune.core import ids
from tasks.models import Completion
from tests.factories import (
    CompletionFactory,
    GraderFactory,
    OrganizationFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
    public,
)
from tests.scores.submitting import OTHER_TASK, problems

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


def make_completion(task, response, **members):
    return CompletionFactory(task=task, response=response, **members)


def responses(answer):
    assert answer.status_code == 200, answer.content
    return [completion["response"] for completion in answer.json()["completions"]]


def test_an_item_of_the_list_has_the_shape_of_a_single_completion(api, task):
    completion = make_completion(task, "4", metadata={"10": 1, "2": 2})
    RunFactory(completion=completion)
    body = api.get("/completions").json()
    assert list(body) == ["completions", "pagination"]
    assert body["pagination"] == {"limit": 50, "offset": 0, "total": 1, "nextCursor": None, "totalIsLowerBound": False}
    assert body["completions"] == [api.get(f"/completions/{public('comp', completion)}").json()["completion"]]


def test_the_newest_come_first_by_default(api, task):
    for n in range(3):
        make_completion(task, str(n))
    assert responses(api.get("/completions")) == ["2", "1", "0"]
    assert responses(api.get("/completions?sort=-createdAt")) == ["2", "1", "0"]
    assert responses(api.get("/completions?sort=createdAt")) == ["0", "1", "2"]


def test_offset_and_cursor_pages_list_every_row_once(api, task):
    for n in range(7):
        make_completion(task, str(n))
    assert responses(api.get("/completions?limit=3&offset=5")) == ["1", "0"]
    seen, path = [], "/completions?limit=2&sort=createdAt"
    while path:
        answer = api.get(path)
        seen += responses(answer)
        cursor = answer.json()["pagination"]["nextCursor"]
        path = cursor and f"/completions?limit=2&sort=createdAt&cursor={cursor}"
    assert seen == [str(n) for n in range(7)]


def test_exact_filters(api, task):
    other = TaskFactory(organization=api.organization)
    make_completion(task, "a", external_id="x")
    make_completion(task, "b", model_id="model-b", source="manual")
    make_completion(other, "c", external_id="x", model_id="model-b")
    for query, expected in {
        f"taskId={public('task', task)}": "ba",
        "modelId=model-b": "cb",
        "modelId=Model-B": "",
        "externalId=x": "ca",
        f"externalId=x&taskId={public('task', other)}": "c",
        "source=manual": "b",
        "source=api": "ca",
        "source=telemetry": "",
    }.items():
        assert "".join(responses(api.get(f"/completions?{query}"))) == expected, query


def test_the_status_filter_matches_the_status_of_each_completion(api, task):
    make_completion(task, "no run started").runs.create(
        organization=task.organization, task=task, grader=task.version.members.get().grader, panel_size=1,
        deadline_at="2030-01-01T00:00:00Z",
    )  # fmt: skip
    for status, attempt in (
        ("running", 1), ("sleeping", 1), ("waiting", 1), ("pending", 1), ("sleeping", 0),
    ):  # fmt: skip
        RunFactory(completion=make_completion(task, f"{status} {attempt}"), status=status, attempt=attempt)
    ScoreFactory(run__completion=make_completion(task, "scored"))
    failed = ScoreFactory(run__completion=make_completion(task, "failed"), reward=False).completion
    failed.scores.all().delete()
    failed.reward = type(ScoreFactory().completion.reward)(
        completion=failed, organization=failed.organization, task=task, aggregation="mean", used=0, failed=1,
        error_code="grader_timeout",
    )  # fmt: skip
    failed.reward.save()
    responses_by_status = {}
    for completion in api.get("/completions").json()["completions"]:
        responses_by_status.setdefault(completion["status"], set()).add(completion["response"])
    assert {name: len(held) for name, held in responses_by_status.items()} == {
        "pending": 2, "processing": 4, "completed": 1, "failed": 1,
    }  # fmt: skip
    for name, held in responses_by_status.items():
        assert set(responses(api.get(f"/completions?status={name}"))) == held


def test_dates_are_inclusive_as_dates_and_exclusive_as_instants(api, task):
    for day in (1, 2, 3):
        noon = datetime(2028, 2, 26 + day, 12, tzinfo=UTC)
        make_completion(task, str(day), id=ids.first_of(noon), created_at=noon)
    for query, expected in {
        "startDate=2028-02-28": "32",
        "endDate=2028-02-28": "21",
        "endDate=2028-02-28T12:00:00": "1",
        "startDate=2028-02-28T12:00:00Z&endDate=2028-02-28T12:00:00.001Z": "2",
        "startDate=2028-02-29": "3",
        "startDate=2028-02-28T14:00:00%2B02:00&endDate=2028-02-28": "2",
    }.items():
        assert "".join(responses(api.get(f"/completions?{query}"))) == expected, query


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("wat=1", "?wat"),
        ("task_id=x", "?task_id"),
        ("owner__password__startswith=p", "?owner__password__startswith"),
        ("taskId=1", "?taskId"),
        ("taskId=null", "?taskId"),
        ("taskId=", "?taskId"),
        ("status=done", "?status"),
        ("status=", "?status"),
        ("source=API", "?source"),
        ("startDate=yesterday", "?startDate"),
        ("startDate=", "?startDate"),
        ("endDate=2026-02-30", "?endDate"),
        ("endDate=9999-12-31", "?endDate"),
        ("modelId=a&modelId=b", "?modelId"),
        ("modelId=%00", "?modelId"),
        ("sort=response", "?sort"),
        ("sort=--createdAt", "?sort"),
        ("sort=task__organization__name", "?sort"),
        ("limit=0", "?limit"),
        ("limit=1001", "?limit"),
        ("limit=1.5", "?limit"),
        ("offset=-1", "?offset"),
        ("offset=100001", "?offset"),
        ("cursor=x", "?cursor"),
        ("prompt=x", "?prompt"),
    ],
)
def test_an_invalid_query_is_refused(api, query, pointer):
    assert [error_pointer for error_pointer, _ in problems(api.get(f"/completions?{query}"))] == [pointer]


def test_a_task_that_the_caller_may_not_see_is_not_found(api):
    foreign = TaskFactory(organization=OrganizationFactory())
    for text in (public("task", foreign), OTHER_TASK):
        assert problems(api.get(f"/completions?taskId={text}"), 404) == [("?taskId", "not_found")]


def test_completions_of_other_organizations_are_neither_listed_nor_counted(api, task):
    make_completion(task, "mine")
    make_completion(TaskFactory(organization=OrganizationFactory()), "theirs", external_id="x")
    body = api.get("/completions").json()
    assert ([completion["response"] for completion in body["completions"]], body["pagination"]["total"]) == (
        ["mine"],
        1,
    )
    assert responses(api.get("/completions?externalId=x")) == []


def test_a_cursor_of_another_organization_or_list_is_refused(api, api_for, task):
    make_completion(task, "1"), make_completion(task, "2")
    cursor = api.get("/completions?limit=1").json()["pagination"]["nextCursor"]
    assert problems(api_for().get(f"/completions?cursor={cursor}")) == [("?cursor", "invalid_cursor")]
    assert problems(api.get(f"/tasks?cursor={cursor}")) == [("?cursor", "invalid_cursor")]
    assert problems(api.get(f"/completions?cursor={cursor}x")) == [("?cursor", "invalid_cursor")]


def test_an_admin_of_the_operating_organization_sees_all(admin_api, task):
    make_completion(task, "theirs")
    assert responses(admin_api.get("/completions")) == ["theirs"]
    assert responses(admin_api.get(f"/completions?taskId={public('task', task)}")) == ["theirs"]


def test_a_grader_owner_sees_only_shared_completions(api_for, api):
    answer = api_for(role="grader_owner", organization=api.organization).get("/completions")
    assert (answer.status_code, answer.json()["completions"]) == (200, [])


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_a_list_takes_the_same_few_queries_for_any_number_of_rows(api):
    graders = [GraderFactory(organization=api.organization) for _ in range(2)]
    task = TaskFactory(organization=api.organization, graders=graders)

    def queries(count):
        for _ in range(count):
            completion = make_completion(task, "4", metadata={"a": 1})
            ScoreFactory(run=RunFactory(completion=completion, grader=graders[0], status="completed", attempt=1))
            RunFactory(completion=completion, grader=graders[1])
        api.get("/completions?limit=100")
        with CaptureQueriesContext(connection) as seen:
            answer = api.get(f"/completions?limit=100&taskId={public('task', task)}&status=completed")
        assert len(responses(answer)) == Completion.objects.count()
        return len(seen)

    assert queries(2) == queries(48) <= 9


def test_ids_of_another_kind_are_refused(api):
    assert problems(api.get(f"/completions?taskId={ids.encode('comp', ids.new())}")) == [("?taskId", "malformed_id")]
