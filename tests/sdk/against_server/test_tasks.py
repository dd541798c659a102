"""Tasks through the client: their shapes, versions, lists."""

import pytest
from autotune_sdk import ConflictError

from tests.support.submitting import is_recent, items

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)


def test_a_task_has_the_clients_shape(client, grader):
    task = client.tasks.create(
        name="All of it", prompt_template="{{q}}", description="d", system_prompt="s", grader_id=grader.id,
        aggregation="median", response_schema={"type": "object"}, model={"provider": "p", "name": "m", "params": {"t": 0}},
        retry={"max_attempts": 2, "backoff_ms": 10, "max_backoff_ms": 20}, deadline_ms=60_000,
        options={"include_dimensions": False, "include_explanation": True}, metadata={"snake_case": {"camelCase": None}},
    )  # fmt: skip
    (member,) = task.graders
    assert (member.grader_id, member.weight, member.part, task.grader_id) == (grader.id, 1, "scoring", grader.id)
    assert (task.retry.max_attempts, task.retry.backoff_ms, task.retry.max_backoff_ms) == (2, 10, 20)
    assert (task.options.include_dimensions, task.options.include_explanation) == (False, True)
    assert (task.deadline_ms, task.aggregation, task.review, task.share_text, task.archived) == (
        60_000, "median", None, False, False,
    )  # fmt: skip
    assert (task.response_schema, task.metadata) == ({"type": "object"}, {"snake_case": {"camelCase": None}})
    assert (task.model["name"], task.model["params"]) == ("m", {"t": 0})
    assert task.retention is None or task.retention.text_days is None
    assert is_recent(task.created_at)
    detail = client.tasks.get(task.id)
    assert (detail.name, detail.run_count, detail.average_score, detail.recent_runs) == ("All of it", 0, None, ())


def test_a_panel_is_sent_and_read_with_weights_and_parts(client, grader):
    second = client.graders.create(name="Second", endpoint="https://grader.example.org", capabilities={})
    panel = [
        {"grader_id": grader.id, "weight": 0.5},
        {"grader_id": second.grader.id, "weight": 1, "part": "shadow"},
    ]
    task = client.tasks.create(name="Panel", prompt_template="{{q}}", graders=panel)
    assert [(entry.grader_id, entry.weight, entry.part) for entry in task.graders] == [
        (grader.id, 0.5, "scoring"), (second.grader.id, 1, "shadow"),
    ]  # fmt: skip


def test_a_change_of_what_defines_a_task_makes_a_version(client, task):
    same = client.tasks.update(task.id, description="other words")
    assert same.version == task.version
    changed = client.tasks.update(task.id, system_prompt="Be brief.", retry={"max_attempts": 1})
    assert changed.version != task.version
    versions = client.tasks.versions(task.id)
    assert {(version.id, version.current) for version in versions} == {(task.version, False), (changed.version, True)}
    assert {version.system_prompt for version in versions} == {None, "Be brief."}
    assert all(len(version.digest) == 64 and is_recent(version.created_at) for version in versions)


def test_tasks_are_listed_by_search_and_grader(client, task, grader):
    client.tasks.create(name="Other", prompt_template="x", grader_id=grader.id)
    assert [listed.id for listed in client.tasks.list(search="lengths")] == [task.id]
    page = client.tasks.list(grader_id=grader.id, archived=False, sort="name", limit=1)
    assert ([listed.name for listed in page.items], page.total, page.limit) == (["Lengths"], 2, 1)
    rest = client.tasks.list(grader_id=grader.id, archived=False, sort="name", limit=1, cursor=page.next_cursor)
    assert ([listed.name for listed in rest], rest.total, rest.next_cursor) == (["Other"], None, None)


def test_a_task_with_completions_is_archived_and_not_deleted(client, task):
    client.completions.submit_batch(items(1), task_id=task.id)
    with pytest.raises(ConflictError):
        client.tasks.delete(task.id)
    client.tasks.delete(task.id, archive=True)
    assert client.tasks.get(task.id).archived
