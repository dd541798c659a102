"""Graders get the task's system prompt, read once per version; versions without one cost nothing more."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from autotune.core import ecmajson
from graders.gateway import requests
from graders.verdicts import GraderItem
from scores.engine import materials
from scores.engine.materials import TaskFactsCache
from scores.models import Score, WorkflowRun
from tasks.models import PanelMember, TaskVersion
from tests.factories import CompletionFactory, GraderFactory, RunFactory, TaskFactory

RULE = "Answer with one number.\u2028No words."
USER = {"role": "user", "content": "2+2?"}


@pytest.fixture
def ruled(grader):
    return TaskFactory(organization=grader.organization, graders=[grader], system_prompt=RULE)


@pytest.fixture
def sent(fake):
    """`sent()`: the completions of all requests that the grader received, by response."""

    def completions():
        bodies = [body for _, body in fake.calls]
        rows = [row for body in bodies for row in body.get("completions", [body.get("completion")])]
        return {row["response"]: row for row in rows}

    return completions


def runs_of(task, *completions):
    return [RunFactory(completion=CompletionFactory(task=task, **facts)) for facts in completions]


def test_c18_a_grader_gets_the_system_prompt_and_the_prompt_as_submitted(ruled, grader, drain, sent):
    runs_of(ruled, {"response": "a", "prompt": "2+2?"}, {"response": "b", "prompt": "2+2?", "messages": [USER]})
    drain(grader)
    assert {name: row["systemPrompt"] for name, row in sent().items()} == {"a": RULE, "b": RULE}
    assert (sent()["a"]["prompt"], sent()["b"]["messages"]) == ("2+2?", [USER])
    assert Score.objects.count() == 2


@pytest.mark.parametrize("role", ["system", "developer"])
def test_c18_a_conversation_with_its_own_system_message_gets_no_second(ruled, grader, drain, sent, role):
    own = [{"role": role, "content": "Be brief."}, USER]
    later = [USER, {"role": role, "content": "Be brief."}, USER]
    runs_of(ruled, {"response": "own", "messages": own}, {"response": "later", "messages": later})
    drain(grader)
    assert "systemPrompt" not in sent()["own"]
    assert sent()["later"]["systemPrompt"] == RULE


@pytest.mark.parametrize("text", [None, ""])
def test_c18_a_task_without_a_system_prompt_sends_none(grader, drain, sent, text):
    task = TaskFactory(organization=grader.organization, graders=[grader], system_prompt=text)
    runs_of(task, {"response": "a"})
    drain(grader)
    assert "systemPrompt" not in sent()["a"]


def test_c18_each_completion_is_judged_by_the_prompt_of_its_own_version(ruled, grader, drain, sent):
    runs_of(ruled, {"response": "old"})
    ruled.version = TaskVersion.objects.create(
        task=ruled, organization=ruled.organization, digest="2" * 64,
        content={**ruled.version.content, "systemPrompt": "Answer in words."},
    )  # fmt: skip
    PanelMember.objects.create(task_version=ruled.version, grader=grader, weight=1.0, part="scoring", position=0)
    runs_of(ruled, {"response": "new", "task_version": ruled.version})
    drain(grader)
    assert {name: row["systemPrompt"] for name, row in sent().items()} == {"old": RULE, "new": "Answer in words."}


def test_c18_a_single_call_carries_the_system_prompt(db, fake, drain, sent):
    grader = GraderFactory(endpoint=fake.url, max_batch_size=1)
    task = TaskFactory(organization=grader.organization, graders=[grader], system_prompt=RULE)
    runs_of(task, {"response": "a"})
    drain(grader)
    assert sent()["a"]["systemPrompt"] == RULE


def load(completions, facts):
    with CaptureQueriesContext(
        connection,
    ) as captured:
        loaded = materials.load([row.pk for row in completions], facts)
    return loaded, [query["sql"] for query in captured.captured_queries]


def test_c18_the_system_prompt_is_read_once_for_all_completions_of_a_version(ruled, monkeypatch):
    monkeypatch.setattr(materials, "_without_system_prompt", set())
    facts, completions = (
        TaskFactsCache(),
        [run.completion for run in runs_of(ruled, *[{"response": str(n)} for n in range(8)])],
    )
    loaded, queries = load(completions[:4], facts)
    assert len(queries) == 2
    assert {material.item.system_prompt for material in loaded.values()} == {RULE}
    assert len(load(completions[4:], facts)[1]) == 1


def test_c18_a_process_looks_up_a_version_without_a_system_prompt_once(task, monkeypatch):
    monkeypatch.setattr(materials, "_without_system_prompt", set())
    completions = [run.completion for run in runs_of(task, {}, {})]
    assert len(load(completions, TaskFactsCache())[1]) == 2
    assert len(load(completions, TaskFactsCache())[1]) == 1  # another drain
    monkeypatch.setattr(materials, "MOST_REMEMBERED", 1)
    other = runs_of(TaskFactory(organization=task.organization), {})[0].completion
    load([other], TaskFactsCache())
    assert materials._without_system_prompt == {other.task_version_id}


def test_c18_an_unreadable_system_prompt_fails_only_its_own_completions(ruled, task, grader, drain, sent):
    (damaged,) = runs_of(ruled, {"response": "damaged"})
    runs_of(ruled, {"response": "own", "messages": [{"role": "system", "content": "x"}, USER]})
    runs_of(task, {"response": "other"})
    with connection.cursor() as cursor:
        cursor.execute(
            "update tasks_taskversion set content = %s where id = %s",
            [b"\x01damaged" * 9, ruled.version.pk if connection.vendor == "postgresql" else ruled.version.pk.hex],
        )
    drain(grader)
    damaged.refresh_from_db()
    assert (damaged.status, damaged.error_code) == ("failed", "text_unreadable")
    assert "system prompt" in damaged.error_message
    assert sent().keys() == {"own", "other"}
    assert WorkflowRun.objects.filter(status="completed").count() == 2


def item(text, number=1, system_prompt=None):
    return GraderItem(f"comp_{number}", "task_1", "p", text, system_prompt=system_prompt)


def test_c18_the_system_prompt_counts_when_batches_are_split_by_size():
    rule = "\u2028" * 2_000
    items = [item("r", number, rule) for number in range(4)]
    limit = 2 * len(requests.encode_item(items[0])) + 600
    assert [len(part) for part in requests.split_by_size(items, limit)] == [2, 2]
    assert len(requests.split_by_size([item("r", number) for number in range(4)], limit)) == 1


def test_c18_a_request_with_a_system_prompt_equals_ecmascript_output():
    body = requests.encode_item(item("r", 1, "a\u2028\x01\U0001f600é" * 2)).decode()
    assert ecmajson.dumps(json.loads(body)).decode() == body
    assert list(json.loads(body)) == ["id", "taskId", "systemPrompt", "prompt", "response", "metadata"]
    assert (
        requests.encode_item(item("r"))
        == b'{"id":"comp_1","taskId":"task_1","prompt":"p","response":"r","metadata":{}}'
    )
