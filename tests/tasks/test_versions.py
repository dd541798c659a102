"""Versions: the digest, its reuse, and GET /tasks/:id/versions."""

import hashlib
import json
from importlib import import_module
from uuid import UUID

import pytest
from django.apps import apps

from tasks import versions
from tasks.models import TaskVersion
from tasks.panels import Seat
from tests.factories import GraderFactory, TaskFactory, public

CONTENT = {
    "systemPrompt": None,
    "promptTemplate": "é {{q}}",
    "responseSchema": {"b": 1, "a": [1.0, 2.5]},
    "model": None,
}
PANEL = [Seat(UUID(int=1), 1.0, "scoring")]


@pytest.fixture
def api(api_for):
    return api_for()


@pytest.fixture
def task(api):
    grader = GraderFactory(organization=api.organization)
    body = {"name": "T", "promptTemplate": "{{q}}", "graderId": public("grader", grader)}
    return api.post("/tasks", body).json()["task"]


def listed(api, task):
    answer = api.get(f"/tasks/{task['id']}/versions")
    assert answer.status_code == 200
    assert list(answer.json()) == ["versions", "pagination"]
    return answer.json()["versions"]


def test_a_digest_is_sha256_of_canonical_json():
    text = (
        '{"aggregation":"mean","graders":[{"graderId":"grader_00000000000000000000000001","part":"scoring","weight":1}],'
        '"model":null,"promptTemplate":"é {{q}}","responseSchema":{"a":[1,2.5],"b":1},"systemPrompt":null}'
    )
    assert versions.digest(CONTENT, PANEL, "mean") == hashlib.sha256(text.encode()).hexdigest()


def test_the_order_of_members_and_the_spelling_of_numbers_do_not_count():
    turned = dict(reversed(CONTENT.items())) | {"responseSchema": {"a": [1, 2.5], "b": 1.0}}
    assert versions.digest(turned, PANEL, "mean") == versions.digest(CONTENT, PANEL, "mean")


def test_everything_that_defines_a_task_counts():
    seat = Seat(UUID(int=2), 1.0, "scoring")
    digests = [
        versions.digest(CONTENT, PANEL, "mean"),
        versions.digest(CONTENT, PANEL, "min"),
        versions.digest(CONTENT, [*PANEL, seat], "mean"),
        versions.digest(CONTENT, [seat, *PANEL], "mean"),
        versions.digest(CONTENT, [Seat(UUID(int=1), 0.5, "scoring")], "mean"),
        versions.digest(CONTENT, [Seat(UUID(int=1), 1.0, "shadow")], "mean"),
        *(versions.digest(CONTENT | {name: "other"}, PANEL, "mean") for name in CONTENT),
    ]
    assert len(set(digests)) == 10


def test_a_digest_can_be_made_again_from_the_answer(api, task):
    api.patch(
        f"/tasks/{task['id']}", {"model": {"provider": "acme", "name": "m", "params": {"t": 0.5}}, "systemPrompt": "ß"}
    )
    for version in listed(api, task):
        digest, whole = version["digest"], {name: version[name] for name in list(version)[3:-1]}
        assert list(whole) == ["systemPrompt", "promptTemplate", "responseSchema", "model", "graders", "aggregation"]
        whole["graders"] = [entry | {"weight": int(entry["weight"])} for entry in whole["graders"]]
        text = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert hashlib.sha256(text.encode()).hexdigest() == digest


def test_the_newest_comes_first_and_one_is_current(api, task):
    for template in ("b", "c", "{{q}}"):
        api.patch(f"/tasks/{task['id']}", {"promptTemplate": template})
    found = listed(api, task)
    assert [(version["promptTemplate"], version["current"]) for version in found] == [
        ("c", False),
        ("b", False),
        ("{{q}}", True),
    ]
    assert found[-1]["id"] == task["version"]
    assert list(found[0]) == [
        "id", "digest", "current", "systemPrompt", "promptTemplate", "responseSchema", "model", "graders",
        "aggregation", "createdAt",
    ]  # fmt: skip


def test_a_version_is_of_whoever_made_it_first_by_key(api, task, api_for):
    other = api_for(organization=api.organization)
    for caller, template in ((other, "b"), (api, "c"), (other, "c"), (other, "{{q}}")):
        assert caller.patch(f"/tasks/{task['id']}", {"promptTemplate": template}).status_code == 200
    made = TaskVersion.objects.order_by("created_at").values_list("created_by", flat=True)
    people = [one.user.pk for one in (api, other, api)]
    assert list(made) == people
    assert "createdBy" not in listed(api, task)[0]


@pytest.mark.django_db
def test_the_migration_gives_the_first_version_of_each_task_its_tasks_maker():
    tasks = [TaskFactory(), TaskFactory()]
    for task in tasks:
        TaskVersion.objects.create(task=task, organization=task.organization, digest="0" * 64, content=CONTENT)
    TaskVersion.objects.update(created_by=None)
    import_module("tasks.migrations.0009_version_maker").fill(apps, None)
    for task in tasks:
        first, later = task.versions.order_by("created_at")
        assert (first.created_by, later.created_by) == (task.created_by, None)


def test_equal_tasks_have_equal_digests_and_versions_of_their_own(api, task):
    body = {name: task[name] for name in ("promptTemplate", "graderId")} | {"name": "Twin"}
    twin = api.post("/tasks", body).json()["task"]
    assert twin["version"] != task["version"]
    assert listed(api, twin)[0]["digest"] == listed(api, task)[0]["digest"]


def test_the_number_of_queries_does_not_grow_with_versions(
    api, task, django_assert_num_queries, django_capture_on_commit_callbacks
):
    for number in range(10):
        with django_capture_on_commit_callbacks(execute=True):  # keys are opened once and kept
            api.patch(f"/tasks/{task['id']}", {"promptTemplate": str(number)})
    with django_capture_on_commit_callbacks(execute=True):
        listed(api, task)
    with django_assert_num_queries(7):  # the key, the task, its versions, their number, sizes and panels; the event
        assert len(listed(api, task)) == 11
