"""`externalId`: the same content again is the first object, other content is a conflict."""

import pytest

from graders.states import GraderStatus
from tasks.models import Completion
from tests.factories import GraderFactory, ScoreFactory, TaskFactory, public
from tests.scores.submitting import item, problems, rows

pytestmark = pytest.mark.django_db
BATCH = "/completions/batch"
MESSAGES = [{"role": "user", "content": "What is 2 + 2?"}]


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


def first(api, task, **members):
    answer = api.post("/completions", item(task, externalId="x", **members))
    assert answer.status_code == 202, answer.content
    return answer.json()


def test_the_same_content_is_answered_with_the_first_object(api, task):
    before = first(api, task, metadata={"a": 1})
    again = api.post("/completions", item(task, externalId="x", metadata={"a": 1}))
    assert again.status_code == 200
    assert again.json() == {**before, "estimatedScoreTimeMs": 0, "existing": True}
    assert rows() == (1, 1)


def test_the_first_object_is_returned_in_its_current_state(api, task):
    before = first(api, task)
    completion = Completion.objects.get()
    run = completion.runs.get()
    ScoreFactory(run=run, value=0.25)
    again = api.post("/completions", item(task, externalId="x")).json()
    assert again["workflowRunIds"] == before["workflowRunIds"]
    assert (again["completion"]["status"], again["completion"]["reward"]["value"]) == ("completed", 0.25)


def test_within_a_batch_it_is_named_as_existing(api, task):
    before = first(api, task)
    answer = api.post(BATCH, {"completions": [item(task), item(task, externalId="x")]})
    assert answer.status_code == 202
    new, old = answer.json()["completions"]
    assert "existing" not in new
    assert old == {
        "id": before["completion"]["id"],
        "externalId": "x",
        "workflowRunIds": before["workflowRunIds"],
        "existing": True,
    }
    assert rows() == (2, 2)


def test_a_whole_batch_can_be_repeated(api, task):
    body = {"completions": [item(task, externalId=f"line {n}", response=f"{n}") for n in range(50)]}
    before = api.post(BATCH, body).json()["completions"]
    again = api.post(BATCH, body)
    assert again.status_code == 202
    assert again.json()["completions"] == [{**completion, "existing": True} for completion in before]
    assert again.json()["estimatedScoreTimeMs"] == 0
    assert rows() == (50, 50)


def test_a_batch_to_several_tasks_keeps_their_equal_external_ids_apart(api):
    tasks = [TaskFactory(organization=api.organization) for _ in range(3)]
    body = {"completions": [item(task, externalId=f"line {n}", response=f"{n}") for n in range(5) for task in tasks]}
    before = api.post(BATCH, body).json()["completions"]
    assert rows() == (15, 15)

    del body["completions"][::3]  # all of the first task
    answer = api.post(BATCH, body)
    assert answer.status_code == 202
    expected = [completion for position, completion in enumerate(before) if position % 3]
    assert answer.json()["completions"] == [{**completion, "existing": True} for completion in expected]

    other = item(tasks[2], externalId="line 4", response="other")
    new = item(tasks[1], externalId="line 5", response="4")
    answer = api.post(BATCH, {"completions": [new, other]})
    assert problems(answer, 409) == [("/completions/1/externalId", "external_id_conflict")]
    assert before[-1]["id"] in answer.json()["errors"][0]["detail"]
    assert rows() == (15, 15)


@pytest.mark.parametrize(
    "change",
    [
        {"modelId": "model-b"},
        {"prompt": "what is 2 + 2?"},
        {"prompt": ..., "messages": MESSAGES},
        {"response": "4 "},
        {"metadata": {"a": 2}},
        {"metadata": {"a": True}},
        {"metadata": {"a": 1, "b": None}},
        {"metadata": ...},
    ],
)
def test_other_content_is_a_conflict(api, task, change):
    before = first(api, task, metadata={"a": 1})
    other = item(task, **{"externalId": "x", "metadata": {"a": 1}, **change})
    answer = api.post("/completions", other)
    assert problems(answer, 409) == [("/externalId", "external_id_conflict")]
    assert answer.json()["code"] == "external_id_conflict"
    assert before["completion"]["id"] in answer.json()["errors"][0]["detail"]
    answer = api.post(BATCH, {"completions": [item(task), other]})
    assert problems(answer, 409) == [("/completions/1/externalId", "external_id_conflict")]
    assert rows() == (1, 1)
    assert api.get(f"/completions/{before['completion']['id']}").json()["completion"] == before["completion"]


def test_messages_are_content_and_their_order_counts(api, task):
    several = [{"role": "system", "content": "s"}, *MESSAGES]
    first(api, task, prompt=..., messages=several)
    again = item(task, externalId="x", prompt=..., messages=several)
    assert api.post("/completions", again).status_code == 200
    assert api.post("/completions", {**again, "messages": several[::-1]}).status_code == 409
    assert api.post("/completions", {**again, "messages": MESSAGES}).status_code == 409


def test_members_of_objects_have_no_order(api, task):
    ordered = {"b": {"y": 1, "x": [1, 2]}, "a": 2}
    other = {"a": 2, "b": {"x": [1, 2], "y": 1}}
    before = first(api, task, metadata=ordered, prompt=..., messages=MESSAGES)
    swapped = [{"content": "What is 2 + 2?", "role": "user"}]
    again = api.post("/completions", item(task, externalId="x", metadata=other, prompt=..., messages=swapped))
    assert (again.status_code, again.json()["completion"]) == (200, before["completion"])
    lists = {"b": {"y": 1, "x": [2, 1]}, "a": 2}
    assert api.post("/completions", item(task, externalId="x", metadata=lists)).status_code == 409


def test_members_that_are_not_content_may_differ(api, task):
    first(api, task, priority="low", metadata={})
    answer = api.post("/completions", item(task, externalId="x", priority="high", metadata=None))
    assert (answer.status_code, answer.json()["completion"]["priority"]) == (200, "low")


def test_a_prompt_from_variables_equals_the_same_prompt(api, task):
    first(api, task, prompt=..., variables={"question": "Q"})
    assert api.post("/completions", item(task, externalId="x", prompt="Q")).status_code == 200


def test_twice_in_one_batch_is_refused_even_with_equal_content(api, task):
    batch = {"completions": [item(task, externalId="x"), item(task), item(task, externalId="x")]}
    assert problems(api.post(BATCH, batch)) == [("/completions/2/externalId", "duplicate_external_id")]
    assert rows() == (0, 0)


def test_each_task_has_its_own_external_ids(api, task):
    other = TaskFactory(organization=api.organization)
    batch = {"completions": [item(task, externalId="x"), item(other, externalId="x", response="5")]}
    assert api.post(BATCH, batch).status_code == 202
    assert rows() == (2, 2)


def test_texts_are_compared_exactly(api, task):
    for name in ("x", "X", " x", "x ", "é", "e\u0301", "0"):
        assert api.post("/completions", item(task, externalId=name)).status_code == 202


def test_a_retry_after_the_task_was_archived_is_still_answered(api, task):
    before = first(api, task)
    grader = task.version.members.get().grader
    grader.status = GraderStatus.INACTIVE
    grader.save()
    task.archived = True
    task.save()
    again = api.post("/completions", item(task, externalId="x"))
    assert (again.status_code, again.json()["completion"]["id"]) == (200, before["completion"]["id"])
    assert api.post(BATCH, {"completions": [item(task, externalId="x")]}).status_code == 202
    assert api.post("/completions", item(task, externalId="y")).status_code == 409
    assert rows() == (1, 1)


def test_a_new_version_of_the_task_changes_nothing_about_it(api, task):
    before = first(api, task)
    grader = GraderFactory(organization=api.organization)
    assert api.patch(f"/tasks/{public('task', task)}", {"graderId": public("grader", grader)}).status_code == 200
    again = api.post("/completions", item(task, externalId="x"))
    assert again.json()["completion"] == before["completion"]
    assert rows() == (1, 1)
