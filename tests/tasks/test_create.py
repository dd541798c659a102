"""POST /tasks: what a task is made of, and its defaults."""

import pytest

from tasks.models import Task
from tests.factories import GraderFactory, TaskFactory, public

MEMBERS = [
    "id", "name", "description", "systemPrompt", "promptTemplate", "responseSchema", "model", "graderId", "graders",
    "aggregation", "review", "retry", "deadlineMs", "options", "retention", "shareText", "useCalibration", "metadata",
    "version", "archived", "createdBy", "createdAt", "updatedAt",
]  # fmt: skip


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def grader(api):
    return GraderFactory(organization=api.organization)


def test_a_task_needs_a_name_a_template_and_a_grader(api, grader):
    answer = api.post("/tasks", {"name": "Sums", "promptTemplate": "{{q}}", "graderId": public("grader", grader)})
    assert answer.status_code == 201
    task = answer.json()["task"]
    assert answer.json()["id"] == task["id"]
    assert list(task) == MEMBERS
    assert task["graders"] == [{"graderId": public("grader", grader), "weight": 1.0, "part": "scoring"}]
    assert {name: task[name] for name in MEMBERS[2:4] + MEMBERS[5:7] + MEMBERS[9:18]} == {
        "description": None,
        "systemPrompt": None,
        "responseSchema": None,
        "model": None,
        "aggregation": "mean",
        "review": None,
        "retry": {"maxAttempts": 5, "backoffMs": 500, "maxBackoffMs": 30000},
        "deadlineMs": 86400000,
        "options": {"includeDimensions": True, "includeExplanation": True},
        "retention": {"textDays": None},
        "shareText": False,
        "useCalibration": False,
        "metadata": {},
    }
    assert task["archived"] is False
    assert task["createdBy"] == public("user", api.user)
    assert task["createdAt"].endswith("Z")


def test_every_member_is_returned_unchanged(api, grader):
    shadow = GraderFactory(organization=api.organization)
    body = {
        "name": "Ärzte \u202e\U0001f9ea",
        "description": "=1+1 <script>",
        "systemPrompt": "Be brief.",
        "promptTemplate": "{{ question }}\n",
        "responseSchema": {"type": "object", "properties": {"b": {"const": 1}, "a": {"const": 2.5}}},
        "model": {"provider": "acme", "name": "large-1", "params": {"temperature": 0.5}},
        "graders": [
            {"graderId": public("grader", shadow), "weight": 0.0, "part": "shadow"},
            {"graderId": public("grader", grader), "weight": 0.25, "part": "scoring"},
        ],
        "aggregation": "all_or_nothing",
        "retry": {"maxAttempts": 20, "backoffMs": 0, "maxBackoffMs": 0},
        "deadlineMs": 1000,
        "options": {"includeDimensions": False, "includeExplanation": False},
        "metadata": {"z": [1, {"y": None}], "a": True},
    }
    task = api.post("/tasks", body).json()["task"]
    assert {name: task[name] for name in body} == body
    assert list(task["responseSchema"]["properties"]) == ["b", "a"]
    assert task["graderId"] == public("grader", grader)


def test_a_model_may_be_a_name(api, grader):
    body = {"name": "T", "promptTemplate": "x", "graderId": public("grader", grader), "model": "small-1"}
    assert api.post("/tasks", body).json()["task"]["model"] == "small-1"
    assert Task.objects.get().model_name == "small-1"


def test_null_counts_as_absent(api, grader):
    optional = ("graders", "description", "systemPrompt", "responseSchema", "model", "aggregation", "retry")
    body = {"name": "T", "promptTemplate": "x", "graderId": public("grader", grader)}
    answer = api.post("/tasks", body | dict.fromkeys((*optional, "deadlineMs", "options", "metadata")))
    assert answer.status_code == 201
    assert answer.json()["task"]["retry"]["maxAttempts"] == 5


def test_a_name_is_unique_in_an_organization(api, grader):
    body = {"name": "Sums", "promptTemplate": "x", "graderId": public("grader", grader)}
    TaskFactory(name="Sums")  # of another organization
    assert api.post("/tasks", body).status_code == 201
    answer = api.post("/tasks", body)
    assert (answer.status_code, answer.json()["code"]) == (409, "name_taken")
    assert answer.json()["errors"][0]["pointer"] == "/name"
    assert Task.objects.filter(organization=api.organization).count() == 1


def test_texts_are_stored_as_ciphertext(api, grader):
    body = {
        "name": "T",
        "promptTemplate": "the secret sauce",
        "graderId": public("grader", grader),
        "metadata": {"k": 1},
    }
    api.post("/tasks", body)
    task = Task.objects.get()
    assert b"sauce" not in bytes(task.version.__dict__["content"])
    assert isinstance(task.__dict__["metadata"], bytes)
    assert task.version.content["promptTemplate"] == "the secret sauce"


def test_a_text_of_one_mebibyte_is_accepted_and_one_byte_more_is_not(api, grader):
    body = {"name": "T", "promptTemplate": "é" * 2**19, "graderId": public("grader", grader)}
    assert api.post("/tasks", body).status_code == 201
    answer = api.post(
        "/tasks", body | {"promptTemplate": "é" * 2**19 + "x", "name": "U", "systemPrompt": "y" * (2**20 + 1)}
    )
    assert answer.status_code == 400
    assert [(e["pointer"], e["code"]) for e in answer.json()["errors"]] == [
        ("/promptTemplate", "too_long"),
        ("/systemPrompt", "too_long"),
    ]
