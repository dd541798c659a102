"""POST /completions answers from what it stored: its `completion` is the one that a later GET returns."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.factories import TaskFactory
from tests.scores.submitting import item

SINGLE = "/completions"
PARTS = [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}],
}
CONVERSATION = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": PARTS, "name": "ann"},
    CALL,
    {"role": "tool", "tool_call_id": "c1", "content": "2"},
    {"role": "user", "content": "And twice that?"},
]
TOMORROW = f"{datetime.now(UTC).date() + timedelta(days=1)}T00:00:00.123456Z"
METADATA = {"deep": [{"x": [None, True, -0.0, 5e-324, 1.7976931348623157e308, 2**53 - 1, "\u2028 é 😀"]}], "": {}}


@pytest.fixture
def api(api_for):
    return api_for()


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"prompt": "", "response": " \n"},
        {"prompt": "Ünï\u0301 😀\u2028", "response": "\\u0000 is no NUL"},
        {"prompt": ..., "messages": [{"role": "user", "content": "Hi"}]},
        {"prompt": ..., "messages": CONVERSATION},
        {"metadata": METADATA, "externalId": "run/7 é"},
        {"metadata": {}},
        {"priority": "high"},
        {"priority": "low", "heldOut": True},
        {"notBefore": TOMORROW},
    ],
)
def test_the_answer_is_what_a_later_read_returns(api, members):
    task = TaskFactory(organization=api.organization)
    answer = api.post(SINGLE, item(task, **members))
    assert answer.status_code == 202, answer.content
    completion = answer.json()["completion"]
    assert completion == api.get(f"{SINGLE}/{completion['id']}").json()["completion"]


def test_the_answer_to_variables_has_the_rendered_prompt(api):
    task = TaskFactory(organization=api.organization)
    task.version.content = {**task.version.content, "promptTemplate": "{{a}} and {{b}}"}
    task.version.save()
    answer = api.post(SINGLE, item(task, prompt=..., variables={"a": "{{b}}", "b": "two"}))
    assert answer.status_code == 202, answer.content
    completion = answer.json()["completion"]
    assert completion["prompt"] == "{{b}} and two"
    assert completion == api.get(f"{SINGLE}/{completion['id']}").json()["completion"]


def test_the_answer_to_a_repeated_external_id_is_the_stored_completion(api):
    task = TaskFactory(organization=api.organization)
    body = item(task, externalId="e-1", metadata=METADATA)
    first = api.post(SINGLE, body)
    second = api.post(SINGLE, body)
    assert (first.status_code, second.status_code) == (202, 200)
    assert first.json()["completion"] == second.json()["completion"]
