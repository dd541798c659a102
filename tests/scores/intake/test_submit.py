"""POST /completions: what is stored, what is answered, what the defaults are."""

import json

import pytest

from autotune.core import clock
from scores.models import WorkflowRun
from tasks.models import Completion
from tests.factories import GraderFactory, TaskFactory, public
from tests.scores.submitting import item, rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


def submitted(api, *args, **members):
    answer = api.post("/completions", item(*args, **members))
    assert answer.status_code == 202, answer.content
    return answer.json()


def read(api, completion_id):
    return api.get(f"/completions/{completion_id}").json()["completion"]


def test_the_answer_has_the_shape_of_the_contract(api, task):
    body = submitted(api, task, externalId="line-1", metadata={"a": 1}, priority="high")
    completion, run = Completion.objects.get(), WorkflowRun.objects.get()
    assert body == {
        "completion": {
            "id": public("comp", completion),
            "taskId": public("task", task),
            "taskVersion": public("taskv", task.version),
            "modelId": "model-a",
            "prompt": "What is 2 + 2?",
            "response": "4",
            "messages": None,
            "externalId": "line-1",
            "metadata": {"a": 1},
            "priority": "high",
            "source": "api",
            "heldOut": False,
            "status": "pending",
            "reward": None,
            "workflowRunIds": [public("run", run)],
            "erasedAt": None,
            "createdAt": clock.wire(completion.created_at),
        },
        "estimatedScoreTimeMs": 1000,
        "workflowRunId": public("run", run),
        "workflowRunIds": [public("run", run)],
        "status": "scoring",
    }
    assert list(body) == ["completion", "estimatedScoreTimeMs", "workflowRunId", "workflowRunIds", "status"]


def test_the_response_equals_the_stored_completion(api, task):
    completion = submitted(api, task, metadata={"a": [1, None]})["completion"]
    assert read(api, completion["id"]) == completion


def test_the_defaults(api, task):
    completion = submitted(api, task)["completion"]
    assert (completion["priority"], completion["metadata"], completion["externalId"]) == ("normal", {}, None)
    assert (completion["messages"], completion["source"]) == (None, "api")


def test_null_for_an_optional_member_counts_as_absent(api, task):
    optional = ("messages", "variables", "externalId", "metadata", "priority")
    completion = submitted(api, task, **dict.fromkeys(optional))["completion"]
    assert (completion["priority"], completion["metadata"], completion["externalId"]) == ("normal", {}, None)


@pytest.mark.parametrize(("name", "number"), [("low", 0), ("normal", 1), ("high", 2)])
def test_the_priority_is_that_of_the_run(api, task, name, number):
    assert submitted(api, task, priority=name)["completion"]["priority"] == name
    assert WorkflowRun.objects.get().priority == number


def test_the_run_is_due_until_the_deadline_of_the_task(api, task):
    task.deadline_ms = 5000
    task.save()
    submitted(api, task)
    run = WorkflowRun.objects.get()
    assert (run.status, run.attempt, run.panel_size) == ("pending", 0, 1)
    assert (run.deadline_at - run.created_at).total_seconds() == 5
    assert (run.organization_id, run.task_id) == (task.organization_id, task.pk)


def test_a_panel_gets_a_run_for_each_grader_with_the_scoring_ones_first(api):
    graders = [GraderFactory(organization=api.organization, avg_latency_ms=ms) for ms in (9000, 300, 700)]
    panel = [(graders[0], 1.0, "shadow"), (graders[1], 1.0, "scoring"), (graders[2], 0.5, "scoring")]
    body = submitted(api, TaskFactory(organization=api.organization, graders=panel))
    runs = {public("run", run): run for run in WorkflowRun.objects.all()}
    named = [runs[text] for text in body["workflowRunIds"]]
    assert [run.grader_id for run in named] == [graders[1].pk, graders[2].pk, graders[0].pk]
    assert [run.panel_size for run in named] == [2, 2, 0]
    assert body["workflowRunId"] == body["workflowRunIds"][0]
    assert body["estimatedScoreTimeMs"] == 700
    assert read(api, body["completion"]["id"])["workflowRunIds"] == body["workflowRunIds"]


def test_a_completion_keeps_the_version_of_its_task(api, task):
    first = submitted(api, task)["completion"]
    assert api.patch(f"/tasks/{public('task', task)}", {"systemPrompt": "Be brief."}).status_code == 200
    second = submitted(api, task)["completion"]
    assert first["taskVersion"] != second["taskVersion"]
    assert read(api, first["id"])["taskVersion"] == first["taskVersion"]


METADATA = {
    "10": "ten",
    "2": "two",
    "1": {"snake_case": 1, "camelCase": 2, "inner": [{"deepKey": None, "deep_key": True}]},
    "": "empty",
    "model_id": "mine",
    "modelId": "mine too",
    "a/b~c.d": [1, 2.5, -0.125, 1.0, 9007199254740991, -9007199254740991, False, [], {}],
    "ключ": "значение",
}


def test_metadata_survives_byte_for_byte(api, task):
    answer = submitted(api, task, metadata=METADATA)["completion"]
    stored = api.get(f"/completions/{answer['id']}")
    written = json.dumps(METADATA, ensure_ascii=False, separators=(",", ":")).encode()
    assert written in stored.content
    assert json.dumps(answer["metadata"]) == json.dumps(METADATA)


TEXTS = {
    "emoji": "🙂👩‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "four bytes": "𠜎𝒳\U0010ffff",
    "right to left": "\u202eabc\u202c שלום \u2066x\u2069",
    "combining marks": "Z" + "\u0301" * 1000,
    "not normalized": "e\u0301 é ﬁ",
    "line ends and controls": "a\r\nb\rc\u2028\u2029\x85\x01\x1b[31m\x7f\t",
    "byte order mark": "\ufeffx\ufffe\uffff",
    "markup": "<script>{{7*7}}</script>=1+1 %s%n \\u0041",
    "nothing": "",
    "spaces": "  \u3000 ",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_any_unicode_survives(api, task, text):
    completion = submitted(api, task, prompt=text, response=text, metadata={text: text}, externalId="x" + text[:200])
    kept = read(api, completion["completion"]["id"])
    assert [kept["prompt"], kept["response"], kept["metadata"], kept["externalId"]] == [
        text, text, {text: text}, "x" + text[:200],
    ]  # fmt: skip


def test_a_surrogate_pair_written_as_escapes_is_a_character(api, task):
    raw = json.dumps(item(task, response="🙂")).encode()
    assert b"\\ud83d" in raw
    assert api.post("/completions", raw=raw).json()["completion"]["response"] == "🙂"


def test_the_limits_themselves_are_allowed(api, task):
    deep = 0
    for _ in range(15):
        deep = [deep]
    longest = {"modelId": "m" * 200, "externalId": "é" * 255, "response": "é" * 2**19, "prompt": "p" * 2**20}
    completion = submitted(api, task, metadata={"deep": deep}, **longest)["completion"]
    assert completion["response"] == longest["response"]
    assert submitted(api, task, metadata={"t": "x" * (65_536 - len('{"t":""}'))})


def test_texts_are_stored_encrypted(api, task):
    submitted(api, task, prompt="prompt-in-clear", response="response-in-clear", metadata={"k": "metadata-in-clear"})
    stored = Completion.objects.values_list("prompt", "response", "metadata").get()
    assert not any(b"in-clear" in bytes(value) for value in stored)


def test_the_content_type_may_have_a_charset(api, task):
    for content_type in ("application/json; charset=utf-8", 'application/json;charset="UTF-8"'):
        raw = json.dumps(item(task)).encode()
        assert api.post("/completions", raw=raw, content_type=content_type).status_code == 202
    assert rows() == (2, 2)


def test_the_same_submission_without_an_external_id_is_another_completion(api, task):
    assert submitted(api, task)["completion"]["id"] != submitted(api, task)["completion"]["id"]
    assert rows() == (2, 2)
