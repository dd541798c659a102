"""A submission's prompt: as given, the last user message, or the task's template with variables."""

import pytest

from tasks.models import Completion
from tests.factories import TaskFactory
from tests.scores.submitting import item, problems, rows

pytestmark = pytest.mark.django_db
USER = {"role": "user", "content": "Hello"}


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


def with_template(task, template):
    task.version.content = {**task.version.content, "promptTemplate": template}
    task.version.save()
    return task


def taken(api, task, **members):
    answer = api.post("/completions", item(task, prompt=..., **members))
    assert answer.status_code == 202, answer.content
    return answer.json()["completion"]


def refused(api, task, **members):
    errors = problems(api.post("/completions", item(task, prompt=..., **members)))
    assert rows() == (0, 0)
    return errors


def test_variables_fill_the_template(api, task):
    with_template(task, "{{ question }}\n{{name}} {{question}} {{{name}}} {name}")
    completion = taken(api, task, variables={"question": "2 + 2?", "name": "{{question}} \\1 $1"})
    assert completion["prompt"] == "2 + 2?\n{{question}} \\1 $1 2 + 2? {{{question}} \\1 $1} {name}"
    assert completion["messages"] is None


def test_a_template_without_variables_takes_none(api, task):
    assert taken(api, with_template(task, "Say hello."), variables={})["prompt"] == "Say hello."


def test_every_missing_and_every_extra_variable_is_named(api, task):
    with_template(task, "{{a}} {{b}} {{c}}")
    assert refused(api, task, variables={"b": "1", "x/y": "2", "d": "3"}) == [
        ("/variables/a", "missing_variable"),
        ("/variables/c", "missing_variable"),
        ("/variables/d", "unknown_variable"),
        ("/variables/x~1y", "unknown_variable"),
    ]


@pytest.mark.parametrize("value", [1, None, True, ["x"], {"x": "y"}])
def test_a_variable_is_a_text(api, task, value):
    ((pointer, code),) = refused(api, task, variables={"question": value})
    assert (pointer, code) in {("/variables/question", "wrong_type"), ("/variables", "wrong_type")}


def test_a_prompt_that_grows_too_long_by_its_variables_is_refused_there(api, task):
    with_template(task, "{{q}}{{q}}")
    assert refused(api, task, variables={"q": "x" * (2**19 + 1)}) == [("/variables", "too_long")]


def test_the_prompt_of_messages_is_the_last_user_message(api, task):
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "First"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "functionName": "f"}]},
        {"role": "tool", "content": "42", "tool_call_id": "1"},
        {"role": "user", "content": "Second", "name": "someone"},
        {"role": "assistant", "content": "And"},
    ]
    completion = taken(api, task, messages=messages)
    assert (completion["prompt"], completion["messages"]) == ("Second", messages)
    assert Completion.objects.get().messages == messages


def test_content_may_be_parts_whose_texts_are_joined(api, task):
    parts = [
        {"type": "text", "text": "What is"},
        {"type": "image_url", "image_url": {"url": "https://example.org/x.png"}},
        {"type": "text", "text": "this?"},
    ]
    completion = taken(api, task, messages=[{"role": "user", "content": parts}])
    assert completion["prompt"] == "What is\nthis?"
    assert completion["messages"][0]["content"] == parts


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"prompt": None, "messages": None, "variables": None},
        {"prompt": "p", "messages": [USER]},
        {"prompt": "", "variables": {"question": "q"}},
        {"messages": [USER], "variables": {}},
        {"prompt": "p", "messages": [USER], "variables": {"question": "q"}},
    ],
)
def test_a_submission_has_exactly_one_of_prompt_messages_and_variables(api, task, members):
    body = {"prompt": ..., **members}
    assert problems(api.post("/completions", item(task, **body))) == [("", "one_of")]
    assert problems(api.post("/completions/batch", {"completions": [item(task), item(task, **body)]})) == [
        ("/completions/1", "one_of")
    ]
    assert rows() == (0, 0)


def nested(depth):
    value = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("messages", "pointer", "code"),
    [
        ([], "/messages", "invalid_length"),
        ([USER] * 1001, "/messages", "invalid_length"),
        ({"0": USER}, "/messages", "wrong_type"),
        ("Hello", "/messages", "wrong_type"),
        (["Hello"], "/messages/0", "wrong_type"),
        ([USER, None], "/messages/1", "wrong_type"),
        ([{}], "/messages/0/role", "invalid_choice"),
        ([{"role": "owner", "content": "x"}], "/messages/0/role", "invalid_choice"),
        ([{"role": None, "content": "x"}], "/messages/0/role", "invalid_choice"),
        ([{"role": ["user"], "content": "x"}], "/messages/0/role", "invalid_choice"),
        ([{"role": {"user": 1}, "content": "x"}], "/messages/0/role", "invalid_choice"),
        ([USER, {"role": "user"}], "/messages/1/content", "wrong_type"),
        ([{"role": "user", "content": None}], "/messages/0/content", "wrong_type"),
        ([{"role": "user", "content": 1}], "/messages/0/content", "wrong_type"),
        ([{"role": "user", "content": {"text": "x"}}], "/messages/0/content", "wrong_type"),
        ([{"role": "user", "content": ["x"]}], "/messages/0/content/0", "wrong_type"),
        ([{"role": "user", "content": [{"type": "text"}]}], "/messages/0/content/0/text", "wrong_type"),
        ([{"role": "user", "content": [{"type": "text", "text": 1}]}], "/messages/0/content/0/text", "wrong_type"),
        ([{"role": "system", "content": "x"}], "/messages", "no_user_message"),
        ([USER | {"x": "y" * 2**20}], "/messages", "too_long"),
        ([USER | {"x": nested(15)}], "/messages/0/x" + "/0" * 14, "too_deep"),
        ([USER | {"x": {"n": 2**53}}], "/messages/0/x/n", "integer_out_of_range"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_invalid_messages_are_refused_with_the_pointer(api, task, messages, pointer, code):
    assert refused(api, task, messages=messages) == [(pointer, code)]
