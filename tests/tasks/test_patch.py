"""PATCH /tasks/:id: what is merged, what is replaced, and when a version is made."""

import pytest

from tasks.models import Task, TaskVersion
from tests.factories import GraderFactory, TaskFactory, public


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def graders(api):
    return [GraderFactory(organization=api.organization) for _ in range(2)]


@pytest.fixture
def task(api, graders):
    """A task made through the API, as its answer shows it."""
    body = {
        "name": "Sums",
        "description": "adds",
        "promptTemplate": "{{q}}",
        "systemPrompt": "Be brief.",
        "graderId": public("grader", graders[0]),
        "retry": {"maxAttempts": 7, "backoffMs": 100, "maxBackoffMs": 200},
        "options": {"includeDimensions": False, "includeExplanation": False},
        "metadata": {"a": 1, "b": 2},
        "model": "small-1",
        "aggregation": "min",
        "deadlineMs": 5000,
        "responseSchema": {"type": "object"},
    }
    return api.post("/tasks", body).json()["task"]


@pytest.fixture
def patch(api, task):
    def call(change):
        answer = api.patch(f"/tasks/{task['id']}", change)
        assert answer.status_code == 200, answer.content
        assert list(answer.json()) == ["task"]
        return answer.json()["task"]

    return call


def changed(before, after):
    return {name for name in before if before[name] != after[name]}


def test_an_empty_patch_changes_nothing(patch, task):
    assert patch({}) == task


def test_retry_and_options_are_merged_member_by_member(patch, task):
    after = patch({"retry": {"maxAttempts": 1}, "options": {"includeExplanation": True}})
    assert after["retry"] == {"maxAttempts": 1, "backoffMs": 100, "maxBackoffMs": 200}
    assert after["options"] == {"includeDimensions": False, "includeExplanation": True}
    assert changed(task, after) == {"retry", "options", "updatedAt"}


def test_the_review_is_set_kept_and_cleared(patch, task):
    assert task["review"] is None
    after = patch({"review": {"belowConfidence": 0.5}})
    assert after["review"] == {"belowConfidence": 0.5, "blind": False}
    assert changed(task, after) == {"review", "updatedAt"}  # no new version: it does not define the task
    assert patch({"review": {}})["review"] == {"belowConfidence": 0.5, "blind": False}
    assert patch({"review": {"belowConfidence": None}})["review"] is None
    assert patch({"review": {"belowConfidence": 1}})["review"] == {"belowConfidence": 1.0, "blind": False}
    assert patch({"review": None})["review"] is None


def test_metadata_and_everything_else_is_replaced(patch, task):
    assert patch({"metadata": {"c": 3}})["metadata"] == {"c": 3}
    after = patch({"responseSchema": {"maxLength": 3}, "metadata": {"c": True}})
    assert after["responseSchema"] == {"maxLength": 3}
    assert after["metadata"] == {"c": True}


def test_true_is_not_one(patch, task):
    assert patch({"metadata": {"a": True, "b": 2}})["metadata"]["a"] is True
    patch({"responseSchema": {"const": 1}})
    assert patch({"responseSchema": {"const": True}})["responseSchema"]["const"] is True


def test_null_clears_or_restores_the_default(patch, task):
    cleared = ("description", "systemPrompt", "responseSchema", "model")
    after = patch(dict.fromkeys((*cleared, "metadata", "aggregation", "retry", "options", "deadlineMs")))
    assert all(after[name] is None for name in cleared)
    assert after["metadata"] == {}
    assert after["aggregation"] == "mean"
    assert after["retry"] == {"maxAttempts": 5, "backoffMs": 500, "maxBackoffMs": 30000}
    assert after["options"] == {"includeDimensions": True, "includeExplanation": True}
    assert after["deadlineMs"] == 86400000
    assert Task.objects.get().model_name == ""


def test_null_inside_retry_restores_that_member(patch, task):
    after = patch({"retry": {"maxAttempts": None, "maxBackoffMs": 300}})
    assert after["retry"] == {"maxAttempts": 5, "backoffMs": 100, "maxBackoffMs": 300}


def test_the_bounds_of_a_merged_retry_are_checked(api, task):
    answer = api.patch(f"/tasks/{task['id']}", {"retry": {"backoffMs": 201}})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "/retry/backoffMs")


def test_other_members_create_no_version(patch, task):
    after = patch({"name": "Other", "description": None, "retry": None, "metadata": {}, "deadlineMs": 9000})
    assert after["version"] == task["version"]
    assert after["updatedAt"] > task["updatedAt"]


@pytest.mark.parametrize(
    "change",
    [
        {"promptTemplate": "{{q}}!"},
        {"systemPrompt": ""},
        {"responseSchema": None},
        {"model": {"provider": "acme", "name": "small-1"}},
        {"aggregation": "max"},
    ],
)
def test_members_that_define_the_task_create_a_version(patch, task, change):
    after = patch(change)
    assert after["version"] != task["version"]
    assert changed(task, after) == {*change, "version", "updatedAt"}


def test_a_panel_is_replaced_whole(patch, task, graders):
    first, second = (public("grader", grader) for grader in graders)
    after = patch({"graders": [{"graderId": second, "weight": 0.5}, {"graderId": first, "part": "shadow"}]})
    assert after["graders"] == [
        {"graderId": second, "weight": 0.5, "part": "scoring"},
        {"graderId": first, "weight": 1.0, "part": "shadow"},
    ]
    assert after["graderId"] == second
    after = patch({"graderId": first})
    assert after["graders"] == task["graders"]
    assert after["version"] == task["version"]


def test_the_same_content_is_the_same_version(patch, task, graders):
    second = patch({"promptTemplate": "other"})["version"]
    assert patch({"promptTemplate": "{{q}}"})["version"] == task["version"]
    assert patch({"promptTemplate": "other"})["version"] == second
    assert TaskVersion.objects.count() == 2


def test_repeating_a_patch_changes_nothing_more(patch, task):
    change = {"promptTemplate": "z", "name": "Z", "retry": {"maxAttempts": 2}}
    assert patch(change) == patch(change)


def test_the_name_of_another_task_is_refused(api, task):
    TaskFactory(organization=api.organization, name="Taken")
    answer = api.patch(f"/tasks/{task['id']}", {"name": "Taken", "promptTemplate": "changed"})
    assert (answer.status_code, answer.json()["code"]) == (409, "name_taken")
    assert TaskVersion.objects.filter(task__name="Sums").count() == 1


def test_an_archived_task_is_restored_by_a_patch(patch, task):
    assert patch({"archived": True})["archived"] is True
    assert patch({"archived": False})["archived"] is False


def test_a_refused_patch_changes_nothing(api, task):
    api.patch(f"/tasks/{task['id']}", {"name": "New", "graderId": "grader_01jd0000000000000000000000"})
    assert Task.objects.get().name == "Sums"
